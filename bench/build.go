package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/procfs"

	dockerd "nettoll/docker/engine"
	"nettoll/docker/rootfs"
	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/network/kernel"
	"nettoll/platform"
	private "nettoll/platform/docker"
	"nettoll/platform/lab"
	"nettoll/record"
	"nettoll/workload"
	"nettoll/workload/engine"
)

const (
	containerCount = 1000
	containerRuns  = 3
	perHost        = 250 // containers that share a bridge
)

// containers makes a thousand containers with addresses on bridges, with nettoll and with ip -batch.
func containers(ctx context.Context, _ *work) error {
	var speed, memory ratios
	for range containerRuns {
		before, err := available()
		if err != nil {
			return err
		}
		begin := time.Now()
		close, err := byNettoll(ctx)
		if err != nil {
			return err
		}
		ours := time.Since(begin)
		after, err := available()
		if err != nil {
			return err
		}
		memory = append(memory, (before-after)/containerCount/1e6)
		if err := close(); err != nil {
			return err
		}
		theirs, err := byIP(ctx)
		if err != nil {
			return err
		}
		speed = append(speed, theirs.Seconds()/ours.Seconds())
		fmt.Fprintf(os.Stderr, "%d containers: nettoll %.2f s, ip -batch %.2f s\n", containerCount, ours.Seconds(), theirs.Seconds())
	}
	speed.show("ip -batch ÷ nettoll, time for 1,000 containers", true, 5)
	memory.show("memory of a container in MB", false, 0.5)
	return nil
}

// available returns the available memory of the machine, in bytes.
func available() (float64, error) {
	time.Sleep(2 * time.Second) // namespaces are removed in the background
	fs, err := procfs.NewFS("/proc")
	if err != nil {
		return 0, err
	}
	m, err := fs.Meminfo()
	if err != nil {
		return 0, err
	}
	return float64(*m.MemAvailableBytes), nil
}

func byNettoll(ctx context.Context) (close func() error, err error) {
	topo := network.Topology{Hosts: containerCount / perHost}
	s, err := plumb.BeginHosts(ctx, topo, lab.New())
	if err != nil {
		return nil, err
	}
	for _, h := range s.Hosts {
		_, err := s.Place(ctx, h, perHost)
		if err == nil {
			err = s.Bridge(ctx, h, "br0", 0, plumb.Attachment{Gateway: true})
		}
		if err != nil {
			return nil, s.Abandon(ctx, err)
		}
	}
	if err := s.Settle(ctx); err != nil {
		return nil, s.Abandon(ctx, err)
	}
	return func() error { return s.Close(ctx) }, nil
}

// byIP does the same with ip: one batch for all namespaces, one for each bridge with its pairs, and one in each
// container's namespace.
func byIP(ctx context.Context) (time.Duration, error) {
	dir, err := os.MkdirTemp("/run", "batch-*")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	var outside strings.Builder
	inside := make([]string, containerCount)
	var hosts []string
	for h := range containerCount / perHost {
		host := fmt.Sprintf("host%d", h)
		hosts = append(hosts, host)
		fmt.Fprintf(&outside, "netns add %s\n", host)
	}
	pairs := make([]strings.Builder, len(hosts))
	for h := range hosts {
		fmt.Fprintf(&pairs[h], "link add br0 type bridge\nlink set br0 up\naddr add %v dev br0\naddr add %v dev br0 nodad\n", gateway(h, false), gateway(h, true))
		for k := range perHost {
			i := h*perHost + k
			fmt.Fprintf(&outside, "netns add c%d\n", i)
			fmt.Fprintf(&pairs[h], "link add veth%d master br0 up type veth peer name eth0 netns c%d\n", k, i)
			inside[i] = fmt.Sprintf("link set lo up\naddr add %v/20 dev eth0\naddr add %v/64 dev eth0 nodad\nlink set eth0 up\nroute add default via %v\nroute add default via %v\n",
				plumb.ContainerAddr(h, k, false), plumb.ContainerAddr(h, k, true), plumb.Gateway(h, false), plumb.Gateway(h, true))
		}
	}
	defer func() {
		var del strings.Builder
		for i := range containerCount {
			fmt.Fprintf(&del, "netns del c%d\n", i)
		}
		for _, h := range hosts {
			fmt.Fprintf(&del, "netns del %s\n", h)
		}
		_ = ip(context.WithoutCancel(ctx), dir, del.String())
	}()
	begin := time.Now()
	if err := ip(ctx, dir, outside.String()); err != nil {
		return 0, err
	}
	for h, host := range hosts {
		if err := ip(ctx, dir, pairs[h].String(), "-n", host); err != nil {
			return 0, err
		}
	}
	for i, batch := range inside {
		if err := ip(ctx, dir, batch, "-n", fmt.Sprintf("c%d", i)); err != nil {
			return 0, err
		}
	}
	return time.Since(begin), nil
}

func gateway(h int, six bool) netip.Prefix {
	return netip.PrefixFrom(plumb.Gateway(h, six), plumb.Subnet(h, six).Bits())
}

func ip(ctx context.Context, dir, batch string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, outside)
	defer cancel()
	file := filepath.Join(dir, "batch")
	if err := os.WriteFile(file, []byte(batch), 0o600); err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, "ip", append(args, "-batch", file)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip -batch: %w: %s", err, out)
	}
	return nil
}

// Number of containers, large for one engine, and how often they are started each way.
const (
	dockerContainers = 20
	dockerRounds     = 5
)

// docker starts containers on the default bridge of a private engine, with nettoll and with the docker command, one
// right after the other.
func docker(ctx context.Context, _ *work) (err error) {
	_, missing := exec.LookPath("docker")
	if err := cmp.Or(missing, dockerd.Available()); err != nil {
		fmt.Fprintln(os.Stderr, "docker: left out:", err)
		return nil
	}
	agent, err := rootfs.Agent()
	if err != nil {
		return err
	}
	root, err := rootfs.New(agent)
	if err != nil {
		return err
	}
	p := private.New(private.Options{Run: "bench-docker", Image: dockerd.Image{Root: root}, Lab: lab.New()})
	defer func() { err = errors.Join(err, p.Close(context.WithoutCancel(ctx))) }()
	hosts, err := p.Engines(ctx, platform.HostRequest{Count: 1}, dockerd.Settings{})
	if err != nil {
		return err
	}
	h := hosts.Docker[0]
	image, err := h.Engine.Load(ctx)
	if err != nil {
		return err
	}
	var speed ratios
	for range dockerRounds {
		ours, err := startByNettoll(ctx, h)
		if err != nil {
			return err
		}
		theirs, err := startByDocker(ctx, h, image)
		if err != nil {
			return err
		}
		speed = append(speed, ours.Seconds()/theirs.Seconds())
		fmt.Fprintf(os.Stderr, "%d containers: nettoll %.2f s, docker run %.2f s\n", dockerContainers, ours.Seconds(), theirs.Seconds())
	}
	speed.show(fmt.Sprintf("nettoll ÷ docker run, time for %d containers", dockerContainers), false, 1)
	return nil
}

func startByNettoll(ctx context.Context, h *dockerd.Host) (time.Duration, error) {
	specs := slices.Repeat([]dockerd.Spec{{Mode: "bridge"}}, dockerContainers)
	begin := time.Now()
	_, err := h.Run(ctx, specs...)
	took := time.Since(begin)
	return took, errors.Join(err, h.Empty(ctx))
}

// startByDocker does the same with one docker run after the other. The containers keep running, since their agents
// wait for input (-i).
func startByDocker(ctx context.Context, h *dockerd.Host, image string) (time.Duration, error) {
	docker := func(args ...string) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, "docker", append([]string{"--host", h.Engine.Client.DaemonHost()}, args...)...)
		out, err := cmd.Output()
		if failed, ok := errors.AsType[*exec.ExitError](err); ok {
			err = fmt.Errorf("docker %s: %w: %s", args[0], err, failed.Stderr)
		}
		return strings.TrimSpace(string(out)), err
	}
	var ids []string
	var err error
	begin := time.Now()
	for range dockerContainers {
		var id string
		if id, err = docker("run", "-d", "-i", image, "agent"); err != nil {
			break
		}
		ids = append(ids, id)
	}
	took := time.Since(begin)
	if len(ids) > 0 {
		_, removed := docker(append([]string{"rm", "-f"}, ids...)...)
		err = errors.Join(err, removed)
	}
	return took, err
}

// Target times for a network with many neighbours.
const (
	buildAim  = 60.0 // in seconds, until it is built, silent and measured
	removeAim = 10.0 // in seconds, until nothing of it is left
)

// neighbours measures one trial over bridges with thousands of idle containers, and behind thousands of firewall
// rules: how long it takes until the trial is measured with the network at rest, and then until everything is
// removed. (With ip -batch and nft -f the same takes minutes; building is compared with ip -batch at 1,000
// containers.)
func neighbours(ctx context.Context, _ *work) error {
	for _, c := range []struct{ neighbours, rules int }{{4096, 0}, {1000, 10_000}} {
		name := fmt.Sprintf("%d neighbours, %d rules", c.neighbours, c.rules)
		ours, err := measureNeighbours(ctx, c.neighbours, c.rules)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Fprintf(os.Stderr, "%s: built in %.1f s, measured %.1f s later, removed in %.1f s\n",
			name, ours.built.Seconds(), (ours.measured - ours.built).Seconds(), ours.gone.Seconds())
		ratios{ours.measured.Seconds()}.show(name+": seconds until it is measured", false, buildAim)
		ratios{ours.gone.Seconds()}.show(name+": seconds until it is gone", false, removeAim)
	}
	return nil
}

// phases are times since the beginning, except gone, which is since the start of the removal.
type phases struct{ built, measured, gone time.Duration }

// timed returns a driver that records when its network is begun, built and closed.
func timed(d network.Driver, begun, built, closed *time.Time) network.Driver {
	connect := d.Connect
	d.Connect = func(ctx context.Context, topo network.Topology, p platform.Platform) (*network.Network, error) {
		*begun = time.Now()
		n, err := connect(ctx, topo, p)
		*built = time.Now()
		if err != nil {
			return nil, err
		}
		end := n.Close
		n.Close = func(ctx context.Context) error {
			*closed = time.Now()
			return end(ctx)
		}
		return n, nil
	}
	return d
}

func measureNeighbours(ctx context.Context, neighbours, rules int) (p phases, err error) {
	var begun, built, closed, saved time.Time
	k := known{hosts: 1, workloads: []string{record.TCPRR}, tools: []workload.Tool{engine.New()}, rounds: 1, duration: time.Second,
		names: []string{"bridge"}, how: []network.Driver{timed(kernel.Bridge(), &begun, &built, &closed)}}
	run, err := runOf("neighbours", k)
	if err != nil {
		return p, err
	}
	run.Cells[0].Neighbours, run.Cells[0].Rules = neighbours, rules
	var trial record.Trial
	l := lab.New()
	save := func(t record.Trial) error { trial, saved = t, time.Now(); return nil }
	if _, err := k.runner(l, run, save).Run(ctx); err != nil {
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
