package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/api/types/swarm"
	"github.com/moby/moby/client"

	"nettoll/internal/atonce"
	"nettoll/internal/await"
	"nettoll/internal/daemon"
	"nettoll/internal/emulated"
	"nettoll/internal/oneline"
	"nettoll/record"
)

// Swarm is the swarm that engines are nodes of.
type Swarm struct {
	// Manager is an engine that accepts commands for the whole swarm.
	Manager *Host

	nodes map[*Host]string // ids
}

// FindSwarm asks engines for the swarm that they are nodes of. The error says in one line which of them
// is in no swarm, in a different one or not ready, that two of them are the same, or that none of them is a manager.
func FindSwarm(ctx context.Context, hosts []*Host) (*Swarm, error) {
	s := &Swarm{nodes: map[*Host]string{}}
	names := map[*Host]string{}
	for k, h := range hosts {
		res, err := h.info(ctx)
		if err != nil {
			return nil, failed(err, "ask engine %s for its swarm", h.name)
		}
		i := res.Info.Swarm
		names[h] = fmt.Sprintf("engine %s (on %s)", h.name, res.Info.Name)
		if err := active(i); err != nil {
			return nil, fmt.Errorf("docker: %s %w", names[h], err)
		}
		if same := slices.IndexFunc(hosts[:k], func(o *Host) bool { return s.nodes[o] == i.NodeID }); same >= 0 {
			return nil, fmt.Errorf("docker: %s and %s are one node of the swarm: name each engine once", names[hosts[same]], names[h])
		}
		s.nodes[h] = i.NodeID
		if s.Manager == nil && i.ControlAvailable {
			s.Manager = h
		}
	}
	if s.Manager == nil {
		return nil, errors.New("docker: none of the engines is a manager of its swarm, and only a manager makes networks and services")
	}
	return s, s.ready(ctx, hosts, names)
}

// info asks the engine for information about itself, for a limited time.
func (h *Host) info(ctx context.Context) (client.SystemInfoResult, error) { return h.Engine.info(ctx) }

func (e *Engine) info(ctx context.Context) (client.SystemInfoResult, error) {
	ctx, cancel := context.WithTimeout(ctx, emulated.Patience(managerTime))
	defer cancel()
	return e.Client.Info(ctx, client.InfoOptions{})
}

// active returns an error that says why an engine is not a node, or nil.
func active(i swarm.Info) error {
	switch i.LocalNodeState {
	case swarm.LocalNodeStateActive:
		return nil
	case swarm.LocalNodeStateInactive, "":
		return errors.New("is not part of a swarm")
	case swarm.LocalNodeStateLocked:
		return errors.New("is part of a swarm that is locked")
	}
	reason := cmp.Or(i.Error, "its state is "+string(i.LocalNodeState))
	return fmt.Errorf("is not active in its swarm: %w", brief(errors.New(reason)))
}

// managerTime is how long a manager may take to answer: it waits long if its swarm has lost its leader.
const managerTime = 20 * time.Second

// ready returns an error if the manager reports a node as not ready, or does not know it.
func (s *Swarm) ready(ctx context.Context, hosts []*Host, names map[*Host]string) error {
	ctx, cancel := context.WithTimeout(ctx, emulated.Patience(managerTime))
	defer cancel()
	known, err := s.Manager.Engine.Client.NodeList(ctx, client.NodeListOptions{})
	if err != nil {
		return failed(err, "ask the swarm's manager for its nodes")
	}
	for _, h := range hosts {
		i := slices.IndexFunc(known.Items, func(n swarm.Node) bool { return n.ID == s.nodes[h] })
		if i < 0 {
			return fmt.Errorf("docker: %s is part of another swarm than %s", names[h], names[s.Manager])
		}
		if is := known.Items[i].Status; is.State != swarm.NodeStateReady {
			state := strings.TrimSuffix(string(is.State)+": "+is.Message, ": ")
			return fmt.Errorf("docker: the swarm's manager reports %s as %s", names[h], state)
		}
	}
	return nil
}

// settle waits until the engines have released the networks of a run, which they do some time after
// the manager has.
func settle(ctx context.Context, hosts []*Host) error {
	return record.Try(hosts, func(h *Host) error {
		ours := make(client.Filters).Add("label", Label+"="+h.Engine.Run).Add("scope", "swarm")
		return await.Until(ctx, 0, pause, func(ctx context.Context) (missing, err error) {
			left, err := h.Engine.Client.NetworkList(ctx, client.NetworkListOptions{Filters: ours})
			switch {
			case err != nil:
				return nil, failed(err, "list networks of %s", h.name)
			case len(left.Items) > 0:
				missing = fmt.Errorf("docker: %s still has the network %s", h.name, left.Items[0].Name)
			}
			return missing, nil
		})
	})
}

// The addresses of private swarms. They do not overlap the bridges of private engines. Networks that
// use the second half of 198.19.0.0/16, too, are never built on engines of a swarm.
var (
	// SwarmOverlay4 is for networks that are made for a measurement.
	SwarmOverlay4 = netip.MustParsePrefix("198.19.128.0/18")
	// swarmPool4 is the range from which a swarm takes subnets for its own networks.
	swarmPool4 = netip.MustParsePrefix("198.19.192.0/19")
	// gatewayBridge4 is for the bridge of each engine through which containers of overlays reach the outside.
	gatewayBridge4 = netip.MustParsePrefix("198.19.224.0/20")
)

const (
	swarmSubnetBits = 24
	swarmPort       = 2377 // on which managers listen for nodes
)

// everywhere is the listen address of engines: their hosts have an underlay and no other network.
var everywhere = netip.AddrPortFrom(netip.IPv4Unspecified(), swarmPort).String()

// FormSwarm joins private engines, which are in no swarm yet, to form one whose manager is the first of
// them. It returns when all are ready.
func FormSwarm(ctx context.Context, engines []*Private) (*Swarm, error) {
	hosts := make([]*Host, len(engines))
	for i, p := range engines {
		hosts[i] = p.Host
		if err := p.bridgeOut(ctx); err != nil {
			return nil, err
		}
	}
	first := engines[0]
	_, err := first.Engine.Client.SwarmInit(ctx, client.SwarmInitOptions{
		ListenAddr: everywhere, AdvertiseAddr: first.Addr(false).String(), DataPathAddr: first.Addr(false).String(),
		DefaultAddrPool: []netip.Prefix{swarmPool4}, SubnetSize: swarmSubnetBits,
	})
	if err != nil {
		return nil, failed(err, "swarm init on %s", first.name)
	}
	if err := first.invite(ctx, engines[1:]); err != nil {
		return nil, err
	}
	s, err := awaitSwarm(ctx, hosts)
	if err == nil {
		return s, nil
	}
	for _, p := range engines {
		if said := oneline.Output(p.daemon.Log()); said != "" {
			err = fmt.Errorf("%w; dockerd of %s logs: %s", err, p.name, said)
		}
	}
	return nil, err
}

// bridgeOut makes the engine's docker_gwbridge as the engine would, except for its addresses.
func (p *Private) bridgeOut(ctx context.Context) error {
	const name = "docker_gwbridge"
	_, err := p.Engine.Client.NetworkCreate(ctx, name, client.NetworkCreateOptions{
		Driver: "bridge",
		Options: map[string]string{
			"com.docker.network.bridge.name":                 name,
			"com.docker.network.bridge.enable_icc":           "false",
			"com.docker.network.bridge.enable_ip_masquerade": "true",
		},
		IPAM: &network.IPAM{Driver: "default", Config: []network.IPAMConfig{{Subnet: gatewayBridge4}}},
	})
	if err != nil {
		return failed(err, "create %s on %s", name, p.name)
	}
	return nil
}

// invite makes the other engines workers of the manager's swarm.
func (p *Private) invite(ctx context.Context, others []*Private) error {
	if len(others) == 0 {
		return nil
	}
	res, err := p.Engine.Client.SwarmInspect(ctx, client.SwarmInspectOptions{})
	if err != nil {
		return failed(err, "ask %s for the swarm's token", p.name)
	}
	for _, o := range others {
		_, err := o.Engine.Client.SwarmJoin(ctx, client.SwarmJoinOptions{
			ListenAddr: everywhere, AdvertiseAddr: o.Addr(false).String(), DataPathAddr: o.Addr(false).String(),
			RemoteAddrs: []string{netip.AddrPortFrom(p.Addr(false), swarmPort).String()}, JoinToken: res.Swarm.JoinTokens.Worker,
		})
		if err != nil {
			return failed(err, "swarm join on %s", o.name)
		}
	}
	return nil
}

// swarmReady is how long nodes may take to become ready. It takes a second or two, and more than a
// minute on an emulated machine.
const swarmReady = 2 * time.Minute

// awaitSwarm waits until all nodes are ready and have joined the network of published ports, which they
// do in the background.
func awaitSwarm(ctx context.Context, hosts []*Host) (s *Swarm, err error) {
	err = daemon.Until(ctx, swarmReady, func(ctx context.Context) (err error) {
		s, err = FindSwarm(ctx, hosts)
		for _, h := range hosts {
			if err == nil {
				err = h.hasIngress(ctx)
			}
		}
		return err
	})
	return s, err
}

// hasIngress returns an error if the engine has not joined the network of published ports.
func (h *Host) hasIngress(ctx context.Context) error {
	n, err := h.Engine.Client.NetworkInspect(ctx, Ingress, client.NetworkInspectOptions{})
	if err != nil {
		return failed(err, "inspect network %s of %s", Ingress, h.name)
	}
	if _, ok := n.Network.Containers["ingress-sbox"]; !ok {
		return fmt.Errorf("docker: %s has not joined the network %s", h.name, Ingress)
	}
	return nil
}

// Clear removes all services and containers of private engines, whoever made them, so that none of them
// outlives its engine. It leaves the user's engines alone.
func Clear(ctx context.Context, hosts []*Host) error {
	hosts = slices.DeleteFunc(slices.Clone(hosts), (*Host).Borrowed)
	return errors.Join(atonce.Each(-1, hosts, func(_ int, h *Host) error { return h.clear(ctx) })...)
}

func (h *Host) clear(ctx context.Context) error {
	var errs []error
	// Workers do not answer questions about services.
	if services, err := h.Engine.Client.ServiceList(ctx, client.ServiceListOptions{}); err == nil {
		for _, s := range services.Items {
			errs = append(errs, Object{Kind: "service", Name: s.Spec.Name, id: s.ID}.remove(ctx, h.Engine.Client))
		}
	}
	all, err := h.Engine.Client.ContainerList(ctx, client.ContainerListOptions{All: true})
	if err != nil {
		return failed(err, "list containers of %s", h.name)
	}
	for _, c := range all.Items {
		errs = append(errs, Object{Kind: "container", Name: c.ID, id: c.ID}.remove(ctx, h.Engine.Client))
	}
	return errors.Join(errs...)
}
