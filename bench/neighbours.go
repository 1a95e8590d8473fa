package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/platform"
	"nettoll/platform/lab"
	"nettoll/record"
	"nettoll/runner"
	"nettoll/sampler"
	"nettoll/technique"
	"nettoll/technique/bridge"
	"nettoll/workload"
	"nettoll/workload/engine"
)

// Times that are aimed at, for a network with many neighbours.
const (
	buildAim  = 60.0 // seconds until it is built, silent and measured
	removeAim = 10.0 // seconds until nothing of it is left
)

// neighbours measures one trial over bridges with thousands of containers that do not talk,
// and with thousands of firewall rules in front of them: how long it takes until it is
// measured at rest, and then until all is gone, beside ip -batch and nft -f.
func neighbours(ctx context.Context) error {
	for _, c := range []struct{ neighbours, rules int }{{4096, 0}, {1000, 10_000}} {
		name := fmt.Sprintf("%d neighbours, %d rules", c.neighbours, c.rules)
		ours, err := measureNeighbours(ctx, c.neighbours, c.rules)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		theirs, err := makeByIP(ctx, c.neighbours+2, c.rules)
		if err != nil {
			return fmt.Errorf("%s by ip: %w", name, err)
		}
		fmt.Fprintf(os.Stderr, "%s: nettoll built it in %.1f s, measured it %.1f s later, removed it in %.1f s; ip -batch made it in %.1f s, and it was gone in %.1f s\n",
			name, ours.built.Seconds(), (ours.measured - ours.built).Seconds(), ours.gone.Seconds(), theirs.built.Seconds(), theirs.gone.Seconds())
		ratios{ours.measured.Seconds()}.show(name+": seconds until it is measured", false, buildAim)
		ratios{ours.gone.Seconds()}.show(name+": seconds until it is gone", false, removeAim)
		ratios{theirs.built.Seconds() / ours.built.Seconds()}.show("ip -batch ÷ nettoll, time to build that", true, 1)
		ratios{theirs.gone.Seconds() / ours.gone.Seconds()}.show("ip -batch ÷ nettoll, time until that is gone", true, 1)
	}
	return nil
}

// phases are times from the beginning, but for gone, which is from when the removal begins.
type phases struct{ built, measured, gone time.Duration }

// timed is a technique that tells when its network is begun, built and closed.
type timed struct {
	technique.Technique
	begun, built, closed *time.Time
}

func (t timed) Connect(ctx context.Context, topo technique.Topology, p platform.Platform) (technique.Network, error) {
	*t.begun = time.Now()
	n, err := t.Technique.Connect(ctx, topo, p)
	*t.built = time.Now()
	return timedNetwork{n, t.closed}, err
}

type timedNetwork struct {
	technique.Network
	closed *time.Time
}

func (n timedNetwork) Machines() []platform.Host {
	return n.Network.(interface{ Machines() []platform.Host }).Machines()
}

func (n timedNetwork) Close(ctx context.Context) error {
	*n.closed = time.Now()
	return n.Network.Close(ctx)
}

func measureNeighbours(ctx context.Context, neighbours, rules int) (p phases, err error) {
	m, err := sampler.Machine("/proc", "/sys")
	if err != nil {
		return p, err
	}
	l := lab.New()
	var begun, built, closed, saved time.Time
	var trial record.Trial
	r := &runner.Runner{
		Networks: map[string]runner.Recipe{"bridge": {Platform: l, Technique: timed{bridge.New(), &begun, &built, &closed}}},
		Tools:    map[string]workload.Tool{"engine": engine.New()},
		Machine:  m,
		Settings: record.Settings{Duration: 1, Warmup: 0.2, MinRounds: 1, MaxRounds: 1, Confidence: 0.95, Seed: 1},
		Cells: []record.Cell{{
			Network: "bridge", Hosts: 1, Family: 4, Servers: 1, Clients: 1, Neighbours: neighbours, Rules: rules,
			Tool: "engine", Workload: record.TCPRR, Placement: record.PlacementDistinct,
		}},
		Save:   func(t record.Trial) error { trial, saved = t, time.Now(); return nil },
		Enough: func([]record.Trial) map[string]bool { return nil },
	}
	if _, err := r.Run(ctx); err != nil {
		return p, err
	}
	if err := l.Gone(ctx); err != nil {
		return p, err
	}
	if trial.Status != record.OK {
		return p, fmt.Errorf("%s: %s", trial.Status, trial.Reason)
	}
	return phases{built.Sub(begun), saved.Sub(begun), time.Since(closed)}, nil
}

// makeByIP makes as many containers on bridges with ip -batch, then the rules with nft -f,
// and removes all of it.
func makeByIP(ctx context.Context, containers, rules int) (p phases, err error) {
	dir, err := os.MkdirTemp("/run", "batch-*")
	if err != nil {
		return p, err
	}
	defer os.RemoveAll(dir)
	const host, ports = "many", 900
	var outside, pairs, del strings.Builder
	inside := make([]string, containers)
	fmt.Fprintf(&outside, "netns add %s\n", host)
	for i := range containers {
		fmt.Fprintf(&outside, "netns add c%d\n", i)
		if i%ports == 0 {
			fmt.Fprintf(&pairs, "link add br%d type bridge\nlink set br%d up\n", i/ports, i/ports)
		}
		fmt.Fprintf(&pairs, "link add veth%d master br%d up type veth peer name eth0 netns c%d\n", i, i/ports, i)
		inside[i] = fmt.Sprintf("link set lo up\naddr add %v/16 dev eth0\naddr add %v/56 dev eth0 nodad\nlink set eth0 up\n",
			plumb.ContainerAddr(i/4000, i%4000, false), plumb.ContainerAddr(i/4000, i%4000, true))
		fmt.Fprintf(&del, "netns del c%d\n", i)
	}
	fmt.Fprintf(&del, "netns del %s\n", host)
	begin := time.Now()
	if err := ip(ctx, dir, outside.String()); err != nil {
		return p, err
	}
	err = ip(ctx, dir, pairs.String(), "-n", host)
	for i, batch := range inside {
		if err == nil {
			err = ip(ctx, dir, batch, "-n", fmt.Sprintf("c%d", i))
		}
	}
	if err == nil && rules > 0 {
		err = rulesByNFT(ctx, dir, host, rules)
	}
	p.built = time.Since(begin)
	// Of what goes last the other end stays, as long as it is there.
	err = errors.Join(err, ip(ctx, dir, "link add witness type veth peer name witness netns "+host+"\n"))
	begin = time.Now()
	err = errors.Join(err, ip(context.WithoutCancel(ctx), dir, del.String()))
	for err == nil {
		var there bool
		if there, err = nl.HasDevice("", "witness"); !there {
			break
		}
		select {
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-time.After(10 * time.Millisecond):
		}
	}
	p.gone = time.Since(begin)
	return p, err
}

func rulesByNFT(ctx context.Context, dir, host string, rules int) error {
	var b strings.Builder
	b.WriteString("table inet many {\nchain four {\n")
	for k := range rules {
		fmt.Fprintf(&b, "ip daddr 240.%d.%d.%d counter drop\n", k>>16, k>>8&255, k&255)
	}
	b.WriteString("}\nchain six {\n")
	for k := range rules {
		fmt.Fprintf(&b, "ip6 daddr 2001:2:0:fffe::%x counter drop\n", k)
	}
	b.WriteString("}\nchain forward {\ntype filter hook forward priority filter;\nmeta nfproto ipv4 jump four\nmeta nfproto ipv6 jump six\n}\n}\n")
	file := filepath.Join(dir, "rules")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, outside)
	defer cancel()
	out, err := exec.CommandContext(ctx, "ip", "netns", "exec", host, "nft", "-f", file).CombinedOutput()
	if err != nil {
		return fmt.Errorf("nft -f: %w: %s", err, out)
	}
	return nil
}
