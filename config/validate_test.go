package config_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/big"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/config"
)

// with is minimal with one line put instead of the section that it begins like,
// or added.
func with(line string) string {
	section, _, _ := strings.Cut(line, ":")
	var text strings.Builder
	for old := range strings.Lines(minimal) {
		if !strings.HasPrefix(old, section+":") && (section != "topics" || !strings.HasPrefix(old, "  - ")) {
			text.WriteString(old)
		}
	}
	return text.String() + line + "\n"
}

// judge compares, or with -update rewrites, what is said about every line of a
// file of settings: the lines behind it that begin with a tab.
func judge(t *testing.T, file string, say func(yaml string) string) {
	t.Helper()
	golden, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var now strings.Builder
	for line := range strings.Lines(string(golden)) {
		if strings.HasPrefix(line, "\t") {
			continue
		}
		now.WriteString(line)
		if line = strings.TrimSuffix(line, "\n"); line == "" || line[0] == '#' {
			continue
		}
		for said := range strings.Lines(say(with(line))) {
			now.WriteString("\t" + strings.TrimSuffix(said, "\n") + "\n")
			if strings.Contains(said, "hunter2") {
				t.Errorf("a secret is in %s", said)
			}
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(now.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := strings.Split(string(golden), "\n")
	for i, line := range strings.Split(now.String(), "\n") {
		if !*update && (i >= len(want) || line != want[i]) {
			t.Fatalf("%s:%d: got\n%s\nin\n%s", file, i+1, line, now.String())
		}
	}
}

func TestSettingsThatCannotWork(t *testing.T) {
	judge(t, "testdata/problems.txt", func(text string) string {
		file := write(t, "c.yaml", text)
		_, err := config.Load(file)
		if err == nil {
			return "LOADED"
		}
		return strings.ReplaceAll(err.Error(), file+": ", "")
	})
}

func TestSettingsThatAreWarnedOf(t *testing.T) {
	judge(t, "testdata/warnings.txt", func(text string) string {
		file := write(t, "c.yaml", text)
		c, err := config.Load(file)
		if err != nil {
			return "REFUSED " + err.Error()
		}
		return strings.ReplaceAll(config.Problems(c.Warnings()).Error(), file+": ", "")
	})
}

// pair writes a self-signed certificate and its key.
func pair(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert = write(t, "cert.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	return cert, write(t, "key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
}

func TestTLSFiles(t *testing.T) {
	cert, key := pair(t)
	_, otherKey := pair(t)
	store := func(files string) string {
		return with("store: {redis: {addrs: [a:1], tls: {enabled: true, server_name: r, " + files + "}}}")
	}
	wantProblem(t, store("ca_file: "+key), fmt.Sprintf("store.redis.tls.ca_file: %q: no certificate in it", key))
	wantProblem(t, store("cert_file: "+cert+", key_file: "+otherKey),
		fmt.Sprintf("store.redis.tls.cert_file: %q: tls: private key does not match public key", cert))
	c := load(t, store(fmt.Sprintf("ca_file: %s, cert_file: %s, key_file: %s", cert, cert, key)))
	made, err := c.Store.Redis.TLS.Config()
	if err != nil || made.ServerName != "r" || made.RootCAs == nil || len(made.Certificates) != 1 {
		t.Errorf("got %+v, %v", made, err)
	}
	if open, err := (config.TLS{Enabled: true, Insecure: true}).Config(); err != nil || !open.InsecureSkipVerify {
		t.Errorf("got %+v, %v, want no verification", open, err)
	}
	if made != nil && made.InsecureSkipVerify {
		t.Error("it does not verify the server without being told so")
	}
	if off, err := (config.TLS{}).Config(); off != nil || err != nil {
		t.Errorf("got %v, %v, want nil without TLS", off, err)
	}
}

// TestTableOfKeysIsComplete compares the package comment with the types.
func TestTableOfKeysIsComplete(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	c := config.Default()
	p := c.PolicyOf(config.Topic{})
	c.Defaults = config.Policy{
		Lease: p.Lease, MaxConsume: p.MaxConsume, Keep: p.Keep, Horizon: p.Horizon, Outage: p.Outage.String(),
		HoldLimit: p.HoldLimit,
	}
	listed, existing := table(file.Doc), map[string]reflect.Value{}
	keys(reflect.ValueOf(c), "", existing)
	for key, value := range existing {
		cell, ok := listed[key]
		if !ok || !value.IsZero() && !means(cell, value.Interface()) {
			t.Errorf("%s: the table says %q, the default is %v", key, cell, value)
		}
		delete(listed, key)
	}
	if len(listed) > 0 {
		t.Errorf("the table has keys that do not exist: %v", listed)
	}
}

func means(cell string, value any) bool {
	switch value := value.(type) {
	case time.Duration:
		d, err := time.ParseDuration(cell)
		return err == nil && d == value
	case []time.Duration:
		return cell == fmt.Sprintf("%v %v %v … 2h", value[0], value[1], value[2]) && value[len(value)-1] == 2*time.Hour
	}
	return cell == fmt.Sprint(value)
}

// table returns the second column of the table of keys by the first.
func table(doc *ast.CommentGroup) map[string]string {
	column := regexp.MustCompile(`(?m)^\t(\S+)  +(\S+(?: \S+)*)`)
	_, rows, _ := strings.Cut(doc.Text(), "meaning\n")
	defaults := map[string]string{}
	for _, row := range column.FindAllStringSubmatch(rows, -1) {
		defaults[row[1]] = row[2]
	}
	return defaults
}

// keys adds every key below section with its value.
func keys(section reflect.Value, path string, into map[string]reflect.Value) {
	for i := range section.NumField() {
		name, option, _ := strings.Cut(section.Type().Field(i).Tag.Get("yaml"), ",")
		field, at := section.Field(i), path+name
		switch {
		case option == "inline":
			keys(field, path, into)
		case name == "":
		case field.Kind() == reflect.Struct:
			keys(field, at+".", into)
		case field.Type() == reflect.TypeFor[[]config.Topic]():
			keys(reflect.ValueOf(config.Topic{}), at+"[].", into)
		default:
			into[at] = field
		}
	}
}
