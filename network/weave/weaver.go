package weave

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"nettoll/internal/daemon"
	"nettoll/internal/plumb"
	"nettoll/platform"
)

const (
	port = 6783 // of weavers, TCP and UDP; the fast datapath has the next
	// control is where weaver answers questions, on the host itself.
	control = "127.0.0.1:6784"
	// password is no secret: that there is one makes weavers encrypt.
	password = "nettoll"
)

// start runs weaver on a host, and returns when it is connected to those that run already.
// It makes the bridge.
func (n *build) start(ctx context.Context, h *plumb.Host) error {
	if h.Facts().Borrowed {
		return &platform.Unsupported{
			Feature: "weaver on this machine", Option: "a host that was made for it", Remedy: "measure this network in the lab",
		}
	}
	// Its state is in a directory of its own: a weaver that finds traces of an earlier one
	// (restart.sentinel) ignores the peers that it is given.
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
	n.Needed = append(n.Needed, d)
	n.Carry(d)
	return nil
}

// complaint is a line of the log, such as "ERRO: 2021/01/25 14:03:44.123456 …".
var complaint = regexp.MustCompile(`^(WARN|ERRO|FATA): `)

// args are those of a weaver without Docker, address management and name service.
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

// name is what weavers call each other: an Ethernet address, and that of the bridge.
func name(h *plumb.Host) string {
	return net.HardwareAddr{0x7a, 0, 0, 0, 0, byte(h.Index + 1)}.String()
}

// env keeps weaver from asking its makers for news.
func (n *build) env() []string {
	env := []string{"CHECKPOINT_DISABLE=1"}
	if n.encrypted {
		env = append(env, "WEAVE_PASSWORD="+password)
	}
	return env
}

// established wants a connection to each of some hosts.
func established(h *plumb.Host, all []connection, to []*plumb.Host) error {
	for _, other := range to {
		if c := toward(all, other); c.State != up {
			return fmt.Errorf("%s is not connected to %s: %s", h.Name(), other.Name(), c)
		}
	}
	return nil
}
