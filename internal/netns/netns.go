// Package netns makes network namespaces and runs code inside them. It is the
// only package that moves a thread to another namespace.
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

// NS is a network namespace that lives as long as it is open and no process or
// socket is left in it.
type NS struct {
	f *os.File
}

// Path names the namespace for Do and for programs of this process.
func (n *NS) Path() string { return "/proc/self/fd/" + strconv.Itoa(int(n.f.Fd())) }

// Close lets the namespace go.
func (n *NS) Close() error { return n.f.Close() }

const current = "/proc/thread-self/ns/net"

// New makes n namespaces, with their loopback devices down, and runs setup
// inside each, until ctx ends. Many are made on several threads.
func New(ctx context.Context, n int, setup func() error) ([]*NS, error) {
	const each = 16 // namespaces that are worth a thread
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
		err = context.Cause(ctx) // once, however many threads heard of it
	}
	if err != nil {
		for _, n := range all {
			n.Close()
		}
		return nil, err
	}
	return all, nil
}

// some makes n namespaces on one thread. With an error come those that were made.
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

// Do runs fn on a thread inside the namespace at path; the empty path is the
// one that the process is in. Goroutines that fn starts are not inside.
// Processes that fn starts are.
func Do(path string, fn func() error) error {
	if path == "" {
		return fn()
	}
	target, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open network namespace: %w", err)
	}
	defer target.Close()
	return locked(func() error {
		if err := unix.Setns(int(target.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("enter network namespace: %w", err)
		}
		return fn()
	})
}

// locked runs fn on a thread of its own and brings the thread back to the
// namespace it came from. A thread that cannot be brought back stays locked, so
// that it ends with its goroutine and nobody else's code runs on it.
func locked(fn func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
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

// SetSysctl writes a kernel parameter of the namespace: key is written with
// slashes, since device names may contain dots ("net/ipv4/ip_forward").
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
