package open

import (
	"context"
	"net"
)

// What tests look at from outside.
var (
	ConsumerOptions = consumerOptions
	ListenerOptions = listenerOptions
)

type lookup = func(context.Context, string) ([]net.IPAddr, error)

// Resolver is a resolver of hosts with its own lookup.
func Resolver(f lookup, hosts ...string) interface{ Resolve() []string } {
	return &nameServers{hosts: hosts, lookup: f}
}
