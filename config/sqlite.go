package config

import (
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// SQLite is where a database in a file is.
type SQLite struct {
	File        string        `yaml:"file"`
	Table       string        `yaml:"table"`
	Synchronous string        `yaml:"synchronous"` // full: survives the loss of power; normal: the end of the process
	BusyTimeout time.Duration `yaml:"busy_timeout"`
}

// sqliteTable is what package sqlitestore accepts.
var sqliteTable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

func (c SQLite) check(r *report) {
	const path = "store.sqlite"
	switch {
	case c.File == "":
		r.wrong(path+".file", "", "missing; want the path of the database, which is made when it is not there")
	case filepath.Base(c.File) == ":memory:": // below the folder of the configuration
		r.wrong(path+".file", shown(c.File), "want the path of a file; for records in memory write store.type: memory")
	case strings.ContainsRune(c.File, 0):
		r.wrong(path+".file", shown(c.File), "want a path without the character NUL")
	}
	if !sqliteTable.MatchString(c.Table) || strings.HasPrefix(strings.ToLower(c.Table), "sqlite_") {
		r.wrong(path+".table", shown(c.Table), "want a letter or _, then up to 63 letters, digits and _, and not sqlite_…")
	}
	r.oneOf(path+".synchronous", c.Synchronous, "full", "normal")
	if c.BusyTimeout < time.Millisecond || c.BusyTimeout > time.Hour {
		r.wrong(path+".busy_timeout", short(c.BusyTimeout), "want 1ms to 1h")
	}
}
