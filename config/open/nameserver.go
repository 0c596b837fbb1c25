package open

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
)

// lookupTimeout bounds one round of lookups; the client waits for it.
const lookupTimeout = 5 * time.Second

// nameServers gives the client the IP addresses of name servers: it refuses
// host names. It asks again every two minutes, so that servers may move.
type nameServers struct {
	hosts  []string // host:port
	lookup func(ctx context.Context, host string) ([]net.IPAddr, error)

	mu   sync.Mutex // guards last
	last []string   // the answer while no host can be looked up
}

func newNameServers(hosts []string) *nameServers {
	return &nameServers{hosts: hosts, lookup: net.DefaultResolver.LookupIPAddr}
}

// Resolve returns the addresses, in the order of the hosts.
func (n *nameServers) Resolve() []string {
	ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
	defer cancel()
	var found []string
	for _, hostPort := range n.hosts {
		host, port, err := net.SplitHostPort(hostPort)
		if err != nil {
			continue // validated before; a hand-made one is left out
		}
		for _, ip := range n.addresses(ctx, host) {
			if address := net.JoinHostPort(ip, port); !slices.Contains(found, address) {
				found = append(found, address)
			}
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(found) > 0 {
		n.last = found
	}
	return slices.Clone(n.last)
}

// Description names the hosts in the client's errors.
func (n *nameServers) Description() string { return "lookup of " + strings.Join(n.hosts, ", ") }

// addresses prefers IPv4, which every broker listens on.
func (n *nameServers) addresses(ctx context.Context, host string) []string {
	found, err := n.lookup(ctx, host) // an IP address is its own answer
	if err != nil {
		return nil
	}
	var v4, v6 []string
	for _, a := range found {
		if a.IP.To4() != nil {
			v4 = append(v4, a.IP.String())
			continue
		}
		v6 = append(v6, a.IP.String())
	}
	if len(v4) == 0 {
		v4 = v6
	}
	slices.Sort(v4)
	return v4
}
