package netns_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"nettoll/internal/netns"
	"nettoll/internal/testutil"
	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/machine"
)

func TestMain(m *testing.M) { testutil.Main(m) }

// here returns the name of the namespace that the calling thread is in.
func here(t *testing.T) string {
	t.Helper()
	link, err := os.Readlink("/proc/thread-self/ns/net")
	iferr.Error(t, err)
	return link
}

// named returns the name of the namespace at path.
func named(t *testing.T, path string) string {
	t.Helper()
	link, err := os.Readlink(path)
	iferr.Fatal(t, err)
	return link
}

func nothing() error { return nil }

func create(t *testing.T, n int) []*netns.NS {
	t.Helper()
	all, err := netns.New(t.Context(), n, nothing)
	iferr.Fatal(t, err)
	t.Cleanup(func() {
		for _, ns := range all {
			ns.Close()
		}
	})
	return all
}

// allHome checks that every thread of this program is in the namespace.
func allHome(t *testing.T, home string) {
	t.Helper()
	tasks, err := filepath.Glob("/proc/self/task/*/ns/net")
	if err != nil || len(tasks) == 0 {
		t.Fatal(tasks, err)
	}
	for _, task := range tasks {
		if at, err := os.Readlink(task); err == nil && at != home { // a thread may end meanwhile
			t.Errorf("%s is %s, home is %s", task, at, home)
		}
	}
}

// TestTheProcessStaysAtHome checks that no thread is moved whose namespace other threads take for that of the process.
func TestTheProcessStaysAtHome(t *testing.T) {
	const itself = "/proc/self/ns/net"
	home, away := named(t, itself), create(t, 1)[0]
	var moved sync.WaitGroup
	for range 200 {
		moved.Go(func() {
			iferr.Error(t, netns.Do(away.Path(), func() error {
				if at, err := os.Readlink(itself); err != nil || at != home {
					t.Errorf("the process is in %s, home is %s (%v)", at, home, err)
				}
				return nil
			}))
		})
	}
	moved.Wait()
}

func TestNewGivesSeparateEmptyNamespaces(t *testing.T) {
	home, before := here(t), machine.Descriptors(t, "net:")
	seen := map[string]bool{home: true}
	var set []string
	all, err := netns.New(t.Context(), 5, func() error {
		set = append(set, here(t))
		return nil
	})
	iferr.Fatal(t, err)
	for i, ns := range all {
		name := named(t, ns.Path())
		if seen[name] {
			t.Errorf("%s is there twice", name)
		}
		seen[name] = true
		if set[i] != name {
			t.Errorf("setup %d ran in %s, the namespace is %s", i, set[i], name)
		}
		err := netns.Do(ns.Path(), func() error {
			devices, err := net.Interfaces()
			if err != nil {
				return err
			}
			if len(devices) != 1 || devices[0].Name != "lo" || devices[0].Flags&net.FlagUp != 0 {
				t.Errorf("a new namespace has %+v, want lo, down", devices)
			}
			return nil
		})
		iferr.Error(t, err)
	}
	if got := machine.Descriptors(t, "net:"); got != before+5 {
		t.Errorf("%d namespaces are open, want %d", got, before+5)
	}
	for _, ns := range all {
		iferr.Error(t, ns.Close())
	}
	if got := machine.Descriptors(t, "net:"); got != before {
		t.Errorf("%d namespaces are open after Close, %d before", got, before)
	}
	allHome(t, home)
}

func TestNewLeavesNothingWhenSetupFails(t *testing.T) {
	home, before := here(t), machine.Descriptors(t, "net:")
	broken := errors.New("third time unlucky")
	n := 0
	all, err := netns.New(t.Context(), 5, func() error {
		if n++; n == 3 {
			return broken
		}
		return nil
	})
	if !errors.Is(err, broken) || all != nil || n != 3 {
		t.Errorf("got %v, %v after %d setups", all, err, n)
	}
	if got := machine.Descriptors(t, "net:"); got != before {
		t.Errorf("%d namespaces are open, %d before", got, before)
	}
	allHome(t, home)
}

func TestSysctlsBelongToTheirNamespace(t *testing.T) {
	all := create(t, 2)
	const key = "net/ipv4/ip_forward"
	iferr.Fatal(t, netns.SetSysctl(all[0].Path(), key, "1"))
	for i, want := range []string{"1", "0"} {
		if got, err := netns.Sysctl(all[i].Path(), key); err != nil || got != want {
			t.Errorf("namespace %d: %s is %q, %v; want %q", i, key, got, err, want)
		}
	}
	iferr.Fatal(t, netns.SetSysctl(all[0].Path(), "net/ipv4/tcp_rmem", "4096\t8192\t16384"))
	if got, err := netns.Sysctl(all[0].Path(), "net/ipv4/tcp_rmem"); err != nil || got != "4096 8192 16384" {
		t.Errorf("tcp_rmem is %q, %v", got, err)
	}
	for _, err := range []error{
		netns.SetSysctl(all[0].Path(), "net/ipv4/no_such", "1"),
		second(netns.Sysctl(all[0].Path(), "net/ipv4/no_such")),
	} {
		if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "sysctl net/ipv4/no_such") {
			t.Errorf("error is %v", err)
		}
	}
}

func second[A any](_ A, err error) error { return err }

func TestDoEntersAndComesBack(t *testing.T) {
	home, ns := here(t), create(t, 1)[0]
	broken := errors.New("broken inside")
	for _, want := range []error{nil, broken} {
		ran := false
		err := netns.Do(ns.Path(), func() error {
			ran = true
			if inside := here(t); inside != named(t, ns.Path()) {
				t.Errorf("fn runs in %s, want %s", inside, named(t, ns.Path()))
			}
			out, err := exec.Command("readlink", "/proc/self/ns/net").Output()
			if got := strings.TrimSpace(string(out)); err != nil || got != named(t, ns.Path()) {
				t.Errorf("a process of fn runs in %s, want %s: %v", got, named(t, ns.Path()), err)
			}
			return want
		})
		if err != want || !ran {
			t.Errorf("error is %v, want %v; ran: %v", err, want, ran)
		}
		allHome(t, home)
	}
	iferr.Error(t, netns.Do("", func() error {
		if got := here(t); got != home {
			t.Errorf("the empty path is %s, want %s", got, home)
		}
		return nil
	}))
}

func TestDoSaysWhatItCannotEnter(t *testing.T) {
	ns := create(t, 1)[0]
	closed, before := ns.Path(), machine.Descriptors(t, "net:")
	for name, path := range map[string]string{
		"open network namespace":  filepath.Join(t.TempDir(), "none"),
		"enter network namespace": "/proc/self/ns/mnt",
	} {
		err := netns.Do(path, func() error {
			t.Errorf("fn ran although %s is not a network namespace", path)
			return nil
		})
		if err == nil || !strings.HasPrefix(err.Error(), name) {
			t.Errorf("%s: error is %v, want %q", path, err, name)
		}
	}
	if got := machine.Descriptors(t, "net:"); got != before {
		t.Errorf("%d namespaces are open, %d before", got, before)
	}
	ns.Close()
	if ns.Path() == closed {
		t.Errorf("a closed namespace still has the path %s, where another may be", closed)
	}
	if err := netns.Do(ns.Path(), nothing); err == nil {
		t.Error("entered a closed namespace")
	}
	allHome(t, here(t))
}

func TestManyAtOnceEachInItsOwn(t *testing.T) {
	home, before := here(t), machine.Descriptors(t, "net:")
	all := create(t, 8)
	var done sync.WaitGroup
	for i := range 64 {
		done.Go(func() {
			want := named(t, all[i%8].Path())
			for range 50 {
				err := netns.Do(all[i%8].Path(), func() error {
					if got := here(t); got != want {
						return fmt.Errorf("in %s, want %s", got, want)
					}
					return nil
				})
				iferr.Error(t, err)
				if got := here(t); got != home {
					t.Errorf("after Do a goroutine runs in %s, home is %s", got, home)
				}
			}
		})
	}
	done.Wait()
	allHome(t, home)
	if got := machine.Descriptors(t, "net:"); got != before+8 {
		t.Errorf("%d namespaces are open, want %d", got, before+8)
	}
}
