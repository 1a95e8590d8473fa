package dockerd

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
	"golang.org/x/sys/unix"

	"nettoll/internal/emulated"
	"nettoll/internal/netns"
	"nettoll/internal/process"
	"nettoll/platform"
)

// Settings are the options of an engine that is started for a measurement.
type Settings struct {
	NoICC      bool // --icc=false
	NoIPTables bool // --iptables=false: ports are published by docker-proxy alone
	Swarm      bool // the engines are nodes of one swarm; no option of dockerd's
}

// String is how the settings differ from dockerd's own.
func (s Settings) String() string {
	var all []string
	if s.NoICC {
		all = append(all, "--icc=false")
	}
	if s.NoIPTables {
		all = append(all, "--iptables=false", "--ip6tables=false")
	}
	return strings.Join(all, " ")
}

// Private is an engine of nettoll's own, on a host that was made for it.
type Private struct {
	*Host
	proc   platform.Process
	dir    string
	log    process.Tail
	cgroup *os.File // as long as the engine can make containers, see HoldCgroup
}

// The addresses of private engines' own networks: what the address plan of
// internal/plumb leaves free of 198.19.0.0/16 and 2001:2::/48.
var (
	defaultBridge4 = netip.MustParsePrefix("198.19.240.1/21")
	defaultBridge6 = netip.MustParsePrefix("2001:2:0:100::/64")
)

// ready is how long dockerd may take until it answers.
const ready = 30 * time.Second

// Available says whether private engines can be started here.
func Available() error {
	for _, program := range []string{"dockerd", "containerd", "runc"} {
		if _, err := exec.LookPath(program); err != nil {
			return &platform.Unsupported{
				Feature: "a private Docker engine", Option: "the program " + program,
				Remedy: "apt install docker.io, or put dockerd, containerd and runc into PATH",
			}
		}
	}
	if os.Geteuid() != 0 {
		return &platform.Unsupported{Feature: "a private Docker engine", Option: "root", Remedy: "run as root, or use an engine that runs"}
	}
	return nil
}

// StartPrivate runs dockerd on a host of the lab, with a data root in memory. What is
// in the lab's namespaces goes with them, whatever happens.
func StartPrivate(ctx context.Context, under platform.Host, index int, run string, image Image, s Settings) (*Private, error) {
	if err := Available(); err != nil {
		return nil, err
	}
	p := &Private{Host: &Host{Index: index, name: under.Name(), under: under, settings: s, here: true}}
	if err := p.begin(ctx, run, s); err != nil {
		return nil, errors.Join(fmt.Errorf("docker: private engine on %s: %w", under.Name(), err), p.Stop())
	}
	c, err := client.New(client.WithHost("unix://" + p.socket()))
	if err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	if err := p.await(ctx, c); err != nil {
		return nil, errors.Join(fmt.Errorf("docker: private engine on %s: %w", under.Name(), err), c.Close(), p.Stop())
	}
	if err := p.letThrough(ctx, s); err != nil {
		return nil, errors.Join(fmt.Errorf("docker: private engine on %s: %w", under.Name(), err), c.Close(), p.Stop())
	}
	p.Engine = NewEngine(c, run, image)
	return p, nil
}

// letThrough takes back that an engine with ip6tables drops what it has no rule for,
// whether forwarding was on before or not: bridges that techniques make on its host
// would carry IPv4 alone.
func (p *Private) letThrough(ctx context.Context, s Settings) error {
	if s.NoIPTables {
		return nil
	}
	return process.Run(ctx, p, platform.Command{Path: "ip6tables", Args: []string{"--wait", "--policy", "FORWARD", "ACCEPT"}})
}

func (p *Private) socket() string { return filepath.Join(p.dir, "docker.sock") }

func (p *Private) begin(ctx context.Context, run string, s Settings) (err error) {
	if err := hideMachineConfig(); err != nil {
		return err
	}
	if p.dir, err = os.MkdirTemp("/run", "nettoll-docker-"); err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", p.dir, "tmpfs", 0, "mode=0711"); err != nil {
		return fmt.Errorf("mount %s: %w", p.dir, err)
	}
	p.sandboxes = filepath.Join(p.dir, "exec", "netns")
	p.cgroup = HoldCgroup(run)
	// An engine that finds forwarding off turns it on, and lets nothing through that is
	// not its own.
	for _, key := range []string{"net/ipv4/ip_forward", "net/ipv6/conf/all/forwarding"} {
		if err := netns.SetSysctl(p.NetNS(), key, "1"); err != nil {
			return err
		}
	}
	if u, ok := p.under.(platform.Undertaker); ok {
		if err := u.Leaves(groupOf(run)); err != nil {
			return fmt.Errorf("name the control group to the lab: %w", err)
		}
	}
	args := []string{
		"--data-root", filepath.Join(p.dir, "data"), "--exec-root", filepath.Join(p.dir, "exec"),
		"--host", "unix://" + p.socket(), "--pidfile", filepath.Join(p.dir, "pid"), "--log-level", "warn",
		"--cgroup-parent", "/" + groupOf(run), "--storage-driver", "overlay2",
		"--bip", defaultBridge4.String(), "--ipv6", "--fixed-cidr-v6", defaultBridge6.String(), "--experimental",
	}
	if !s.NoIPTables {
		args = append(args, "--ip6tables")
	}
	if mtu := p.Uplink().MTU; mtu != 0 {
		args = append(args, "--mtu", strconv.Itoa(mtu))
	}
	args = append(args, strings.Fields(s.String())...)
	p.proc, err = p.under.Start(ctx, platform.Command{Path: "dockerd", Args: args, Stdout: &p.log, Stderr: &p.log})
	return err
}

// await returns when the engine answers.
func (p *Private) await(ctx context.Context, c *client.Client) error {
	ended := make(chan error, 1)
	go func() { ended <- p.proc.Wait() }()
	within := emulated.Patience(ready)
	for deadline := time.Now().Add(within); ; {
		asking, cancel := context.WithTimeout(ctx, answerTime) // one that does not answer is asked again
		_, err := c.Ping(asking, client.PingOptions{NegotiateAPIVersion: true})
		cancel()
		if err == nil {
			return nil
		}
		select {
		case err := <-ended:
			return fmt.Errorf("dockerd ended: %w: %s", err, p.said())
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("dockerd did not answer within %v: %s", within, p.said())
		}
	}
}

// said is the end of what dockerd logged.
func (p *Private) said() string { return strings.ReplaceAll(p.log.String(), "\n", " | ") }

// stopTime is how long dockerd may take to end by itself.
const stopTime = 10 * time.Second

// Stop ends the engine, and all that it has.
func (p *Private) Stop() error {
	var errs []error
	if p.Engine != nil {
		ctx, cancel := asking()
		defer cancel()
		errs = append(errs, p.Empty(ctx))
		p.Engine.deaths.stop()
		errs = append(errs, p.Engine.Client.Close())
	}
	if p.proc != nil {
		_ = unix.Kill(p.proc.PID(), unix.SIGTERM)
		done := make(chan struct{})
		go func() {
			_ = p.proc.Wait()
			close(done)
		}()
		select {
		case <-done:
		case <-time.After(stopTime):
			errs = append(errs, p.proc.Kill())
		}
	}
	if p.cgroup != nil {
		errs = append(errs, p.cgroup.Close())
	}
	if p.dir != "" {
		errs = append(errs, unix.Unmount(p.dir, unix.MNT_DETACH), os.Remove(p.dir))
	}
	return errors.Join(errs...)
}
