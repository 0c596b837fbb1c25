package open

import (
	"context"
	"log/slog"
	"net"
)

// What tests look at from outside.
var (
	ConsumerOptions = consumerOptions
	ListenerOptions = listenerOptions
	DriverOptions   = driverOptions
	StoreOptions    = storeOptions
)

// RedisLog is what go-redis logs to.
func RedisLog(l *slog.Logger) interface {
	Printf(ctx context.Context, format string, v ...any)
} {
	return &redisLog{clientLog{log: l}}
}

// MySQLLog is what the driver of MySQL logs to.
func MySQLLog(l *slog.Logger) interface{ Print(v ...any) } { return &mysqlLog{clientLog{log: l}} }

type lookup = func(context.Context, string) ([]net.IPAddr, error)

// Resolver is a resolver of hosts with its own lookup.
func Resolver(f lookup, hosts ...string) interface{ Resolve() []string } {
	return &nameServers{hosts: hosts, lookup: f}
}
