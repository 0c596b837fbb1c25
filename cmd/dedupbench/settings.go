package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// settings are the flags of consume.
type settings struct {
	NameServer, Redis string
	MySQL             string // host:port or a DSN, which may have a password

	Batches, Callbacks, Copies []int
	Works                      []time.Duration
	Rate                       int

	Messages, Size, Reps, Warmups int
	Store                         string
	Contenders                    []string
	Others                        []contender
	Timeout                       time.Duration

	JSON, SVG, Write, Profiles string
}

// contender is a way to consume the topic: one of this program's own, or a
// shell command.
type contender struct{ Name, Command string }

const (
	inRedis  = "redis"
	inMySQL  = "mysql"
	inSQLite = "sqlite"
	inMemory = "memory"

	plainName = "plain"
	handName  = "hand"
	oursName  = "ours"
)

// parse reads the flags. What is wrong with them comes back all at once; with
// flag.ErrHelp they are printed to log.
func parse(args []string, log io.Writer) (settings, error) {
	var s settings
	f := flag.NewFlagSet("dedupbench consume", flag.ContinueOnError)
	f.SetOutput(log)
	s.register(f)
	if err := f.Parse(args); err != nil {
		return s, err
	}
	var errs []error
	if f.NArg() > 0 {
		errs = append(errs, fmt.Errorf("%q is not a flag", f.Arg(0)))
	}
	s.MySQL = cmp.Or(s.MySQL, os.Getenv("DEDUP_TEST_MARIADB"))
	if len(s.Contenders) == 0 && s.onServer() {
		s.Contenders = []string{plainName, handName, oursName}
	} else if len(s.Contenders) == 0 {
		s.Contenders = []string{plainName, oursName}
	}
	return s, errors.Join(append(errs, s.validate()...)...)
}

func (s *settings) register(f *flag.FlagSet) {
	s.Batches, s.Callbacks, s.Copies = []int{1, 32}, []int{20, 64}, []int{0, 20}
	s.Works = []time.Duration{0, time.Millisecond}
	f.StringVar(&s.NameServer, "namesrv", os.Getenv("DEDUP_TEST_NAMESRV"), "`host:port` of the name server")
	f.StringVar(&s.Redis, "redis", os.Getenv("DEDUP_TEST_REDIS"), "`host:port` of Redis")
	f.StringVar(&s.MySQL, "mysql", "", "`host:port` of MySQL or MariaDB, for root without password and the database "+
		"dedup, or a DSN of go-sql-driver (default: DEDUP_TEST_MARIADB)")
	f.Var(list[int]{&s.Batches, strconv.Atoi}, "batch", "`sizes` of batches, separated by commas")
	f.Var(list[int]{&s.Callbacks, strconv.Atoi}, "callbacks", "`numbers` of callbacks that run at once")
	f.Var(list[int]{&s.Copies, strconv.Atoi}, "dup", "`percentages` of messages whose key came before")
	f.Var(list[time.Duration]{&s.Works, time.ParseDuration}, "work", "`times` that a callback takes (it sleeps)")
	f.IntVar(&s.Rate, "rate", 5000, "offered `messages/s` where callbacks take time; 0: as fast as they come")
	f.IntVar(&s.Messages, "messages", 20_000, "messages of a run")
	f.IntVar(&s.Size, "size", 200, "`bytes` of a message's body")
	f.IntVar(&s.Reps, "reps", 5, "repetitions of every contender in every cell")
	f.IntVar(&s.Warmups, "warmups", 1, "repetitions before those, not counted")
	f.StringVar(&s.Store, "store", inRedis, "`where` records are kept: redis, mysql, or for ours alone memory or "+
		"sqlite, in a file in the folder for temporary files")
	f.Var(list[string]{&s.Contenders, identity}, "contenders", "`names` out of plain, hand, ours (default all)")
	f.Func("contender", "`name=command` of another contender, run by sh; may be repeated", s.addOther)
	f.DurationVar(&s.Timeout, "timeout", 2*time.Minute, "the longest a run may take")
	f.StringVar(&s.JSON, "out", "", "`file` for everything as JSON")
	f.StringVar(&s.SVG, "svg", "", "`file` for a chart")
	f.StringVar(&s.Write, "write", "", "`file` whose block between the marks of -store becomes a Markdown table")
	f.StringVar(&s.Profiles, "profiles", "", "`folder` for CPU profiles of the warm-up runs")
}

func identity(text string) (string, error) { return text, nil }

func (s *settings) addOther(text string) error {
	name, command, ok := strings.Cut(text, "=")
	if !ok || command == "" {
		return errors.New("want name=command")
	}
	s.Others = append(s.Others, contender{name, command})
	return nil
}

var contenderName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)

func (s *settings) validate() (errs []error) {
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	all := func(list []int, low, high int) bool {
		return len(list) > 0 && !slices.ContainsFunc(list, func(n int) bool { return n < low || n > high })
	}
	within := func(n, low, high int) bool { return low <= n && n <= high }
	check(s.NameServer != "", "-namesrv is missing (without it DEDUP_TEST_NAMESRV counts)")
	check(s.Redis != "" || s.Store != inRedis, "-redis is missing (without it DEDUP_TEST_REDIS counts)")
	check(s.MySQL != "" || s.Store != inMySQL, "-mysql is missing (without it DEDUP_TEST_MARIADB counts)")
	_, err := mysqlConfig(s.MySQL)
	check(err == nil || s.MySQL == "", "-mysql: %w", err)
	check(slices.Contains([]string{inRedis, inMySQL, inSQLite, inMemory}, s.Store),
		"-store is %q, want redis, mysql, sqlite or memory", s.Store)
	check(all(s.Batches, 1, 1024), "-batch is %v, want numbers from 1 to 1024", s.Batches)
	check(all(s.Callbacks, 1, 10_000), "-callbacks is %v, want numbers from 1 to 10000", s.Callbacks)
	check(all(s.Copies, 0, 50), "-dup is %v, want percentages from 0 to 50", s.Copies)
	check(len(s.Works) > 0 && slices.Min(s.Works) >= 0 && slices.Max(s.Works) <= 10*time.Second,
		"-work is %v, want times from 0 to 10s", s.Works)
	check(within(s.Rate, 0, 1_000_000), "-rate is %d, want 0 to 1000000", s.Rate)
	check(within(s.Messages, 100, 10_000_000), "-messages is %d, want 100 to 10000000", s.Messages)
	check(within(s.Size, headSize, 1<<20), "-size is %d, want %d to %d", s.Size, headSize, 1<<20)
	check(within(s.Reps, 1, 1000), "-reps is %d, want 1 to 1000", s.Reps)
	check(within(s.Warmups, 0, 1000), "-warmups is %d, want 0 to 1000", s.Warmups)
	check(s.Timeout >= time.Second, "-timeout is %v, want 1s or more", s.Timeout)
	check(s.Profiles == "" || s.Warmups > 0, "-profiles needs -warmups: only those runs are profiled")
	if errs == nil && slices.Max(s.Copies) > 0 {
		least := 4 * slices.Max(s.Batches) * slices.Max(s.Callbacks)
		check(s.Messages >= least, "-messages is %d, want %d or more, 4 × batch × callbacks, with -dup: "+
			"copies would meet their running originals", s.Messages, least)
	}
	return slices.Concat(errs, s.validateField(), s.validateFiles())
}

// validateFiles finds out before the long run what could not be written after it.
func (s *settings) validateFiles() (errs []error) {
	for name, file := range map[string]string{"-out": s.JSON, "-svg": s.SVG} {
		if info, err := os.Stat(filepath.Dir(file)); file != "" && (err != nil || !info.IsDir()) {
			errs = append(errs, fmt.Errorf("%s: the folder of %s is not there", name, file))
		}
	}
	if s.Write != "" {
		if _, _, err := block(s.Write, s.Store); err != nil {
			errs = append(errs, fmt.Errorf("-write: %w", err))
		}
	}
	return errs
}

func (s *settings) validateField() (errs []error) {
	seen := map[string]bool{}
	for _, c := range s.field() {
		own := c.Command == ""
		switch {
		case own && c.Name != plainName && c.Name != handName && c.Name != oursName:
			errs = append(errs, fmt.Errorf("-contenders: %q is none of plain, hand, ours", c.Name))
		case own && c.Name == handName && (s.Store == inMemory || s.Store == inSQLite):
			errs = append(errs, errors.New("-contenders: hand needs -store redis or mysql"))
		case !contenderName.MatchString(c.Name):
			errs = append(errs, fmt.Errorf("-contender: %q is no name: want small letters, digits and -", c.Name))
		case seen[c.Name]:
			errs = append(errs, fmt.Errorf("contender %q is there twice", c.Name))
		}
		seen[c.Name] = true
	}
	return errs
}

// onServer reports whether records are kept on a server.
func (s *settings) onServer() bool { return s.Store != inMemory && s.Store != inSQLite }

// storeIsLocal reports whether what keeps the records is on this machine.
func (s *settings) storeIsLocal() bool {
	switch s.Store {
	case inRedis:
		return local(s.Redis)
	case inMySQL:
		cfg, err := mysqlConfig(s.MySQL)
		return err == nil && local(cfg.Addr)
	}
	return true
}

// field is all contenders in their order.
func (s *settings) field() []contender {
	var field []contender
	for _, name := range s.Contenders {
		field = append(field, contender{Name: name})
	}
	return append(field, s.Others...)
}

// list is a flag of several values, separated by commas.
type list[T any] struct {
	into  *[]T
	parse func(string) (T, error)
}

// String is the default as the flag's help shows it.
func (l list[T]) String() string {
	if l.into == nil {
		return ""
	}
	return strings.Join(strings.Fields(strings.Trim(fmt.Sprint(*l.into), "[]")), ",")
}

// Set replaces the values.
func (l list[T]) Set(text string) error {
	*l.into = nil
	for part := range strings.SplitSeq(text, ",") {
		v, err := l.parse(strings.TrimSpace(part))
		if err != nil {
			return err
		}
		*l.into = append(*l.into, v)
	}
	return nil
}
