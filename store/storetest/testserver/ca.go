package testserver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// CA is a certificate authority that only this test trusts.
type CA struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// Certificate is where a certificate and its private key lie as PEM files.
type Certificate struct {
	CertFile string
	KeyFile  string
}

// NewCA makes an authority whose files live as long as the test.
func NewCA(t testing.TB) *CA {
	t.Helper()
	ca := &CA{dir: t.TempDir(), key: newKey(t)}
	now := time.Now()
	ca.cert = ca.sign(t, ca.File(), ca.key, &x509.Certificate{
		Subject:               pkix.Name{CommonName: "test authority"},
		NotBefore:             now.Add(-48 * time.Hour),
		NotAfter:              now.Add(48 * time.Hour),
		KeyUsage:              x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
	})
	return ca
}

// File is the authority's own certificate, for servers and configurations.
func (ca *CA) File() string { return filepath.Join(ca.dir, "ca.pem") }

// Pool is the authority as the roots of a tls.Config.
func (ca *CA) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(ca.cert)
	return pool
}

// Issue makes a server certificate for host, a name or an IP address, that is
// valid until notAfter. A wrong host or a time in the past makes a certificate
// that clients must refuse.
func (ca *CA) Issue(t testing.TB, host string, notAfter time.Time) Certificate {
	t.Helper()
	dir := t.TempDir()
	c := Certificate{CertFile: filepath.Join(dir, "cert.pem"), KeyFile: filepath.Join(dir, "key.pem")}
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: host},
		NotBefore:   ca.cert.NotBefore,
		NotAfter:    notAfter,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	key := newKey(t)
	ca.sign(t, c.CertFile, key, template)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatalf("testserver: private key: %v", err)
	}
	writePEM(t, c.KeyFile, "PRIVATE KEY", der)
	return c
}

// RedisArgs makes a [Redis] speak TLS with c, without client certificates.
func (c Certificate) RedisArgs(ca *CA) []string {
	return []string{
		"--tls-cert-file", c.CertFile, "--tls-key-file", c.KeyFile,
		"--tls-ca-cert-file", ca.File(), "--tls-auth-clients", "no",
	}
}

// sign writes the certificate of key to file. The authority signs itself when
// it has no certificate yet.
func (ca *CA) sign(t testing.TB, file string, key *ecdsa.PrivateKey, template *x509.Certificate) *x509.Certificate {
	t.Helper()
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatalf("testserver: serial number: %v", err)
	}
	template.SerialNumber = serial
	parent := ca.cert
	if parent == nil {
		parent = template
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, ca.key)
	if err != nil {
		t.Fatalf("testserver: certificate: %v", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatalf("testserver: certificate: %v", err)
	}
	writePEM(t, file, "CERTIFICATE", der)
	return cert
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatalf("testserver: private key: %v", err)
	}
	return key
}

func writePEM(t testing.TB, file, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatalf("testserver: %v", err)
	}
}
