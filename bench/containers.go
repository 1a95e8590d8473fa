package main

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/procfs"

	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/platform/lab"
)

const (
	containerCount = 1000
	containerRuns  = 3
	perHost        = 250 // bridges are shared by so many
)

// containers makes a thousand containers with addresses on bridges, as nettoll
// does and with ip -batch.
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

// available is the memory of the machine that is not in use, in bytes.
func available() (float64, error) {
	time.Sleep(2 * time.Second) // namespaces go in the background
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
		br, err := s.AddBridge(h, "br0", 0, true)
		if err != nil {
			return nil, s.Abandon(ctx, err)
		}
		nodes, err := s.Place(ctx, h, perHost)
		if err == nil {
			err = br.Attach(ctx, s, nodes, plumb.Plug{Gateway: true})
		}
		if err != nil {
			return nil, s.Abandon(ctx, err)
		}
	}
	return func() error { return s.Close(ctx) }, nil
}

// byIP does the same with ip: one batch for the namespaces and the pairs of each
// bridge, and one in each namespace.
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
