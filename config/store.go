package config

// javaCompatible reports whether consumers of the Java original share the records.
func (s Store) javaCompatible() bool {
	return s.Type == "redis" && s.Redis.JavaCompatible || s.Type == "mysql" && s.MySQL.JavaCompatible
}

func (s Store) check(r *report) {
	r.oneOf("store.type", s.Type, "redis", "mysql", "sqlite", "memory")
	switch s.Type {
	case "redis":
		if len(s.Redis.Addrs) == 0 {
			s.checkDefaultType(r)
		}
		s.Redis.check(r)
	case "mysql":
		s.MySQL.check(r)
		s.Sweep.check(r)
	case "sqlite":
		s.SQLite.check(r)
		s.Sweep.check(r)
	}
}

// checkDefaultType: who fills in another section has forgotten the type, and is
// to hear of that alone.
func (s Store) checkDefaultType(r *report) {
	for _, section := range s.filled() {
		r.wrong("store.type", shown(s.Type), "%s is set, and nothing of store.redis: want %s", section.key, section.of)
		r.bad["store.redis.addrs"] = true
	}
}

// filled is a key of a section that somebody has filled in, and the type that
// the section is for.
type filled struct{ key, of string }

// filled returns what no section has by default, of each section that has it.
func (s Store) filled() (list []filled) {
	for _, section := range []struct {
		filled
		given bool
	}{
		{filled{"store.redis.addrs", "redis"}, len(s.Redis.Addrs) > 0},
		{filled{"store.mysql.dsn", "mysql"}, s.MySQL.DSN != ""},
		{filled{"store.mysql.address", "mysql"}, s.MySQL.Address != ""},
		{filled{"store.sqlite.file", "sqlite"}, s.SQLite.File != ""},
	} {
		if section.given {
			list = append(list, section.filled)
		}
	}
	return list
}

// diagnose warns of what works and is probably not wanted.
func (s Store) diagnose(r *report) {
	if s.Type == "memory" {
		r.warn("store.type", "memory: records end with the process and are not shared with other consumers")
	}
	for _, section := range s.filled() {
		if section.of != s.Type {
			r.warn(section.key, "not used by store.type %s", s.Type)
		}
	}
	if sql := s.Type == "mysql" || s.Type == "sqlite"; sql && !s.Sweep.Enabled {
		r.warn("store.sweep.enabled", "false: expired records take up room until somebody else removes them")
	}
}
