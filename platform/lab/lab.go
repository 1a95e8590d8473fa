package lab

import (
	"context"
	"errors"
	"fmt"
	"os"

	"nettoll/internal/netns"
	"nettoll/platform"
)

// Lab is the platform.
type Lab struct{}

// New gives the lab. Its process is Inside, or root's: then namespaces are held by
// files of the process and go with it, and processes in them end with their input.
func New() *Lab { return &Lab{} }

// Name implements platform.Platform.
func (*Lab) Name() string { return "lab" }

// Probe implements platform.Platform: it makes one namespace.
func (*Lab) Probe(context.Context) error {
	if !Inside() && os.Geteuid() != 0 {
		return &platform.Unsupported{
			Feature: "networks of the lab beside those of a Docker engine", Option: "root",
			Remedy: "run as root, or measure the lab in a run of its own",
		}
	}
	ns, err := netns.New(1, quiet)
	if err != nil {
		return explain(err)
	}
	return ns[0].Close()
}

// quiet keeps devices that are made later in the current namespace from looking
// for duplicates of their link-local addresses and for routers: that would send
// multicast for seconds after a network is up, in the middle of a measurement,
// and the addresses would be of no use before. Link-local addresses there must be:
// a router without one on a device finds no neighbour there.
func quiet() error {
	for _, key := range []string{"accept_dad", "router_solicitations"} {
		err := os.WriteFile("/proc/sys/net/ipv6/conf/default/"+key, []byte("0"), 0)
		if err != nil && !errors.Is(err, os.ErrNotExist) { // a kernel without IPv6 has no such parameter
			return err
		}
	}
	return nil
}

// maxHosts is what the address plan holds.
const maxHosts = 15

// Hosts implements platform.Platform.
func (l *Lab) Hosts(_ context.Context, req platform.HostRequest) (platform.Hosts, error) {
	if req.Count < 1 || req.Count > maxHosts {
		return nil, fmt.Errorf("lab: %d hosts: the lab has addresses for 1 to %d", req.Count, maxHosts)
	}
	s := &site{mtu: req.Underlay.MTU}
	if s.mtu == 0 {
		s.mtu = underlayMTU
	}
	for i := range req.Count {
		ns, err := s.namespace(1)
		if err != nil {
			return nil, errors.Join(err, s.Close(context.Background()))
		}
		s.hosts = append(s.hosts, &host{
			endpoint: endpoint{name: fmt.Sprintf("h%d", i+1), ns: ns[0]},
			site:     s,
			index:    i,
		})
	}
	if err := s.wire(req.Underlay); err != nil {
		return nil, errors.Join(fmt.Errorf("lab: underlay: %w", err), s.Close(context.Background()))
	}
	for _, h := range s.hosts {
		if req.Rules == 0 {
			break
		}
		if err := h.addRules(req.Rules); err != nil {
			return nil, errors.Join(fmt.Errorf("lab: %s: %w", h.Name(), err), s.Close(context.Background()))
		}
	}
	return s, nil
}

// site is a set of hosts with one underlay, and owns every namespace in it.
type site struct {
	hosts []*host
	mtu   int // of the underlay
	all   []*netns.NS
}

// namespace makes namespaces that live as long as the site.
func (s *site) namespace(n int) ([]*netns.NS, error) {
	ns, err := netns.New(n, quiet)
	if err != nil {
		return nil, err
	}
	s.all = append(s.all, ns...)
	return ns, nil
}

// All implements platform.Hosts.
func (s *site) All() []platform.Host {
	hosts := make([]platform.Host, len(s.hosts))
	for i, h := range s.hosts {
		hosts[i] = h
	}
	return hosts
}

// Transient implements platform.Transient.
func (*site) Transient() bool { return true }

// Close implements platform.Hosts. The kernel removes what is in the namespaces.
func (s *site) Close(context.Context) error {
	var errs []error
	for _, ns := range s.all {
		errs = append(errs, ns.Close())
	}
	s.all = nil
	return errors.Join(errs...)
}
