package weave

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"nettoll/internal/daemon"
	"nettoll/internal/plumb"
	"nettoll/internal/program"
	"nettoll/network"
	"nettoll/platform"
)

// weaver is the program.
type weaver struct {
	path    string
	version string // "2.8.1", or the version that a build of the user's own reports
}

const get = "get weaver of Weave Net 2.x, such as /home/weave/weaver of the image weaveworks/weave"

// find returns the program, if it can be run here.
func (t variant) find(ctx context.Context) (w weaver, err error) {
	if w.path, err = t.paths.Locate("weaver", get); err != nil {
		return w, err
	}
	if _, err := exec.LookPath("iptables"); err != nil { // weaver runs it from PATH
		return w, &platform.Unsupported{Feature: "weaver", Program: "iptables", Remedy: platform.Install("iptables"), Err: err}
	}
	said, err := program.Say(ctx, w.path, "--version")
	if err != nil {
		return w, err
	}
	if w.version, err = version(said); err != nil {
		return w, &platform.Unsupported{
			Feature: "weaver", Program: "weaver", Option: "the program weaver of Weave Net 2.x", Remedy: get + ", and name it by --tool-path weaver=FILE",
			Err: fmt.Errorf("%s: %w", w.path, err),
		}
	}
	return w, nil
}

// told matches weaver's answer to --version: 1.x prints "weave router 1.9.8", 2.x "weave 2.8.1",
// and builds without a number "weave unreleased" or "weave git-0123456789ab".
var told = regexp.MustCompile(`(?m)^weave (router )?(\S+)`)

// version returns the version in such an answer. Weave Net 1.x has other flags and leaves the
// bridge to a script.
func version(said string) (string, error) {
	m := told.FindStringSubmatch(said)
	if m == nil {
		line, _, _ := strings.Cut(said, "\n")
		return "", fmt.Errorf("it is not weaver: its answer to --version is %.100q", line)
	}
	v := strings.Trim(m[2], "()")
	number := v != "" && v[0] >= '0' && v[0] <= '9'
	if m[1] != "" || number && !strings.HasPrefix(v, "2.") {
		return "", fmt.Errorf("it is version %s, but only 2.x is known to work", v)
	}
	return v, nil
}

const (
	port = 6783 // of weavers, TCP and UDP; the fast datapath uses the next one
	// control is the address on which weaver answers requests, on the host itself.
	control = "127.0.0.1:6784"
	// password is not secret: its presence makes weavers encrypt.
	password = "nettoll"
)

// start runs weaver on a host, and returns when it is connected to those that already run. Weaver
// makes the bridge.
func (n *build) start(ctx context.Context, h *plumb.Host) error {
	if h.Facts().Borrowed {
		return &platform.Unsupported{
			Feature: "weaver on this machine", Option: "a host that was made for it", Remedy: "measure this network in the lab",
		}
	}
	// Its state is in its own directory: a weaver that finds traces of an earlier one
	// (restart.sentinel) ignores its peers on the command line.
	dir := filepath.Join(n.dir, h.Name())
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if err := n.tidy(h); err != nil {
		return err
	}
	earlier := n.Site.Hosts[:h.Index]
	d, err := daemon.Start(ctx, &n.Stack, h, daemon.Spec{
		Name: "weaver", Path: n.path, Dir: dir, Args: n.args(h, dir, earlier), Env: n.env(),
		Patience: n.patience, Complaint: complaint.MatchString,
		Ready: func(ctx context.Context) error {
			all, err := connections(ctx, h)
			if err != nil {
				return err
			}
			return established(h, all, earlier)
		},
	})
	if err != nil {
		return err
	}
	n.Watch(true, d)
	return nil
}

// complaint matches a line of the log, such as "ERRO: 2021/01/25 14:03:44.123456 …".
var complaint = regexp.MustCompile(`^(WARN|ERRO|FATA): `)

// args returns the arguments of a weaver without Docker, address management and name service.
func (n *build) args(h *plumb.Host, dir string, peers []*plumb.Host) []string {
	args := []string{"--no-fastdp"}
	if n.fast {
		args = []string{"--datapath", datapath}
	}
	args = append(args,
		"--host", h.Uplink().Addr4.Addr().String(), "--port", strconv.Itoa(port), "--http-addr", control,
		"--name", name(h), "--nickname", h.Name(), "--mtu", strconv.Itoa(n.mtu(h.Uplink().MTU)),
		"--docker-api", "", "--no-dns", "--ipalloc-range", "", "--no-discovery", "--db-prefix", filepath.Join(dir, "weave"),
	)
	for _, p := range peers {
		args = append(args, p.Uplink().Addr4.Addr().String())
	}
	return args
}

// name returns the name by which weavers know each other: an Ethernet address, also the bridge's.
func name(h *plumb.Host) string {
	return net.HardwareAddr{0x7a, 0, 0, 0, 0, byte(h.Index + 1)}.String()
}

// env returns an environment in which weaver does not check for updates.
func (n *build) env() []string {
	env := []string{"CHECKPOINT_DISABLE=1"}
	if n.encrypted {
		env = append(env, "WEAVE_PASSWORD="+password)
	}
	return env
}

// established checks that there is a connection to each of some hosts.
func established(h *plumb.Host, all []connection, to []*plumb.Host) error {
	for _, other := range to {
		if c := toward(all, other); c.State != up {
			return fmt.Errorf("%s is not connected to %s: %s", h.Name(), other.Name(), c)
		}
	}
	return nil
}

// tryBridge checks whether weaver can make its bridge. Weaver uses a dummy device for that; where
// the kernel has none, it is run to see whether this weaver needs one.
func (v variant) tryBridge(ctx context.Context, p platform.Platform) error {
	err := plumb.Check(ctx, plumb.Dummy)
	var missing *platform.Unsupported
	if !errors.As(err, &missing) || daemon.Available() != nil { // nothing is missing, or weaver cannot be run here
		return err
	}
	missing.Err = v.runs(ctx, p)
	switch {
	case missing.Err == nil:
		return nil
	case ctx.Err() != nil:
		return missing.Err
	}
	return missing
}

// runs runs weaver on a host with nothing else on it.
func (v variant) runs(ctx context.Context, p platform.Platform) error {
	w, err := v.find(ctx)
	if err != nil {
		return err
	}
	s, err := plumb.BeginHosts(ctx, network.Topology{Hosts: 1}, p)
	if err != nil {
		return err
	}
	n := v.on(&plumb.Network{Site: s}, w)
	if n.dir, err = daemon.State(&s.Stack); err == nil {
		err = n.start(ctx, s.Hosts[0])
	}
	return s.Abandon(ctx, err)
}
