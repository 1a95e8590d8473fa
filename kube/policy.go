package kube

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"nettoll/internal/wrap"
	"nettoll/platform"
	"nettoll/record"
)

// Network policies are enforced by whatever connects the pods of a cluster, or by nothing: the API server accepts them all
// the same. Once a policy selects a pod, only what one of its policies admits reaches the pod.

// policing remembers where a cluster enforces network policies.
type policing struct {
	mu    sync.Mutex
	known map[string]error // by kind of network: why it need not be tried again; nil: it does
}

// policiesIn returns the path in the API of the policies of a namespace.
func policiesIn(namespace string) string {
	return "/apis/networking.k8s.io/v1/namespaces/" + namespace + "/networkpolicies"
}

// unused4 are the networks that are reserved for documentation (RFC 5737), and unused6 is that of IPv6 (RFC 3849): no client
// has an address there.
var (
	unused4 = []netip.Addr{netip.MustParseAddr("192.0.2.0"), netip.MustParseAddr("198.51.100.0"), netip.MustParseAddr("203.0.113.0")}
	unused6 = netip.MustParseAddr("2001:db8::")
)

// unused returns address i of those that no client has, of both IP versions. Those of IPv4 are used again after 768.
func unused(i int) [2]netip.Prefix {
	four, six := unused4[i/256%len(unused4)].As4(), unused6.As16()
	four[3] = byte(i)
	binary.BigEndian.PutUint32(six[12:], uint32(i))
	return [2]netip.Prefix{netip.PrefixFrom(netip.AddrFrom4(four), 32), netip.PrefixFrom(netip.AddrFrom16(six), 128)}
}

// policy returns a policy that selects pods and admits what a rule describes.
func (c *Cluster) policy(name string, of []*Pod, admits fields) Object {
	names := record.Each(of, func(p *Pod) string { return p.Name })
	name = c.prefix + name
	return Object{policiesIn(c.namespace), name, fields{
		"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": described(name, c.look.metadata, nil),
		"spec": fields{
			"podSelector": fields{"matchExpressions": []fields{{"key": Label, "operator": "In", "values": names}}},
			"policyTypes": []string{"Ingress"}, "ingress": []fields{admits},
		},
	}}
}

// Restrict makes n further policies, each of which admits one address to the pods, which nobody has. If the cluster enforces
// policies, nothing reaches the pods any more.
func (c *Cluster) Restrict(ctx context.Context, pods []*Pod, n int) error {
	var all []Object
	for i := range n {
		var from []fields
		for _, one := range unused(i) {
			from = append(from, fields{"ipBlock": fields{"cidr": one.String()}})
		}
		all = append(all, c.policy(fmt.Sprintf("policy-%05d", i+1), pods, fields{"from": from}))
	}
	return c.addPolicies(ctx, all...)
}

// Admit makes a policy that admits everything to the pods. Its name comes after those of all others, since felix checks
// policies in the order of their names.
func (c *Cluster) Admit(ctx context.Context, pods []*Pod) error {
	return c.addPolicies(ctx, c.policy("policy-admits", pods, fields{}))
}

// Exclude removes the policy that Admit has made.
func (c *Cluster) Exclude(ctx context.Context) error {
	last := len(c.policies) - 1
	if err := c.api.RemoveAll(ctx, c.requests, c.policies[last:]); err != nil {
		return fmt.Errorf("kubernetes: %w", c.refused("networkpolicies", err))
	}
	c.policies = c.policies[:last]
	return nil
}

func (c *Cluster) addPolicies(ctx context.Context, all ...Object) error {
	c.policies = append(c.policies, all...)
	err := c.api.MakeAll(ctx, c.requests, all)
	return wrap.Error(c.refused("networkpolicies", err), "kubernetes")
}

// removePolicies removes the policies of the network.
func (c *Cluster) removePolicies(ctx context.Context) error {
	all := c.policies
	c.policies = nil
	return wrap.Error(c.api.RemoveAll(ctx, c.requests, all), "kubernetes")
}

// perPolicy is how much longer a cluster may take for each policy until it enforces it.
const perPolicy = 20 * time.Millisecond

// PolicyPatience bounds the time until a cluster enforces a number of policies. One that has not enforced any by then ignores
// them.
func PolicyPatience(n int) time.Duration { return 20*time.Second + time.Duration(n)*perPolicy }

// Unpoliced returns why policies need not be tried for a kind of network on the cluster; nil: it is not known that they are ignored.
// Of private clusters it is known beforehand, and of those of the user's once Ignores was called.
func (c *Cluster) Unpoliced(network string) error {
	if c.own == nil && !c.cni().enforces {
		return c.unpoliced("")
	}
	c.policing.mu.Lock()
	defer c.policing.mu.Unlock()
	return c.policing.known[network]
}

// Enforces notes that the cluster enforces policies in a kind of network.
func (c *Cluster) Enforces(network string) { c.policing.note(network, nil) }

// Ignores notes that the cluster does not enforce policies in a kind of network, so that it is not tried again unless it has
// enforced some before, and returns the error of such networks. Not all kinds are alike: nothing may keep a node from its pods,
// and some clusters give packets to ports of nodes the address of the node. seen is what shows it.
func (c *Cluster) Ignores(network string, seen error) error {
	u := c.unpoliced(": " + seen.Error())
	c.policing.note(network, u)
	return u
}

// note keeps what was seen first, unless policies are enforced: a cluster that enforces them may be late at other times, also
// with those of a network that is built at the same time.
func (p *policing) note(network string, why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil {
		p.known = map[string]error{}
	}
	if _, known := p.known[network]; !known || why == nil {
		p.known[network] = why
	}
}

// unpoliced returns the error of networks in which nothing enforces policies, with what shows it.
func (c *Cluster) unpoliced(seen string) error {
	u := &platform.Unsupported{Feature: "a network policy", Option: "a network of pods that enforces it" + seen}
	if c.own != nil {
		u.Feature += " on " + c.own.who()
		u.Remedy = "leave --policies out, or name another cluster with --context"
	} else {
		u.Feature += " in a private cluster with " + c.CNI()
		u.Remedy = "add --cni " + record.CNICalico + ", or leave --policies out"
	}
	return u
}
