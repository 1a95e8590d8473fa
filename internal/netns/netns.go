// Package netns makes network namespaces and runs code inside them. It is the only package that moves
// threads to other namespaces.
package netns

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// NS is a network namespace. It lives until it is closed, and then until no process or socket is
// left in it.
type NS struct {
	f *os.File
}

// Path returns a path of the namespace. It means something only to this process; see Reachable.
func (n *NS) Path() string { return "/proc/self/fd/" + strconv.Itoa(int(n.f.Fd())) }

// Reachable returns the path of a namespace in a form that other processes can use.
func Reachable(path string) string {
	if rest, ok := strings.CutPrefix(path, "/proc/self/"); ok {
		return "/proc/" + strconv.Itoa(os.Getpid()) + "/" + rest
	}
	return path
}

// Close releases the namespace.
func (n *NS) Close() error { return n.f.Close() }

const current = "/proc/thread-self/ns/net"

// New makes n namespaces, with their loopback devices down, and runs setup inside each, until ctx
// ends. It uses several threads if there are many.
func New(ctx context.Context, n int, setup func() error) ([]*NS, error) {
	const each = 16 // one more thread pays off for this many namespaces
	threads := max(1, min(runtime.GOMAXPROCS(0), n/each))
	parts, errs := make([][]*NS, threads), make([]error, threads)
	var wg sync.WaitGroup
	for i := range threads {
		wg.Go(func() { parts[i], errs[i] = some(ctx, n*(i+1)/threads-n*i/threads, setup) })
	}
	wg.Wait()
	all := slices.Concat(parts...)
	err := errors.Join(errs...)
	if ctx.Err() != nil {
		err = context.Cause(ctx) // only once, even if several threads return it
	}
	if err != nil {
		for _, n := range all {
			n.Close()
		}
		return nil, err
	}
	return all, nil
}

// some makes n namespaces on one thread. If it fails, it also returns those that were made.
func some(ctx context.Context, n int, setup func() error) (made []*NS, err error) {
	err = locked(func() error {
		for range n {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
				return fmt.Errorf("create network namespace: %w", err)
			}
			f, err := os.OpenFile(current, os.O_RDONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				return fmt.Errorf("open network namespace: %w", err)
			}
			made = append(made, &NS{f})
			if err := setup(); err != nil {
				return err
			}
		}
		return nil
	})
	return made, err
}

// Do runs fn on a thread inside the namespace at path; the empty path means the namespace of the
// process. Goroutines that fn starts are not inside it, but processes that fn starts are.
func Do(path string, fn func() error) error {
	if path == "" {
		return fn()
	}
	return Hold(path, func(fd int) error { return In(fd, fn) })
}

// In is Do in the namespace of a descriptor.
func In(fd int, fn func() error) error {
	return locked(func() error {
		if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("enter network namespace: %w", err)
		}
		return fn()
	})
}

// Enter moves the calling thread into the namespace at path, for good: its goroutine must be locked to it, and must end
// without being unlocked.
func Enter(path string) error {
	return Hold(path, func(fd int) error {
		if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("enter network namespace: %w", err)
		}
		return nil
	})
}

// Hold calls fn with a descriptor of the namespace at path, which is closed afterwards.
func Hold(path string, fn func(fd int) error) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open network namespace: %w", err)
	}
	defer f.Close()
	return fn(int(f.Fd()))
}

// locked runs fn on a separate thread and then returns the thread to its original namespace. A
// thread that cannot be returned stays locked, so that it ends with its goroutine and no other code
// runs on it.
//
// It is never the first thread, whose namespace /proc/self names: others could take a namespace that it is in for a
// moment for that of the process. While that thread is held, another goroutine gets another thread.
func locked(fn func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			defer runtime.UnlockOSThread()
			done <- locked(fn)
			return
		}
		origin, err := os.Open(current)
		if err != nil {
			done <- fmt.Errorf("open current network namespace: %w", err)
			return
		}
		err = fn()
		if back := unix.Setns(int(origin.Fd()), unix.CLONE_NEWNET); back == nil {
			runtime.UnlockOSThread()
		}
		origin.Close()
		done <- err
	}()
	return <-done
}

// BridgeNetfilter are the kernel parameters with which bridged packets pass the rules for routed ones, for IPv4 and IPv6. New
// namespaces have them, turned on, where br_netfilter is loaded.
var BridgeNetfilter = []string{"net/bridge/bridge-nf-call-iptables", "net/bridge/bridge-nf-call-ip6tables"}

// SetSysctl writes a kernel parameter of the namespace. key is written with slashes, because device
// names may contain dots ("net/ipv4/ip_forward").
func SetSysctl(path, key, value string) error {
	return Do(path, func() error {
		if err := os.WriteFile("/proc/sys/"+key, []byte(value), 0); err != nil {
			return fmt.Errorf("sysctl %s=%s: %w", key, value, err)
		}
		return nil
	})
}

// Sysctl reads a kernel parameter of the namespace.
func Sysctl(path, key string) (string, error) {
	var value string
	err := Do(path, func() error {
		b, err := os.ReadFile("/proc/sys/" + key)
		if err != nil {
			return fmt.Errorf("sysctl %s: %w", key, err)
		}
		value = strings.Join(strings.Fields(string(b)), " ")
		return nil
	})
	return value, err
}
