package lab

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"

	"nettoll/internal/netns"
)

// quietly makes namespaces whose devices send no packets on their own, and runs setup in each.
func quietly(ctx context.Context, n int, setup func() error) ([]*netns.NS, error) {
	var q quieter
	defer q.close()
	return netns.New(ctx, n, func() error {
		if err := q.quiet(); err != nil {
			return err
		}
		return setup()
	})
}

func nothing() error { return nil }

// quieter sets up new namespaces, on several threads at once. It must be closed.
type quieter struct {
	mu     sync.Mutex // guards what follows
	left   int        // namespaces that the last mount is for
	mounts []int      // open folders that are /proc
}

// perMount is how many namespaces are set up through one mount of /proc. In one mount, the folders of parameters of all
// namespaces have the same name, and the kernel searches all those that it has cached whenever it opens one: with a
// thousand namespaces, that takes longer than making a device.
const perMount = 64

// proc returns an open folder that is /proc.
func (q *quieter) proc() (folder int, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.left == 0 {
		folder, err = mountProc()
		if err != nil { // for instance in a container that hides parts of /proc
			folder, err = unix.Open("/proc", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		}
		if err != nil {
			return 0, fmt.Errorf("open /proc: %w", err)
		}
		q.mounts, q.left = append(q.mounts, folder), perMount
	}
	q.left--
	return q.mounts[len(q.mounts)-1], nil
}

// mountProc mounts /proc once more, without a path that leads there. It is unmounted when the folder is closed.
func mountProc() (folder int, err error) {
	fs, err := unix.Fsopen("proc", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fs)
	if err := unix.FsconfigCreate(fs); err != nil {
		return 0, err
	}
	return unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
}

func (q *quieter) close() {
	for _, folder := range q.mounts {
		unix.Close(folder)
	}
}

// quiet keeps devices that are made later in the current namespace from sending packets on their own once they are
// up, which could be in the middle of a measurement.
//
// It turns off duplicate address detection for link-local addresses, which cannot be used until it ends, and router
// solicitation. Link-local addresses themselves are needed: a router without one on a device finds no neighbour
// there. Multicast listener reports are sent when an address is added, and repeated within an interval, which is
// set to its minimum.
func (q *quieter) quiet() error {
	proc, err := q.proc()
	if err != nil {
		return err
	}
	const folder = "sys/net/ipv6/conf/default"
	conf, err := unix.Openat(proc, folder, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) { // a kernel without IPv6
		return nil
	}
	if err != nil {
		return fmt.Errorf("open /proc/%s: %w", folder, err)
	}
	defer unix.Close(conf)
	for key, value := range map[string]string{
		"accept_dad": "0", "router_solicitations": "0", "mldv2_unsolicited_report_interval": "1", // ms
	} {
		f, err := unix.Openat(conf, key, unix.O_WRONLY|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil {
			return fmt.Errorf("open /proc/%s/%s: %w", folder, key, err)
		}
		_, err = unix.Write(f, []byte(value))
		unix.Close(f)
		if err != nil {
			return fmt.Errorf("write /proc/%s/%s: %w", folder, key, err)
		}
	}
	return nil
}
