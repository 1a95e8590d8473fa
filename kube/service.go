package kube

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"nettoll/internal/plumb"
)

// firstService is the place of the first service of ours in the range of services. The API server gives the lowest
// addresses to services of its own.
const firstService = 16

// mostServices is how many services a network has, at most: one for each of a node's pods.
const mostServices = 128

// serviceAddr returns the address of service i, from 0.
func (c *Cluster) serviceAddr(i int, six bool) netip.Addr {
	return plumb.ServiceAddr(firstService+c.place*mostServices+i, six)
}

// NodePorts is the range of the ports of nodes that services can have: it has the ports of servers, so that these
// have one number everywhere. The usual range begins at 30000.
const NodePorts = "20000-32767"

// LastNodePort is the last of the ports of nodes that services can have.
const LastNodePort = 32767

// service is a service that was made.
type service struct {
	name  string
	addrs []netip.Addr
}

// ServiceAt returns the address of service i, which Expose has made; the zero value if it has none of that IP version.
func (c *Cluster) ServiceAt(i int, six bool) netip.Addr { return of(c.services[i].addrs, six) }

// Expose makes the next service, from 0, whose ports lead to the same ports of a pod. If onNodes is set, they are ports
// of the nodes, too.
func (c *Cluster) Expose(ctx context.Context, i int, to *Pod, ports Ports, onNodes bool) error {
	kind := "ClusterIP"
	if onNodes {
		kind = "NodePort"
	}
	var all []fields
	for port := ports.First; port <= ports.Last; port++ {
		for _, protocol := range []string{"TCP", "UDP"} {
			p := fields{"name": fmt.Sprintf("p%d-%c", port, protocol[0]+'a'-'A'), "port": port, "protocol": protocol}
			if onNodes {
				p["nodePort"] = port
			}
			all = append(all, p)
		}
	}
	s := &service{name: fmt.Sprintf("%sservice-%d", c.prefix, i+1)}
	c.services = append(c.services, s)
	spec := fields{"type": kind, "ipFamilyPolicy": "PreferDualStack", "selector": fields{Label: to.Name}, "ports": all}
	if c.own == nil {
		four, six := c.serviceAddr(i, false).String(), c.serviceAddr(i, true).String()
		maps.Copy(spec, fields{"clusterIP": four, "clusterIPs": []string{four, six}, "ipFamilies": []string{"IPv4", "IPv6"}, "ipFamilyPolicy": "RequireDualStack"})
	}
	metadata := fields{"name": s.name}
	maps.Copy(metadata, c.look.metadata)
	var made struct {
		Spec struct{ ClusterIPs []netip.Addr }
	}
	err := c.api.Ask(ctx, http.MethodPost, c.in("services"), fields{"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}, &made)
	if err != nil {
		if taken := portsTaken(err); taken != nil {
			err = taken
		} else {
			err = c.refused("services", err)
		}
		return fmt.Errorf("kubernetes: make %s: %w", s.name, err)
	}
	s.addrs = made.Spec.ClusterIPs
	return nil
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

// Withdraw removes the services.
func (c *Cluster) Withdraw(ctx context.Context) error {
	services := c.services
	c.services = nil
	var removing errgroup.Group
	for _, s := range services {
		removing.Go(func() error { return c.remove(ctx, c.in("services", s.name)) })
	}
	return removing.Wait()
}
