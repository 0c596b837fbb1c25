package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// Load reads file (.yaml, .yml, .toml or .json), lets the environment override
// it, reads the files that secrets are in and validates the whole. It connects
// to nothing. Its error is [Problems]: everything that is wrong, at once.
//
// Every key that is not in a list of sections has a variable: DEDUP_, then its
// path in capitals with _ for the dots, such as DEDUP_STORE_REDIS_ADDRS. Lists
// are separated by commas there. An empty variable counts as not set.
//
// Paths in *_file keys are relative to the folder of file.
func Load(file string) (Config, error) {
	data, err := read(file, maxFile)
	if err != nil {
		return Config{}, Problems{{Source: file, Text: err.Error()}}
	}
	return load(file, data)
}

func load(file string, data []byte) (Config, error) {
	leaves := schema().leaves("")
	r := newReport(func(field string) string {
		key, _, _ := strings.Cut(field, "[") // of a list
		if leaves[key] != nil && os.Getenv(variable(key)) != "" {
			return "environment " + variable(key)
		}
		return file
	})
	tree, err := parse(file, data, r)
	if err != nil {
		return Config{}, Problems{{Source: file, Text: err.Error()}}
	}
	known, _ := schema().known(tree, "", r).(map[string]any)
	c := Default()
	if err := decode(known, &c, r); err != nil {
		return Config{}, Problems{{Source: file, Text: err.Error()}}
	}
	c.settle(known)
	readSecrets(reflect.ValueOf(&c).Elem(), "", filepath.Dir(file), r)
	unknownVariables(r)
	c.check(r)
	if err := r.err(); err != nil {
		return Config{}, err
	}
	c.found = r.warnings
	return c, nil
}

// read reads a regular file of at most limit bytes. Devices and pipes are
// refused, because they may never end, or never even open.
func read(file string, limit int64) ([]byte, error) {
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, cause(err)
	}
	defer func() { _ = f.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("over %d bytes long", limit)
	}
	return data, cause(err)
}

// cause leaves out the path, which stands before the message already.
func cause(err error) error {
	if path := (*os.PathError)(nil); errors.As(err, &path) {
		return path.Err
	}
	return err
}

// settle fills in what depends on other keys, or on whether a key is there.
func (c *Config) settle(tree map[string]any) {
	if c.Application == "" {
		c.Application = c.RocketMQ.Group
	}
	if c.Store.Redis.JavaCompatible && !given(tree, "store.redis.prefix") {
		c.Store.Redis.Prefix = "" // the default is for records of our own
	}
	if m := &c.Store.MySQL; c.Store.Type == "mysql" && m.Table == "" {
		m.Table = nativeTable
		if m.JavaCompatible {
			m.Table = javaTable
		}
	}
	if c.RocketMQ.MaxReconsumeTimes == -1 { // the client's and rocketmq-spring's word for it
		c.RocketMQ.MaxReconsumeTimes = Default().RocketMQ.MaxReconsumeTimes
	}
	topics, _ := tree["topics"].([]any)
	for i := range c.Topics {
		t := &c.Topics[i]
		if raw, ok := topics[i].(map[string]any); ok && raw["max_attempts"] != nil && t.MaxAttempts == 0 {
			t.MaxAttempts = NoLimit
		}
	}
}

// given reports whether the environment or tree has a value at path.
func given(tree map[string]any, path string) bool {
	if os.Getenv(variable(path)) != "" {
		return true
	}
	names := strings.Split(path, ".")
	last := len(names) - 1
	for _, name := range names[:last] {
		tree, _ = tree[name].(map[string]any)
	}
	return tree[names[last]] != nil
}

// maxSecret bounds the files that secrets are in.
const maxSecret = 64 << 10

// readSecrets reads every secret whose …_file key is set and makes the paths of
// all …_file keys relative to dir.
func readSecrets(section reflect.Value, path, dir string, r *report) {
	for i := range section.NumField() {
		field, info := section.Field(i), section.Type().Field(i)
		name := join(path, info.Tag.Get("yaml"))
		if field.Kind() == reflect.Struct {
			readSecrets(field, name, dir, r)
		}
		plain, isFile := strings.CutSuffix(info.Name, "File")
		if !isFile || field.String() == "" {
			continue
		}
		if !filepath.IsAbs(field.String()) {
			field.SetString(filepath.Join(dir, field.String()))
		}
		if secret := section.FieldByName(plain); secret.IsValid() {
			readSecret(secret, strings.TrimSuffix(name, "_file"), field.String(), name, r)
		}
	}
}

// readSecret reads file, the value of the key fileKey, into the key named.
func readSecret(secret reflect.Value, named, file, fileKey string, r *report) {
	if secret.String() != "" {
		r.wrong(fileKey, "", "%s is set too; want one of the two", named)
		return
	}
	data, err := read(file, maxSecret)
	if err != nil {
		r.wrong(fileKey, shown(file), "%v", err)
		return
	}
	text := strings.TrimRight(string(data), "\r\n")
	if text == "" {
		r.wrong(fileKey, shown(file), "the file is empty")
		return
	}
	secret.SetString(text)
}

// foreign are variables that others set: the tests and services of this
// project, dedupctl for the commands it runs, and Kubernetes for every service
// whose name begins with "dedup".
var foreign = regexp.MustCompile(`^DEDUP_(TEST_.*|SERVICES_.*|TOPIC|TAG|KEY|MESSAGE_ID|RECONSUME_TIMES|ATTEMPT)$` +
	`|_SERVICE_HOST$|_SERVICE_PORT(_|$)|_PORT$|_PORT_[0-9]`)

// unknownVariables warns of variables that look like settings and are none.
func unknownVariables(r *report) {
	var known []string
	for path := range schema().leaves("") {
		known = append(known, variable(path))
	}
	slices.Sort(known)
	entries := os.Environ()
	slices.Sort(entries)
	for _, entry := range entries {
		name, value, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, "DEDUP_") || value == "" || slices.Contains(known, name) || foreign.MatchString(name) {
			continue
		}
		w := Problem{Source: "environment " + name, Text: "no such setting"}
		if best := nearest(name, known); best != "" {
			w.Text += "; did you mean " + best + "?"
		}
		r.warnings = append(r.warnings, w)
	}
}
