package calico

import (
	"context"
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/internal/undo"
	"nettoll/platform"
)

// forget pushes the removal of what felix and BIRD leave on a host.
func (n *network) forget(h *plumb.Host) error {
	s := n.Site
	s.Made("IP sets of felix", func(ctx context.Context) error { return n.removeSets(ctx, h) })
	tables, err := nl.Tables(h.NS)
	if err != nil {
		return err
	}
	s.Made("rules of felix", func(context.Context) error { return nl.RemoveTables(h.NS, tables) })
	if n.tech.way == ipip {
		if err := restoreTunnel(s, h); err != nil {
			return err
		}
	}
	s.Made("devices and routes of felix", func(context.Context) error {
		return nl.With(h.NS, func(in *nl.NS) error {
			var errs []error
			for _, six := range n.families() {
				if n.tech.way == vxlan {
					errs = append(errs, in.Remove(n.toward(h, six)))
				}
				for _, to := range s.Hosts {
					errs = append(errs, in.Unroute(block(to, six)))
				}
			}
			return errors.Join(errs...)
		})
	})
	return nil
}

// removeSets removes felix's IP sets, which no rule refers to any more.
func (n *network) removeSets(ctx context.Context, h *plumb.Host) error {
	run := func(in string, args ...string) (string, error) {
		var out strings.Builder
		p, err := h.Start(ctx, platform.Command{Path: n.programs.ipset, Args: args, Stdin: strings.NewReader(in), Stdout: &out})
		if err == nil {
			err = p.Wait()
		}
		return out.String(), err
	}
	names, err := run("", "list", "-n")
	if err != nil {
		return err
	}
	var destroy strings.Builder
	for name := range strings.FieldsSeq(names) {
		if strings.HasPrefix(name, "cali") {
			destroy.WriteString("destroy " + name + "\n")
		}
	}
	_, err = run(destroy.String(), "restore")
	return err
}

// ownState hides the directory in which Calico keeps what its CNI plugin is to know, where
// the machine has one: felix must not write there. That of "make tools" does not.
func ownState(stack *undo.Stack) error {
	const dir = "/var/lib/calico"
	err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755")
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return &os.PathError{Op: "mount", Path: dir, Err: err}
	}
	stack.Push("mount of "+dir, func(context.Context) error {
		err := unix.Unmount(dir, unix.MNT_DETACH)
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) {
			return nil // it went with the directory
		}
		return err
	})
	return nil
}
