package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"nettoll/docker/rootfs"
	"nettoll/internal/bootstrap"
	"nettoll/internal/emulated"
	"nettoll/plan"
	"nettoll/platform"
	"nettoll/platform/docker"
	"nettoll/platform/ssh"
	"nettoll/record"
	"nettoll/workload"
)

// machineFlags selects the machines of the user's that nettoll reaches by ssh, and what it may do there.
type machineFlags struct {
	targets   []string
	sudo      bool
	addresses []string
	through   bool
	ceiling   string

	addressOf map[string]netip.Addr // parsed addresses, by the names of machines and engines
	rate      uint64                // parsed ceiling, in bit/s; 0 means none
	on        *ssh.SSH              // opened once
}

const maxRate = "max-rate"

func (f *machineFlags) add(fl *pflag.FlagSet) {
	fl.StringSliceVar(&f.targets, "hosts-ssh", nil, "machines of networks such as ssh:native, as ssh takes them: a,me@b; the servers are on the first")
	fl.BoolVar(&f.sudo, "sudo", false, "run as root on them, by sudo without a password")
	fl.StringSliceVar(&f.addresses, "address", nil, "addresses by which they, or engines, reach each other, such as a=10.0.0.1,me@b=10.0.0.2 (default: found out)")
	fl.BoolVar(&f.through, "through-my-network", false, "send traffic between them, or between engines, through your own network")
	fl.StringVar(&f.ceiling, maxRate, "", "most payload that may be sent through your own network, such as 100M (bit/s, all flows of a trial together; default: no limit)")
}

// machineFlagNames are the flags that mean nothing without a network between machines, and reachFlagNames those of them
// that mean nothing without machines that are reached by ssh.
var (
	machineFlagNames = append(slices.Clone(reachFlagNames), "address", "through-my-network", maxRate)
	reachFlagNames   = []string{"hosts-ssh", "sudo"}
)

// onMachines reports whether a network is between machines that are reached by ssh.
func onMachines(network string) bool { return isOn[*ssh.SSH](network) }

// ofMachines returns the cells whose networks are between such machines.
func ofMachines(cells []record.Cell) []record.Cell { return cellsOn[*ssh.SSH](cells) }

// crosses reports whether a cell sends through the user's own network: between machines, or between the machines of the
// user's engines. Other networks on several engines of the user are not built.
func (f *runFlags) crosses(c record.Cell) bool {
	if c.Hosts < 2 {
		return false
	}
	return onMachines(c.Network) || f.onOwnEngines(c) && betweenMachines(c.Network)
}

// onOwnEngines reports whether a cell is measured on engines of the user, of which there are enough.
func (f *runFlags) onOwnEngines(c record.Cell) bool {
	return !f.private && onEngines(c.Network) && c.Hosts <= len(f.at)
}

// across returns the cells that send through the user's own network.
func (f *runFlags) across(cells []record.Cell) []record.Cell {
	return record.Those(cells, f.crosses)
}

// suitMachines finds mistakes in the flags for a run of the cells.
func (f *runFlags) suitMachines(cells []record.Cell) error {
	m, of := &f.machineFlags, ofMachines(cells)
	across := f.across(cells)
	if len(of) == 0 {
		idle := machineFlagNames
		if len(across) > 0 {
			idle = reachFlagNames
		}
		if err := f.without("between machines", "ssh:native", idle...); err != nil {
			return err
		}
	} else if err := f.suitTargets(of); err != nil {
		return err
	}
	var err error
	if m.addressOf, err = f.addressed(len(ofEngines(across)) > 0); err != nil {
		return err
	}
	if ours := ofMachines(across); len(ours) > 0 && len(m.targets) == 1 {
		return usagef("%s is between machines, and --hosts-ssh names one; name another, as in --hosts-ssh %s,b", ours[len(ours)-1].Network, m.targets[0])
	}
	if len(across) > 0 && !m.through {
		last, ends := across[len(across)-1].Network, m.targets // the first may be a baseline that nobody named
		if !onMachines(last) {
			ends = f.at
		}
		bounds := ", and --" + maxRate + " 100M bounds it"
		if f.resume != "" { // it keeps to the bound that it began with
			bounds = ""
		}
		return usagef("%s sends its traffic through the network between %s, which others may use: --through-my-network allows it%s",
			last, strings.Join(ends, " and "), bounds)
	}
	if len(across) == 0 && (m.through || m.ceiling != "") {
		flag := "through-my-network"
		if !m.through {
			flag = maxRate
		}
		return usagef("--%s: no network of this run is between machines; name two with --hosts-ssh, or their engines with --docker-host, or leave it out", flag)
	}
	return nil
}

// suitTargets finds mistakes in what the flags say about the machines of cells between them.
func (f *runFlags) suitTargets(of []record.Cell) error {
	m := &f.machineFlags
	if len(m.targets) == 0 {
		return usagef("%s: on which machines? Name them as ssh takes them: --hosts-ssh a,b", of[0].Network)
	}
	if f.private {
		return usagef("--private-engine starts engines in a lab, from which your machines cannot be reached; measure %s in a run of its own", of[0].Network)
	}
	if err := m.checkTargets(); err != nil {
		return err
	}
	used := slices.Max(record.Each(of, func(c record.Cell) int { return c.Hosts }))
	if n := len(m.targets); n > used && f.resume == "" {
		return usagef("--hosts-ssh names %d machines, and this run uses only the first %d; leave the others out, or have clients on all but the first with --hosts %[1]d and --clients %[3]d or more", n, used, n-1)
	}
	return nil
}

// checkTargets finds mistakes in the names of the machines.
func (m *machineFlags) checkTargets() error {
	for i, t := range m.targets {
		switch {
		case t == "" || strings.HasPrefix(t, "-") || strings.ContainsAny(t, " \t\n"):
			return usagef("--hosts-ssh %q: that is not the name of a machine", t)
		case slices.Contains(m.targets[:i], t):
			return usagef("--hosts-ssh: %s is named twice", t)
		}
	}
	return nil
}

// sameTargets refuses to resume a run with other machines than its trials were on, or with these in another order: trials of
// both directions, or of several pairs of machines, would be taken for rounds of one comparison.
func (m *machineFlags) sameTargets(trials []record.Trial) error {
	is := map[string]string{}
	for i, t := range m.targets {
		is[fmt.Sprintf("h%d", i+1)] = t
	}
	for _, trial := range trials {
		for _, e := range trial.Endpoints {
			was, ok := ssh.Target(e.Platform)
			if ok && was != is[e.Host] && onMachines(trial.Cell.Network) {
				return usagef("--resume: %s of this run was %s; name the same machines in the same order with --hosts-ssh, or begin another run", e.Host, was)
			}
		}
	}
	return nil
}

// addressed returns the addresses that --address gives to machines, and to engines if traffic is sent between these.
func (f *runFlags) addressed(betweenEngines bool) (map[string]netip.Addr, error) {
	names, flags := f.targets, "--hosts-ssh does not name"
	if betweenEngines {
		names, flags = slices.Concat(names, f.at), "--docker-host does not name"
		if len(f.targets) > 0 {
			flags = "neither --hosts-ssh nor --docker-host names"
		}
	}
	all := map[string]netip.Addr{}
	for _, text := range f.addresses {
		at := strings.LastIndex(text, "=")
		if at < 0 {
			return nil, usagef("--address %s: write MACHINE=ADDRESS, such as %s=10.0.0.1", text, names[0])
		}
		name := text[:at]
		if !slices.Contains(names, name) {
			return nil, usagef("--address %s: %s %s%s", text, flags, name, nearest(name, names))
		}
		a, err := netip.ParseAddr(text[at+1:])
		if err != nil {
			return nil, usagef("--address %s: %q is no IP address", text, text[at+1:])
		}
		if other, there := all[name]; there && other != a {
			return nil, usagef("--address: %s and %s contradict each other for %s; leave one of them out", other, a, name)
		}
		all[name] = a
	}
	return all, nil
}

// onMachinesThere leaves out networks on more hosts than the user has named machines and, if several are named, networks
// on one, unless numbers of hosts were requested or nothing else is left. It adds them to the suite's skips.
func (f *runFlags) onMachinesThere(s *plan.Suite, cells []record.Cell) []record.Cell {
	if len(f.targets) == 0 || len(s.Hosts) > 0 {
		return cells
	}
	fits := func(c record.Cell) bool { return !onMachines(c.Network) || c.Hosts <= len(f.targets) }
	// A user who names several machines asks about the networks between them.
	if len(f.targets) > 1 {
		fits = func(c record.Cell) bool { return !onMachines(c.Network) || 1 < c.Hosts && c.Hosts <= len(f.targets) }
	}
	return leaveOut(s, cells, func(c record.Cell) bool { return !fits(c) },
		func(record.Cell) string { return fmt.Sprintf("--hosts-ssh names %d", len(f.targets)) })
}

// busiest is how many transactions per second one flow completes at most, over the fastest network between machines, and
// wireOverhead how many bytes of headers each of its packets has, with the gap between frames.
const (
	busiest      = 50_000
	wireOverhead = 90
)

// hold bounds what cells send through the user's own network by the ceiling: streams are paced, and workloads that
// cannot be are refused unless they cannot reach it. Cells that differed in a rate beyond it become one.
func (f *runFlags) hold(cells []record.Cell, by map[string]workload.Tool) ([]record.Cell, error) {
	if f.ceiling == "" {
		return cells, nil
	}
	rate, err := plan.ParseBitRate(f.ceiling)
	if err != nil {
		return nil, usagef("--%s: %w", maxRate, err)
	}
	if rate < 1 {
		return nil, usagef("--%s %s: at least 1 bit/s is needed", maxRate, f.ceiling)
	}
	f.rate = uint64(rate)
	held := map[record.Cell]bool{} // also networks of the lab that are compared with such that cross
	for _, c := range cells {
		if f.crosses(c) || f.crosses(c.Against()) {
			held[c], held[c.Against()] = true, true
		}
	}
	for i := range cells {
		c := &cells[i]
		if !held[*c] {
			continue
		}
		flows := c.Pairs() * max(c.Options.Streams, 1)
		switch {
		case paces(by[c.Tool], *c):
			each := int(f.rate) / flows
			if each < 1 {
				return nil, usagef("--%s %s: %d flows share it, which is less than 1 bit/s for each", maxRate, f.ceiling, flows)
			}
			if c.Options.Bandwidth == 0 || c.Options.Bandwidth > each {
				c.Options.Bandwidth = each
			}
		case c.Workload == record.TCPRR || c.Workload == record.UDPRR || c.Workload == record.PacedRR:
			each := busiest
			if c.Workload == record.PacedRR {
				each = cmp.Or(c.Options.Rate, record.DefaultRate)
			}
			most := flows * each * 8 * (max(c.Options.RequestSize, c.Options.ResponseSize, 1) + wireOverhead)
			if uint64(most) > f.rate {
				return nil, usagef("--%s %s: %s can send up to %vbit/s there; use paced_rr with a --rate, fewer clients, smaller requests, or a higher ceiling",
					maxRate, f.ceiling, workloadText(*c), plan.BitRate(most))
			}
		default:
			return nil, usagef("--%s %s: %s by %s cannot be held to a rate; measure tcp_stream, udp_stream or paced_rr by the engine there", maxRate, f.ceiling, workloadText(*c), c.Tool)
		}
	}
	return record.Distinct(cells, func(c record.Cell) record.Cell { return c }), nil
}

// paces reports whether a tool holds the streams of a cell to a rate.
func paces(t workload.Tool, c record.Cell) bool {
	return slices.ContainsFunc(t.Drives, func(d workload.Drive) bool {
		return d.Workload == c.Workload && slices.Contains(d.Options, "bandwidth")
	})
}

// agents finds the agent for each kind of machine.
var agents = &bootstrap.Agents{File: func(arch string) (string, error) {
	p, err := rootfs.AgentFor(arch)
	return p.File, err
}}

// sent are the tools that are sent to machines and pods.
var sent = &bootstrap.Tools{Files: rootfs.Files}

// machines returns the platform of the machines, always the same one.
func (m *machineFlags) machines() *ssh.SSH {
	if m.on == nil {
		m.on = ssh.New(ssh.Options{Targets: m.targets, Sudo: m.sudo, At: m.addressOf, Agents: agents, Tools: sent})
	}
	return m.on
}

// reach logs in to the machines, before anything is measured, and says what will be sent where. What is sent between engines
// survey says, which makes containers on them, as a dry run does not.
func (a *app) reach(ctx context.Context, f *runFlags, cells []record.Cell) error {
	if across := ofEngines(f.across(cells)); f.dryRun && len(across) > 0 {
		a.announce(f, across, strings.Join(f.at, " and "))
	}
	of := ofMachines(cells)
	if len(of) == 0 {
		return nil
	}
	on := f.machines()
	fmt.Fprintf(a.stderr, "logging in to %s\n", strings.Join(f.targets, ", "))
	if err := on.Probe(ctx); err != nil {
		return err
	}
	if err := a.equip(ctx, on, of); err != nil {
		return err
	}
	if across := ofMachines(f.across(cells)); len(across) > 0 {
		a.announce(f, across, on.Ways()...)
	}
	return nil
}

// surveyTime is how long an engine may take to start a container, which may have to be sent to it first.
const surveyTime = 2 * time.Minute

// survey finds the network between the user's engines, before anything is measured, and says what will be sent where.
func (a *app) survey(ctx context.Context, f *runFlags, e engines, cells []record.Cell) error {
	across := ofEngines(f.across(cells))
	if len(across) == 0 {
		return nil
	}
	all := recipes(e)
	limit := emulated.Patience(time.Duration(len(f.at)) * surveyTime)
	for _, on := range []*docker.Docker{e.docker, e.swarm} {
		prefix := on.Info().Name + ":"
		of := record.Those(across, func(c record.Cell) bool { return strings.HasPrefix(c.Network, prefix) })
		if len(of) == 0 {
			continue
		}
		// A swarm knows the way of its overlays, whether or not nettoll does.
		knows := on == e.swarm && slices.ContainsFunc(of, func(c record.Cell) bool { return !all[c.Network].Driver.Around.Open })
		within, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the network between %s was not found within %v", strings.Join(f.at, " and "), limit))
		defer cancel()
		ways, err := on.Ways(within)
		switch {
		case err == nil:
			a.announce(f, of, ways...)
		case ctx.Err() != nil:
			return ctx.Err()
		case within.Err() != nil:
			return context.Cause(within)
		case knows && errors.Is(err, platform.ErrUnsupported):
			a.announce(f, of, strings.Join(f.at, " and "))
			fmt.Fprintf(a.stderr, "note: only overlays can be measured there: %s\n", told(withRemedy(err).Error()))
		default:
			return withRemedy(err)
		}
	}
	return nil
}

// announce says what cells send through the user's own network, on each of the ways.
func (a *app) announce(f *runFlags, cells []record.Cell, ways ...string) {
	bound := "as fast as it goes"
	if most := cmp.Or(f.rate, held(cells)); most > 0 {
		bound = fmt.Sprintf("at most %vbit/s of payload", plan.BitRate(most))
	}
	for _, way := range ways {
		fmt.Fprintf(a.stderr, "through your network: %s between %s: %s\n", strings.Join(record.Distinct(cells, workloadText), ", "), told(way), bound)
	}
}

// held returns the highest of the rates, in bit/s, that cells are held to; 0 if one of them is held to none. A run that is
// resumed has cells that were held to its ceiling.
func held(cells []record.Cell) (most uint64) {
	for _, c := range cells {
		if c.Options.Bandwidth == 0 {
			return 0
		}
		most = max(most, uint64(c.Pairs()*max(c.Options.Streams, 1)*c.Options.Bandwidth))
	}
	return most
}

// equip sends the tools of cells to machines that lack them, before any trial, whose time would include it. Where that
// cannot be done, the trials say why.
func (a *app) equip(ctx context.Context, on *ssh.SSH, cells []record.Cell) error {
	all := toolByName(a.paths)
	for _, name := range record.Distinct(cells, toolOf) {
		if all[name].Pack == nil {
			continue
		}
		pack, err := all[name].Pack()
		if err != nil {
			continue
		}
		fmt.Fprintf(a.stderr, "sending %s to machines that lack it\n", name)
		for _, path := range pack.Programs {
			if err := on.Send(ctx, path, len(pack.Data) == 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// part ends the agents on the machines.
func (m *machineFlags) part(ctx context.Context) error {
	if m.on == nil {
		return nil
	}
	return m.on.Close(context.WithoutCancel(ctx))
}

// hostsOf returns the machines that a configuration of ssh names, without patterns.
func hostsOf(config string) (names []string) {
	for line := range strings.Lines(config) {
		words := strings.Fields(strings.Replace(line, "=", " ", 1))
		if len(words) == 0 || !strings.EqualFold(words[0], "host") {
			continue
		}
		plain := func(name string) bool { return !strings.ContainsAny(name, "*?!\"") }
		names = record.AddNew(names, record.Those(words[1:], plain)...)
	}
	return names
}
