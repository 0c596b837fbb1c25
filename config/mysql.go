package config

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MySQL is how to reach MySQL or MariaDB: by a DSN, or by Address, Database,
// Username and Password. It is one database; records that are sharded over
// several are a matter of code.
type MySQL struct {
	DSN          Secret        `yaml:"dsn"` // of go-sql-driver/mysql
	DSNFile      string        `yaml:"dsn_file"`
	Address      string        `yaml:"address"`
	Database     string        `yaml:"database"`
	Username     string        `yaml:"username"`
	Password     Secret        `yaml:"password"`
	PasswordFile string        `yaml:"password_file"`
	TLS          TLS           `yaml:"tls"`
	MaxOpen      int           `yaml:"max_open"`     // connections
	MaxIdle      int           `yaml:"max_idle"`     // connections that are kept; 0: all
	MaxLifetime  time.Duration `yaml:"max_lifetime"` // of a connection
	DialTimeout  time.Duration `yaml:"dial_timeout"` // this and the next two: unless the DSN has them
	ReadTimeout  time.Duration `yaml:"read_timeout"`
	WriteTimeout time.Duration `yaml:"write_timeout"`
	Table        string        `yaml:"table"`   // empty: that of package mysqlstore
	Migrate      bool          `yaml:"migrate"` // make or mend the table at start
	Retries      int           `yaml:"retries"` // of a call that failed in a way worth repeating

	JavaCompatible bool          `yaml:"java_compatible"` // records are those of the Java original
	Skew           time.Duration `yaml:"skew"`            // of the clocks of its consumers, with JavaCompatible
}

// The tables that package mysqlstore has by default.
const (
	nativeTable = "dedup_record"
	javaTable   = "t_rocketmq_dedup"
)

// mysqlTable is what package mysqlstore accepts, of up to 64 characters.
var mysqlTable = regexp.MustCompile(`^[A-Za-z0-9_]{0,63}[A-Za-z_][A-Za-z0-9_]{0,63}$`)

func (c MySQL) check(r *report) {
	const path = "store.mysql"
	if c.DSN == "" {
		c.checkFields(r)
	} else {
		c.checkDSN(r)
	}
	c.TLS.check(path+".tls", r)
	r.between(path+".max_open", c.MaxOpen, 4, 10_000)
	if r.sound(path + ".max_open") {
		r.between(path+".max_idle", c.MaxIdle, 0, c.MaxOpen)
	}
	r.positive(path+".max_lifetime", c.MaxLifetime, time.Second)
	r.positive(path+".dial_timeout", c.DialTimeout, time.Millisecond)
	r.positive(path+".read_timeout", c.ReadTimeout, 2*time.Second) // a locked row is waited for a second
	r.positive(path+".write_timeout", c.WriteTimeout, time.Millisecond)
	if c.Table != "" && (len(c.Table) > 64 || !mysqlTable.MatchString(c.Table)) {
		r.wrong(path+".table", shown(c.Table), "want 1 to 64 of letters, digits and _, not digits only")
	}
	r.between(path+".retries", c.Retries, 0, 100)
	if c.Skew < time.Millisecond || c.Skew > time.Hour {
		r.wrong(path+".skew", short(c.Skew), "want 1ms to 1h")
	}
}

func (c MySQL) checkFields(r *report) {
	const path = "store.mysql"
	if !r.sound(path+".dsn", path+".dsn_file") {
		return // who gives a DSN need not give these
	}
	switch {
	case c.Address == "":
		r.wrong(path+".address", "", "missing; want host:port of the server, or store.mysql.dsn instead")
	case !isAddress(c.Address):
		r.wrong(path+".address", shown(c.Address), "want host:port")
	}
	if c.Database == "" {
		r.wrong(path+".database", "", "missing; want the database that the table is in")
	}
	if c.Username == "" {
		r.wrong(path+".username", "", "missing; want the user of the database")
	}
}

// checkDSN says nothing that the DSN says: what it has wrong may be its password.
func (c MySQL) checkDSN(r *report) {
	const path = "store.mysql"
	for key, value := range map[string]string{
		"address": c.Address, "database": c.Database, "username": c.Username, "password": string(c.Password),
	} {
		if value != "" {
			r.wrong(path+"."+key, "", "store.mysql.dsn is set too; want one of the two")
		}
	}
	database, params, ok := parseDSN(c.DSN.Reveal())
	switch {
	case mysqlURL.MatchString(c.DSN.Reveal()):
		r.wrong(path+".dsn", "", "want %s, not an URL", dsnForm)
	case !ok:
		r.wrong(path+".dsn", "", "want %s", dsnForm)
	case params.Has("password"):
		r.wrong(path+".dsn", "", "its password is a parameter; want %s", dsnForm)
	case database == "":
		r.wrong(path+".dsn", "", "it names no database; want %s", dsnForm)
	case params.Has("tls") && c.TLS.Enabled:
		r.wrong(path+".dsn", "", "it has tls, and store.mysql.tls.enabled is true; want one of the two")
	}
	switch params.Get("tls") {
	case "skip-verify", "preferred":
		r.warn(path+".dsn", "its tls=%s does not verify the server; better store.mysql.tls", params.Get("tls"))
	}
	if seconds, err := strconv.Atoi(params.Get("innodb_lock_wait_timeout")); err == nil && seconds > maxLockWait {
		r.wrong(path+".dsn", "", "its innodb_lock_wait_timeout is %d seconds, so a call would give up long before the "+
			"server: want 1 to %d, or leave it out for 1", seconds, maxLockWait)
	}
}

// maxLockWait is what package mysqlstore accepts.
const maxLockWait = 5

var mysqlURL = regexp.MustCompile(`^(jdbc:)?(mysql|mariadb)://`)

const dsnForm = "user:password@tcp(host:port)/database?parameter=value"

// parseDSN looks at a DSN as far as that needs no driver. What stands for the
// network must be one: the driver shows it in errors, and it is the password where
// an @ is missing.
func parseDSN(dsn string) (database string, params url.Values, ok bool) {
	slash := strings.LastIndexByte(dsn, '/')
	if slash < 0 {
		return "", nil, false
	}
	network, _, _ := strings.Cut(dsn[strings.LastIndexByte(dsn[:slash], '@')+1:slash], "(")
	if !slices.Contains([]string{"", "tcp", "tcp4", "tcp6", "unix"}, network) {
		return "", nil, false
	}
	database, query, _ := strings.Cut(dsn[slash+1:], "?")
	params = url.Values{}
	for pair := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		value, err := url.QueryUnescape(value)
		if err != nil {
			return "", nil, false
		}
		params.Set(name, value)
	}
	return database, params, true
}
