package config

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
)

// TLS is how to encrypt a connection.
type TLS struct {
	Enabled    bool   `yaml:"enabled"`
	Insecure   bool   `yaml:"insecure"`    // encrypt, but do not verify the server
	CAFile     string `yaml:"ca_file"`     // PEM; empty: the system's
	CertFile   string `yaml:"cert_file"`   // PEM; the client's certificate, with KeyFile
	KeyFile    string `yaml:"key_file"`    // PEM
	ServerName string `yaml:"server_name"` // empty: the host of the address
}

func (t TLS) check(path string, r *report) {
	for key, value := range map[string]string{
		"ca_file": t.CAFile, "cert_file": t.CertFile, "key_file": t.KeyFile, "server_name": t.ServerName,
	} {
		if value != "" && !t.Enabled {
			r.wrong(path+"."+key, shown(value), "%s.enabled is not true", path)
		}
	}
	switch {
	case t.Insecure && !t.Enabled:
		r.wrong(path+".insecure", "true", "%s.enabled is not true", path)
	case t.Insecure && (t.CAFile != "" || t.ServerName != ""):
		r.wrong(path+".insecure", "true", "the server is not verified, so ca_file and server_name mean nothing: "+
			"leave them or this out")
	case t.Insecure:
		r.warn(path+".insecure", "whoever is between here and the server can read and change everything, the password "+
			"included; better name its authority in ca_file")
	}
	if _, err := t.Config(); err != nil {
		var place *tlsError
		errors.As(err, &place)
		value := ""
		if place.value != "" {
			value = shown(place.value)
		}
		r.wrong(path+"."+place.key, value, "%v", place.err)
	}
}

// Config reads the files. It is nil when TLS is not enabled.
func (t TLS) Config() (*tls.Config, error) {
	if !t.Enabled {
		return nil, nil
	}
	c := &tls.Config{ServerName: t.ServerName, InsecureSkipVerify: t.Insecure, MinVersion: tls.VersionTLS12}
	if t.CAFile != "" {
		pem, err := read(t.CAFile, maxFile)
		c.RootCAs = x509.NewCertPool()
		if err == nil && !c.RootCAs.AppendCertsFromPEM(pem) {
			err = errors.New("no certificate in it")
		}
		if err != nil {
			return nil, &tlsError{"ca_file", t.CAFile, err}
		}
	}
	if t.CertFile == "" && t.KeyFile == "" {
		return c, nil
	}
	pair, err := t.pair()
	c.Certificates = []tls.Certificate{pair}
	return c, err
}

func (t TLS) pair() (pair tls.Certificate, err error) {
	var pems [2][]byte
	for i, part := range []tlsError{{key: "cert_file", value: t.CertFile}, {key: "key_file", value: t.KeyFile}} {
		if part.value == "" {
			part.err = errors.New("missing; cert_file and key_file need each other")
		} else {
			pems[i], part.err = read(part.value, maxFile)
		}
		if part.err != nil {
			return pair, &part
		}
	}
	if pair, err = tls.X509KeyPair(pems[0], pems[1]); err != nil {
		return pair, &tlsError{"cert_file", t.CertFile, err}
	}
	return pair, nil
}

type tlsError struct {
	key, value string
	err        error
}

func (e *tlsError) Error() string { return "config: tls: " + e.key + ": " + e.err.Error() }
func (e *tlsError) Unwrap() error { return e.err }
