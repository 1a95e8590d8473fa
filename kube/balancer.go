package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"nettoll/internal/plumb"
	"nettoll/internal/wrap"
	"nettoll/platform"
)

// A private cluster has no controller of load balancers: nettoll does what one does, and writes an address of the underlay,
// which no host has, into the service. Pods that dial it never reach a load balancer, whoever has made it: kube-proxy
// translates such addresses on their own node.

// addressTime bounds the wait for the address of a load balancer on a cluster of the user's. Those of clouds, which take
// minutes, are not waited for: they would be made anew in each round.
const addressTime = 20 * time.Second

// BalancerAt returns the address of the load balancer of service i; the zero value if it has none of that IP version.
func (c *Cluster) BalancerAt(i int, six bool) netip.Addr { return of(c.services[i].balanced, six) }

// balanced prepares a service with a load balancer. On a cluster of the user's it must not open the pods to others: only
// pods of nettoll's and their nodes may dial it, and no port of a node leads to them, since kube-proxy lets everybody dial such
// ports. Its removal can take minutes, so its name is not used again.
func (c *Cluster) balanced(spec fields, s *service) error {
	spec["allocateLoadBalancerNodePorts"] = false
	if c.own == nil {
		return nil
	}
	number, err := c.own.nextBalancer()
	if err != nil {
		return err
	}
	s.name, s.lingers = fmt.Sprintf("%sbalancer-%d", c.prefix, number), true
	var from []string
	for _, p := range c.pods {
		for _, at := range slices.Concat(p.ips, p.hostIPs) {
			if one := plumb.Single(at).String(); !slices.Contains(from, one) {
				from = append(from, one)
			}
		}
	}
	spec["loadBalancerSourceRanges"] = from
	return nil
}

// mostBalanced is how many services with load balancers a network has, at most: one for each of a node's pods.
const mostBalanced = 128

// balance gives a service its load balancer, or waits until it has one.
func (c *Cluster) balance(ctx context.Context, i int, s *service) error {
	path := servicesIn(c.namespace) + "/" + s.name
	if c.own == nil {
		var ingress []fields
		for _, six := range []bool{false, true} {
			at := plumb.ExternalAddr(0, c.place*mostBalanced+i, six)
			ingress, s.balanced = append(ingress, fields{"ip": at, "ipMode": "VIP"}), append(s.balanced, at)
		}
		err := c.api.Ask(ctx, http.MethodPatch, path+"/status", fields{"status": fields{"loadBalancer": fields{"ingress": ingress}}}, nil)
		return wrap.Error(err, "kubernetes: give %s a load balancer", s.name)
	}
	unlike := func(wanted string) error {
		return &platform.Unsupported{
			Feature: "a service with a load balancer on " + c.own.who(), Option: wanted,
			Remedy: "leave kubernetes:loadbalancer out, or name another cluster with --context",
		}
	}
	err := c.within(ctx, addressTime, func(ctx context.Context) (missing, err error) {
		var is struct {
			Status struct {
				LoadBalancer struct {
					Ingress []struct{ IP, IPMode, Hostname string }
				}
			}
		}
		if err := c.api.Ask(ctx, http.MethodGet, path, nil, &is); err != nil {
			return nil, c.refused("services", err)
		}
		missing = errors.New("it has no address")
		for _, in := range is.Status.LoadBalancer.Ingress {
			if in.IPMode == "Proxy" { // kube-proxy leaves such addresses alone, so that packets of pods go to the load balancer
				return nil, unlike("one whose address nodes translate (its ipMode is Proxy)")
			}
			if at, err := netip.ParseAddr(in.IP); err == nil {
				s.balanced = append(s.balanced, at)
			} else if in.Hostname != "" {
				missing = errors.New("it has the name " + in.Hostname + ", and no address")
			}
		}
		if len(s.balanced) > 0 {
			missing = nil
		}
		return missing, nil
	})
	switch {
	case late(err):
		err = unlike("one that gives an address at once, as MetalLB does: " + err.Error())
	case err != nil && !errors.Is(err, platform.ErrUnsupported):
		return err
	}
	return c.own.noteBalancer(err)
}

// nextBalancer returns the number of the next service with a load balancer, or why there is none.
func (o *Own) nextBalancer() (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.balancers++
	return o.balancers, o.unbalanced
}

// noteBalancer notes whether a service had its load balancer in time. If none ever had, none is asked for again.
func (o *Own) noteBalancer(why error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case why == nil: // also if another network's was late meanwhile
		o.balanced, o.unbalanced = true, nil
	case !o.balanced:
		o.unbalanced = why
	}
	return why
}

// withdraw removes a service. A controller that made a load balancer for it may keep the service until the load balancer is
// gone. That is not waited for: the cluster completes the removal by itself.
func (c *Cluster) withdraw(ctx context.Context, s *service) error {
	path := servicesIn(c.namespace) + "/" + s.name
	if !s.lingers {
		return c.remove(ctx, path)
	}
	if err := c.api.Ask(ctx, http.MethodDelete, path, nil, nil); err != nil && !Absent(err) {
		return fmt.Errorf("kubernetes: remove %s: %w", s.name, err)
	}
	return nil
}
