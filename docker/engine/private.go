package engine

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/moby/moby/client"

	"nettoll/internal/cgroup"
	"nettoll/internal/daemon"
	"nettoll/internal/netns"
	"nettoll/internal/nsexec"
	"nettoll/internal/program"
	"nettoll/internal/undo"
	"nettoll/internal/wrap"
	"nettoll/platform"
)

// Settings are the options of an engine that is started for a measurement.
type Settings struct {
	NoICC      bool // --icc=false
	NoIPTables bool // --iptables=false: only docker-proxy publishes ports
	NFTables   bool // --firewall-backend=nftables: its rules are in tables of nftables of its own; since Docker 29
}

// String returns the options by which the settings differ from dockerd's defaults.
func (s Settings) String() string {
	var all []string
	if s.NoICC {
		all = append(all, "--icc=false")
	}
	if s.NoIPTables {
		all = append(all, "--iptables=false", "--ip6tables=false")
	}
	if s.NFTables {
		all = append(all, nftables)
	}
	return strings.Join(all, " ")
}

// nftables is the option of dockerd for rules in tables of nftables.
const nftables = "--firewall-backend=nftables"

// Supported returns an error if the dockerd of this machine has no such settings.
func (s Settings) Supported(ctx context.Context) error {
	if !s.NFTables {
		return nil
	}
	path, err := exec.LookPath("dockerd")
	if err != nil {
		return Available()
	}
	help, err := program.Say(ctx, path, "--help")
	if option, _, _ := strings.Cut(nftables, "="); err != nil || strings.Contains(help, option) {
		return wrap.Error(err, "docker")
	}
	return &platform.Unsupported{Feature: "an engine with rules of nftables", Option: "Docker Engine 29 or later", Remedy: "install Docker Engine 29 or later (docs.docker.com/engine/install)"}
}

// Private is an engine that nettoll runs, on a host that was made for it.
type Private struct {
	*Host
	daemon *daemon.Daemon
	stack  undo.Stack
}

// The addresses of private engines' own networks: parts of 198.19.0.0/16 and 2001:2::/48 that the
// address plan of internal/plumb does not use.
var (
	defaultBridge4 = netip.MustParsePrefix("198.19.240.1/21")
	defaultBridge6 = netip.MustParsePrefix("2001:2:0:100::/64")
)

// How long dockerd may take to answer first, and to end by itself.
const (
	ready    = 90 * time.Second
	stopTime = 10 * time.Second
)

// apart is what a private engine finds in mounts of its own, whatever its command line says. Settings for the machine's own engine
// in /etc/docker would change the measurement, or end a private one, which also writes its key there. In /var/lib/docker it would
// leave files of load balancers (libnetwork has that path). And it would raise the limits of root's keys (daemon/keys.go).
var apart = daemon.Apart{
	Empty:    []string{"/etc/docker", "/var/lib/docker"},
	Tunables: map[string]string{"kernel/keys/root_maxkeys": "1000000", "kernel/keys/root_maxbytes": "25000000"},
}

// Available returns an error if private engines cannot be started here.
func Available() error {
	docker := platform.Install("docker.io") + ", or put dockerd, containerd and runc into PATH"
	for _, p := range [][2]string{
		{"dockerd", docker}, {"containerd", docker}, {"runc", docker},
		{"unshare", platform.Install("util-linux")}, {"mount", platform.Install("mount")},
	} {
		if _, err := exec.LookPath(p[0]); err != nil {
			return &platform.Unsupported{Feature: "a private Docker engine", Program: p[0], Remedy: p[1]}
		}
	}
	if os.Geteuid() != 0 {
		return &platform.Unsupported{Feature: "a private Docker engine", Option: "root", Remedy: "run as root, or use an engine that is already running"}
	}
	return nil
}

// StartPrivate runs dockerd on a host of the lab, with its data root in memory. Everything in the lab's
// namespaces is removed with them, whatever happens.
func StartPrivate(ctx context.Context, under platform.Host, index int, run string, image Image, s Settings) (*Private, error) {
	if err := Available(); err != nil {
		return nil, err
	}
	p := &Private{Host: &Host{Index: index, name: under.Name(), under: under, settings: s, here: true}}
	c, err := p.begin(ctx, run, s)
	if err != nil {
		return nil, p.stack.Abandon(ctx, fmt.Errorf("docker: private engine on %s: %w", under.Name(), err))
	}
	p.Engine = NewEngine(c, run, image)
	p.Engine.private = true
	p.stack.Push("the engine of "+p.name, func(ctx context.Context) error {
		err := p.Empty(ctx)
		p.Engine.deaths.stop()
		return errors.Join(err, c.Close())
	})
	return p, nil
}

// begin starts dockerd and returns its client.
func (p *Private) begin(ctx context.Context, run string, s Settings) (*client.Client, error) {
	dir, err := daemon.State(&p.stack)
	if err != nil {
		return nil, err
	}
	if leaves := p.under.Facts().Leaves; leaves != nil { // before it is made: this process may be killed any moment
		if err := leaves(cgroup.Of(run)); err != nil {
			return nil, fmt.Errorf("name the control group to the lab: %w", err)
		}
	}
	if f := cgroup.Hold(run); f != nil { // as long as the engine can make containers
		p.stack.Push("the lock of its control group", func(context.Context) error { return f.Close() })
	}
	// An engine that finds forwarding off turns it on, and drops everything that is not its own.
	for _, key := range []string{"net/ipv4/ip_forward", "net/ipv6/conf/all/forwarding"} {
		if err := netns.SetSysctl(p.NetNS(), key, "1"); err != nil {
			return nil, err
		}
	}
	socket := "unix://" + filepath.Join(dir, "docker.sock")
	p.sandboxes = filepath.Join(dir, "exec", "netns")
	args := []string{
		"--data-root", filepath.Join(dir, "data"), "--exec-root", filepath.Join(dir, "exec"),
		"--host", socket, "--pidfile", filepath.Join(dir, "pid"), "--log-level", "warn",
		"--cgroup-parent", "/" + cgroup.Of(run), "--storage-driver", "overlay2",
		"--bip", defaultBridge4.String(), "--ipv6", "--fixed-cidr-v6", defaultBridge6.String(), "--experimental",
	}
	if !s.NoIPTables {
		args = append(args, "--ip6tables")
	}
	if mtu := p.Uplink().MTU; mtu != 0 {
		args = append(args, "--mtu", strconv.Itoa(mtu))
	}
	path, args, err := apart.Command(dir, "dockerd", append(args, strings.Fields(s.String())...)...)
	if err != nil {
		return nil, err
	}
	env, err := daemon.Temporary(dir)
	if err != nil {
		return nil, err
	}
	c, err := client.New(client.WithHost(socket))
	if err != nil {
		return nil, err
	}
	p.daemon, err = daemon.Start(ctx, &p.stack, p.under, daemon.Spec{
		Name: "dockerd", Path: path, Args: args, Env: env, Patience: ready, Grace: stopTime,
		Ready: func(ctx context.Context) error {
			asking, cancel := context.WithTimeout(ctx, answerTime) // an engine that does not answer is asked again
			defer cancel()
			_, err := c.Ping(asking, client.PingOptions{NegotiateAPIVersion: true})
			return brief(err)
		},
	})
	if err == nil && !s.NoIPTables && !s.NFTables {
		// An engine with ip6tables drops IPv6 packets for which it has no rule, whether or not forwarding was
		// on before: bridges that networks make on its host would carry only IPv4.
		err = nsexec.Run(ctx, p, platform.Command{Path: "ip6tables", Args: []string{"--wait", "--policy", "FORWARD", "ACCEPT"}})
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Stop ends the engine, and everything that runs on it.
func (p *Private) Stop() error {
	ctx, cancel := asking()
	defer cancel()
	return p.stack.Close(ctx)
}
