package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"nettoll/internal/atonce"
	"nettoll/internal/daemon"
	"nettoll/internal/plumb"
	"nettoll/internal/wrap"
)

// firstService is the place of nettoll's first service in the range of services. The API server gives the lowest
// addresses to services of its own.
const firstService = 16

// servicesBeside is how many services a network can have while others stand on the same cluster: further ones, and one for
// each of a node's pods.
const servicesBeside = 1000 + 128

// serviceAddr returns the address of service i of the network, from 0.
func (c *Cluster) serviceAddr(i int, six bool) netip.Addr {
	return ServiceAddr(c.place*servicesBeside+i, six)
}

// ServiceAddr returns the address of service i, from 0: those of the servers come first.
func ServiceAddr(i int, six bool) netip.Addr { return plumb.ServiceAddr(firstService+i, six) }

// ServiceAddrs returns its addresses of both IP versions.
func ServiceAddrs(i int) []netip.Addr {
	return []netip.Addr{ServiceAddr(i, false), ServiceAddr(i, true)}
}

// ServiceName returns the name of service i, from 0.
func ServiceName(i int) string { return fmt.Sprintf("service-%d", i+1) }

// FurtherPort is the port of further services.
const FurtherPort = 80

// Further returns n further services, which nobody dials, from service first on. Their port leads to a port of the endpoint.
func Further(first, n int, to []netip.Addr, port int) (all []Fixed) {
	for i := range n {
		all = append(all, Fixed{
			Name: ServiceName(first + i), At: ServiceAddrs(first + i), Ports: []Port{{"http", FurtherPort, "TCP"}},
			To: to, Targets: []Port{{"http", port, "TCP"}},
		})
	}
	return all
}

// NodePorts is the range of the ports of nodes that services can have. It contains the ports of servers, so that a
// port has the same number everywhere. The usual range begins at 30000.
const NodePorts = "20000-32767"

// LastNodePort is the last of the ports of nodes that services can have.
const LastNodePort = 32767

// ServiceType is how a service is reached, besides at its own address.
type ServiceType string

// Types of services. Each has what those before it have, except that services with a load balancer need no ports of nodes.
const (
	ClusterIP    ServiceType = "ClusterIP"
	NodePort     ServiceType = "NodePort"
	LoadBalancer ServiceType = "LoadBalancer"
)

// Headless is the kind of service that has no address: it names those of its pods.
const Headless ServiceType = "Headless"

// service is a service that was made.
type service struct {
	name     string
	addrs    []netip.Addr
	balanced []netip.Addr // the addresses of its load balancer
	named    []netip.Addr // the addresses that it names, if it is headless
	lingers  bool         // its removal is not waited for
	accepted time.Time    // when the API server had accepted it
}

// ServiceAt returns the address of service i, which Expose has made; the zero value if it has none of that IP version.
func (c *Cluster) ServiceAt(i int, six bool) netip.Addr { return of(c.services[i].addrs, six) }

// Accepted returns when the API server had accepted service i, which Expose has made.
func (c *Cluster) Accepted(i int) time.Time { return c.services[i].accepted }

// Expose makes the next service, from 0, whose ports lead to the same ports of a pod. With NodePort, they are ports of the
// nodes, too.
func (c *Cluster) Expose(ctx context.Context, i int, to *Pod, ports Ports, as ServiceType) error {
	named := fieldsOf(ports.Named())
	spec, at := fields{"type": as, "selector": fields{Label: to.Name}, "ports": named}, c.addrsOf(i)
	s := &service{name: c.prefix + ServiceName(i)}
	switch as {
	case Headless:
		spec["type"], spec["clusterIP"], at = ClusterIP, noAddr, nil
	case NodePort:
		for _, p := range named {
			p["nodePort"] = p["port"]
		}
	case LoadBalancer:
		if err := c.balanced(spec, s); err != nil {
			return err
		}
	}
	c.services = append(c.services, s)
	var made madeService
	err := c.api.Ask(ctx, http.MethodPost, servicesIn(c.namespace), fields{
		"apiVersion": "v1", "kind": "Service", "metadata": described(s.name, c.look.metadata, nil), "spec": onBoth(spec, at),
	}, &made)
	if err != nil {
		if taken := portsTaken(err); taken != nil {
			err = taken
		} else {
			err = c.refused("services", err)
		}
		return fmt.Errorf("kubernetes: make %s: %w", s.name, err)
	}
	s.accepted = time.Now()
	if as == Headless {
		return c.name(ctx, s, made, to)
	}
	if s.addrs, err = made.addrs(); err != nil {
		return fmt.Errorf("kubernetes: addresses of %s: %w", s.name, err)
	}
	c.expect(len(named), s.addrs...)
	if as != LoadBalancer {
		return nil
	}
	if err := c.balance(ctx, i, s); err != nil {
		return err
	}
	c.expect(len(named), s.balanced...)
	return nil
}

// addrsOf returns the addresses of service i, if they are nettoll's to choose.
func (c *Cluster) addrsOf(i int) []netip.Addr {
	if c.own != nil {
		return nil
	}
	return []netip.Addr{c.serviceAddr(i, false), c.serviceAddr(i, true)}
}

// expect notes how many ports services have at these addresses.
func (c *Cluster) expect(ports int, at ...netip.Addr) {
	if c.own != nil {
		return // its nodes are not seen
	}
	for _, a := range at {
		c.ports[a] = ports
	}
}

// AddFurther makes n further services, from service first on, with a pod as their endpoint; see Further.
func (c *Cluster) AddFurther(ctx context.Context, first, n int, to *Pod, port int) error {
	for i, s := range Further(first, n, to.ips, port) {
		s.Name, s.At = c.prefix+s.Name, c.addrsOf(first+i)
		c.further = append(c.further, s.Objects(c.namespace, c.look.metadata)...)
		c.expect(len(s.Ports), s.At...)
	}
	err := c.api.MakeAll(ctx, c.requests, c.further)
	return wrap.Error(c.refused("services", err), "kubernetes")
}

// LastFurther returns the address of the last of the further services that AddFurther has made; the zero value if there is none
// of that IP version.
func (c *Cluster) LastFurther(ctx context.Context, six bool) (at netip.Addr, err error) {
	for _, o := range slices.Backward(c.further) {
		if o.In != servicesIn(c.namespace) { // it is one of the service's EndpointSlices
			continue
		}
		var is struct {
			Spec struct{ ClusterIPs []netip.Addr }
		}
		if err := c.api.Ask(ctx, http.MethodGet, o.Path(), nil, &is); err != nil {
			return at, fmt.Errorf("kubernetes: %w", c.refused("services", err))
		}
		return of(is.Spec.ClusterIPs, six), nil
	}
	return at, nil
}

// perService is how much longer kube-proxy may take for each further service.
const perService = 10 * time.Millisecond

// ProxyPatience bounds the time until kube-proxy has rules of all services, of which some are further ones.
func ProxyPatience(further int) time.Duration { return Patience + time.Duration(further)*perService }

// ProxyRest is how long kube-proxy needs after its last change until it makes the next one at once: it makes one a second, and after
// a pause two without waiting (--iptables-min-sync-period, --nftables-min-sync-period). A new service takes both: it is made
// without endpoints first. With thousands of further services, it reads and writes rules for seconds each time.
func ProxyRest(further int) time.Duration {
	return 3*time.Second + time.Duration(further)*time.Millisecond
}

// InForce waits until all nodes of a private cluster have the rules of its services, and none of services that are gone.
func (c *Cluster) InForce(ctx context.Context) error {
	return atonce.All(ctx, -1, c.Nodes, func(ctx context.Context, _ int, n *Node) error {
		return daemon.Until(ctx, ProxyPatience(len(c.ports)), func(ctx context.Context) error { return proxyMode.Serves(ctx, n.Host, c.ports) }, n.daemons...)
	})
}

// PortsTaken is the error of ports of nodes that a service cannot have.
type PortsTaken struct {
	First, Last int // the range of those that services can have, if they are not in it
	text        string
}

func (p *PortsTaken) Error() string { return p.text }

// validPorts matches what the API server says of ports that are not those of services.
var validPorts = regexp.MustCompile(`range of valid ports is (\d+)-(\d+)`)

// portsTaken returns what is wrong with the ports of nodes; nil: nothing.
func portsTaken(err error) *PortsTaken {
	var s *Status
	if !errors.As(err, &s) || s.Code != http.StatusUnprocessableEntity || !strings.Contains(s.Message, "nodePort") {
		return nil
	}
	p := &PortsTaken{text: s.Message}
	if m := validPorts.FindStringSubmatch(s.Message); m != nil {
		p.First, _ = strconv.Atoi(m[1]) // they are digits
		p.Last, _ = strconv.Atoi(m[2])
	}
	return p
}

// UsualNodePorts returns the range of the ports of nodes of most clusters.
func UsualNodePorts() (first, last int) { return 30000, LastNodePort }

// Withdraw removes the services that Expose has made.
func (c *Cluster) Withdraw(ctx context.Context) error {
	services := c.services
	c.services = nil
	var removing errgroup.Group
	for _, s := range services {
		removing.Go(func() error { return c.withdraw(ctx, s) })
		c.expect(0, slices.Concat(s.addrs, s.balanced)...)
	}
	return removing.Wait()
}

// withdrawAll removes all services. Where there were further ones, it returns when no node has rules of them: kube-proxy
// needs a while, and CPU time, for many.
func (c *Cluster) withdrawAll(ctx context.Context) error {
	further := c.further
	c.further = nil
	var removing errgroup.Group
	removing.Go(func() error { return c.Withdraw(ctx) })
	removing.Go(func() error {
		return wrap.Error(c.api.RemoveAll(ctx, c.requests, further), "kubernetes")
	})
	if err := removing.Wait(); err != nil || c.own != nil || len(further) == 0 {
		return err
	}
	for at := range c.ports {
		c.ports[at] = 0
	}
	if err := c.InForce(ctx); err != nil {
		return fmt.Errorf("kubernetes: remove services: %w", err)
	}
	clear(c.ports)
	return nil
}
