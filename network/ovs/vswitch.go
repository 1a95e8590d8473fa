package ovs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"nettoll/internal/await"
	"nettoll/internal/daemon"
	"nettoll/internal/nl"
	"nettoll/internal/nsexec"
	"nettoll/internal/oneline"
	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/record"
)

// bridge is the bridge with the containers of a host as ports.
const bridge = "br0"

// vswitch is the Open vSwitch of a host: a database, and the daemon that implements its contents.
type vswitch struct {
	host     *plumb.Host
	programs map[string]string // paths of programs, by name
	tied     bool              // its daemons end with this process, also outside a lab
	dir      string
	db       *daemon.Daemon
	daemon   *daemon.Daemon
	counts   plumb.Reading[map[int]network.Count]
}

func (v *vswitch) file(name string) string { return filepath.Join(v.dir, name) }
func (v *vswitch) socket() string          { return v.file("db.sock") }
func (v *vswitch) control() string         { return v.file("ovs-vswitchd.ctl") }

// start runs the daemons. Their files are below dir.
func (v *vswitch) start(ctx context.Context, s *plumb.Site, dir string, t variant) error {
	v.dir = filepath.Join(dir, v.host.Name())
	if err := os.Mkdir(v.dir, 0o755); err != nil {
		return err
	}
	file := v.file("conf.db")
	if err := v.run(ctx, "ovsdb-tool", "create", file); err != nil {
		return err
	}
	var err error
	v.db, err = daemon.Start(ctx, &s.Stack, v.host, daemon.Spec{
		Name: "ovsdb-server", Path: v.programs["ovsdb-server"], Env: v.environ(), Dir: v.dir, Tied: v.tied, Complaint: t.complaint,
		Args:  append([]string{file, "--remote=punix:" + v.socket(), "--unixctl=" + v.file("ovsdb-server.ctl")}, logging...),
		Ready: v.listens,
	})
	if err != nil {
		return err
	}
	settings := []string{"--no-wait", "--", "init"}
	if t.ports == internal {
		settings = append(settings, "--", "set", "Open_vSwitch", ".", "other_config:userspace-tso-enable=true") // read only at start
	}
	if err := v.vsctl(ctx, settings...); err != nil {
		return err
	}
	v.daemon, err = daemon.Start(ctx, &s.Stack, v.host, daemon.Spec{
		Name: "ovs-vswitchd", Path: v.programs["ovs-vswitchd"], Env: v.environ(), Dir: v.dir, Tied: v.tied, Complaint: t.complaint,
		Needs: []*daemon.Daemon{v.db}, Args: append([]string{"unix:" + v.socket(), "--unixctl=" + v.control()}, logging...),
		Ready: func(ctx context.Context) error {
			_, err := ask(ctx, v.control(), "version")
			return err
		},
	})
	if err != nil {
		return err
	}
	s.Made("datapath of "+v.host.Name(), func(ctx context.Context) error { return v.cleanup(ctx, t) })
	return nil
}

func (v *vswitch) listens(ctx context.Context) error {
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", v.socket())
	if err != nil {
		return err
	}
	return c.Close()
}

// vsctl changes the database, and waits until the change has taken effect.
func (v *vswitch) vsctl(ctx context.Context, args ...string) error {
	const timeout = "--timeout=30" // seconds
	err := v.run(ctx, "ovs-vsctl", append([]string{"--db=unix:" + v.socket(), timeout}, args...)...)
	if err != nil && v.daemon != nil {
		if said := v.complaints(ctx); len(said) > 0 {
			err = fmt.Errorf("%w: %s", err, strings.Join(said, " | "))
		}
	}
	return err
}

// wording is how long it can take until ovs-vswitchd has logged the reason for an error.
const wording = 5 * time.Second

// complaints returns what ovs-vswitchd says about an error that it has just reported.
func (v *vswitch) complaints(ctx context.Context) (said []string) {
	for until := time.Now().Add(wording); len(said) == 0 && ctx.Err() == nil && time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
		said = v.daemon.Complaints()
	}
	return said
}

// run runs a program on the host to its end. Its error contains the program's output.
func (v *vswitch) run(ctx context.Context, name string, args ...string) error {
	var said nsexec.Tail
	cmd := platform.Command{Path: v.programs[name], Args: args, Env: v.environ(), Stdout: &said, Stderr: &said}
	err := nsexec.Run(ctx, v.host, cmd)
	if ctx.Err() != nil {
		return fmt.Errorf("%s on %s: %w", name, v.host.Name(), err)
	}
	text := oneline.Output(said.String())
	// ovs-vsctl exits with 0 even when ovs-vswitchd could not do what was requested.
	if err != nil || strings.Contains(text, "Error detected") {
		if text == "" && err != nil {
			text = err.Error()
		}
		return fmt.Errorf("%s on %s: %s", name, v.host.Name(), text)
	}
	return nil
}

// environ makes the programs write all their files in the host's own directory.
func (v *vswitch) environ() []string {
	return []string{"OVS_RUNDIR=" + v.dir, "OVS_LOGDIR=" + v.dir, "OVS_DBDIR=" + v.dir, "OVS_SYSCONFDIR=" + v.dir}
}

// asking bounds the time of one request to a daemon.
const asking = 10 * time.Second

// ask sends a command to the control socket of a daemon, as ovs-appctl(8) does, and returns the
// answer. The protocol is JSON-RPC 1.0; speaking it here saves forking a program for each request.
func ask(ctx context.Context, socket, method string, args ...string) (answer string, err error) {
	ctx, cancel := context.WithTimeout(ctx, asking)
	defer cancel()
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", method, err)
		}
	}()
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if until, ok := ctx.Deadline(); ok {
		if err := c.SetDeadline(until); err != nil {
			return "", err
		}
	}
	if args == nil {
		args = []string{}
	}
	err = json.NewEncoder(c).Encode(map[string]any{"id": 0, "method": method, "params": args})
	if err != nil {
		return "", err
	}
	var reply struct {
		Result string
		Error  *string
	}
	if err := json.NewDecoder(c).Decode(&reply); err != nil {
		return "", fmt.Errorf("read the answer: %w", err)
	}
	if reply.Error != nil {
		return "", fmt.Errorf("refused: %s", *reply.Error)
	}
	return reply.Result, nil
}

// logging sends the daemons' logs to nettoll and nowhere else, without the time, so that repeated
// messages can be recognized.
var logging = []string{"-vsyslog:off", "-vfile:off", "-vconsole:info", "-vPATTERN:console:%c|%p|%m"}

// complaint reports whether a line of a log is about a problem with the datapath.
func (t variant) complaint(line string) bool {
	level := strings.Contains(line, "|ERR|") || strings.Contains(line, "|WARN|")
	return level && !harmless.MatchString(line) && !(t.ports == internal && moved.MatchString(line))
}

var (
	// harmless matches messages about a busy machine, about a kernel datapath that was not
	// requested, and about a limit that does not apply to those who may open AF_XDP sockets.
	harmless = regexp.MustCompile(`^(timeval|ovs_rcu|poll_loop|coverage)\b|unreasonably long|` +
		`failed to enumerate system datapaths|setrlimit\(RLIMIT_MEMLOCK\)|Dropped \d+ log messages`)
	// moved matches a message about an internal port that has been moved into its container, where
	// it works.
	moved = regexp.MustCompile(`: No such device$`)
)

// ending bounds the orderly shutdown of ovs-vswitchd.
const ending = 20 * time.Second

// cleanup stops ovs-vswitchd and removes everything that it has made in the kernel.
func (v *vswitch) cleanup(ctx context.Context, t variant) error {
	if v.daemon.Fault() != nil {
		return v.sweep(ctx, t)
	}
	_, err := ask(ctx, v.control(), "exit", "--cleanup")
	// Also when it refused to answer: it may just have died, which is not known at once.
	late := await.Until(context.WithoutCancel(ctx), ending, 5*time.Millisecond, func(context.Context) (missing, err error) {
		if v.daemon.Fault() == nil {
			missing = fmt.Errorf("%s did not exit within %v of being told to", v.daemon, ending)
		}
		return missing, nil
	})
	if late != nil {
		return errors.Join(err, late)
	}
	if err != nil {
		return v.sweep(ctx, t)
	}
	return nil
}

// Names that ovs-vswitchd gives to the datapaths that it makes, and to a device of each.
const (
	kernelDatapath = "ovs-system"
	userDatapath   = "ovs-netdev"
)

// sweep removes what an ovs-vswitchd that died has left: it leaves its tap devices, for the next
// ovs-vswitchd to find, and a datapath in the kernel.
func (v *vswitch) sweep(ctx context.Context, t variant) error {
	errs := []error{v.removeDatapath(ctx)}
	names := []string{bridge, physical, userDatapath}
	if t.ports == internal {
		for _, n := range v.host.Nodes {
			names = append(names, n.Port) // until it is moved into its container
			errs = append(errs, nl.With(n.NS, func(in *nl.NS) error { return in.Remove(n.Device) }))
		}
	}
	errs = append(errs, nl.With(v.host.NS, func(n *nl.NS) error {
		if t.tunnel != nil {
			names = append(names, t.tunnel.device)
		}
		return record.Try(names, n.Remove)
	}))
	return errors.Join(errs...)
}

// removeDatapath removes the kernel's datapath with its ports, if there is one.
func (v *vswitch) removeDatapath(ctx context.Context) error {
	left, err := nl.HasDevice(v.host.NS, kernelDatapath)
	if err != nil || !left {
		return err
	}
	return v.run(ctx, "ovs-dpctl", "del-dp", kernelDatapath)
}
