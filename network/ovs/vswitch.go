package ovs

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"nettoll/internal/daemon"
	"nettoll/internal/plumb"
)

// bridge is the one that the containers of a host are ports of.
const bridge = "br0"

// vswitch is the Open vSwitch of a host: a database, and the daemon that does what
// stands in it.
type vswitch struct {
	host     *plumb.Host
	programs programs
	dir      string
	db       *daemon.Daemon
	daemon   *daemon.Daemon
	counts   snapshot
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
		Name: "ovsdb-server", Path: v.programs["ovsdb-server"], Env: v.environ(), Dir: v.dir, Complaint: t.complaint,
		Args:  append([]string{file, "--remote=punix:" + v.socket(), "--unixctl=" + v.file("ovsdb-server.ctl")}, logging...),
		Ready: v.listens,
	})
	if err != nil {
		return err
	}
	settings := []string{"--no-wait", "--", "init"}
	if t.ports == internal {
		settings = append(settings, "--", "set", "Open_vSwitch", ".", "other_config:userspace-tso-enable=true") // is read at the start alone
	}
	if err := v.vsctl(ctx, settings...); err != nil {
		return err
	}
	v.daemon, err = daemon.Start(ctx, &s.Stack, v.host, daemon.Spec{
		Name: "ovs-vswitchd", Path: v.programs["ovs-vswitchd"], Env: v.environ(), Dir: v.dir, Complaint: t.complaint,
		Args: append([]string{"unix:" + v.socket(), "--unixctl=" + v.control()}, logging...),
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

// vsctl changes the database, and waits until the change is in force.
func (v *vswitch) vsctl(ctx context.Context, args ...string) error {
	const timeout = "--timeout=30" // seconds
	err := v.run(ctx, "ovs-vsctl", append([]string{"--db=unix:" + v.socket(), timeout}, args...)...)
	if err != nil && v.daemon != nil {
		if said := v.daemon.Complaints(); len(said) > 0 {
			err = fmt.Errorf("%w: %s", err, strings.Join(said, " | "))
		}
	}
	return err
}
