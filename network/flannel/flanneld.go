package flannel

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"nettoll/internal/daemon"
	"nettoll/internal/plumb"
	"nettoll/internal/process"
	"nettoll/platform"
)

// patience is how long a flanneld may take to write its lease, and all of them to find
// each other: it takes a second, and several on a busy machine.
const patience = 20 * time.Second

// complaint is an error as klog writes it, such as "E1121 19:33:49.123456 …".
var complaint = regexp.MustCompile(`^E\d{4} `)

// startAll runs flanneld on all hosts at once, and returns when each has a lease.
func (b *build) startAll(ctx context.Context) (err error) {
	b.flannelds, err = b.Start(ctx, func(ctx context.Context, h *plumb.Host) (*daemon.Daemon, error) {
		return b.start(ctx, h, b.store.URL)
	})
	b.ending()
	if err != nil {
		return err
	}
	b.Needed = append(b.Needed, b.flannelds...)
	if b.carries {
		for _, d := range b.flannelds {
			b.Carry(d)
		}
	}
	return nil
}

// start runs flanneld on a host.
func (b *build) start(ctx context.Context, h *plumb.Host, etcd string) (*daemon.Daemon, error) {
	return daemon.Start(ctx, &b.Stack, h, daemon.Spec{
		Name: "flanneld", Path: b.flanneld, Patience: b.patience, Complaint: complaint.MatchString,
		Args: []string{
			"-etcd-endpoints", etcd, "-iface", h.Uplink().Device, "-subnet-file", b.file(h), "-ip-masq=false",
		},
		Env: append(b.forScripts(h), "WIREGUARD_KEY_FILE="+b.secret(h)),
		Ready: func(ctx context.Context) error {
			if _, err := os.Stat(b.file(h)); err != nil {
				return errors.New("it has written no lease")
			}
			return b.families(func(six bool) error { return b.forwards(ctx, h, six) })
		},
	})
}

// secret is where WireGuard's private key of a host is.
func (b *build) secret(h *plumb.Host) string { return filepath.Join(b.dir, h.Name()+".key") }

// forwards says whether flanneld has put its rules in front of what the host forwards. It
// does so after it has written the lease.
func (b *build) forwards(ctx context.Context, h *plumb.Host, six bool) error {
	program := "iptables"
	if six {
		program = "ip6tables"
	}
	if err := run(ctx, h, program, append([]string{"-w", "-C"}, jump...)...); err != nil {
		return fmt.Errorf("its rules are not there: %w", err)
	}
	return nil
}

// jump is the rule by which packets come to flanneld's own.
var jump = []string{"FORWARD", "-m", "comment", "--comment", "flanneld forward", "-j", chain}

const chain = "FLANNEL-FWD"

// run runs a program on a host to its end.
func run(ctx context.Context, h *plumb.Host, program string, args ...string) error {
	if err := process.Run(ctx, h, platform.Command{Path: program, Args: args}); err != nil {
		return fmt.Errorf("%s: %w", program, err)
	}
	return nil
}

// ending ends all flannelds at once: each takes more than a second to put the host in
// order. Where the hosts go anyway there is nothing to put in order.
func (b *build) ending() {
	end := func(how func(*daemon.Daemon) error) func(context.Context) error {
		return func(context.Context) error {
			errs := make([]error, len(b.flannelds))
			var all sync.WaitGroup
			for i, d := range b.flannelds {
				if d != nil {
					all.Go(func() { errs[i] = how(d) })
				}
			}
			all.Wait()
			return errors.Join(errs...)
		}
	}
	b.Push("flanneld on all hosts", end(func(d *daemon.Daemon) error { return d.Kill() }))
	b.Made("flanneld on all hosts", end((*daemon.Daemon).Stop))
}
