package netns_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nettoll/internal/netns"
	"nettoll/internal/testutil"
)

func TestMain(m *testing.M) { testutil.Main(m) }

// here names the namespace that the calling thread is in.
func here(t *testing.T) string {
	t.Helper()
	link, err := os.Readlink("/proc/thread-self/ns/net")
	if err != nil {
		t.Error(err)
	}
	return link
}

// named gives the name of the namespace at path.
func named(t *testing.T, path string) string {
	t.Helper()
	link, err := os.Readlink(path)
	if err != nil {
		t.Fatal(err)
	}
	return link
}

func nothing() error { return nil }

func create(t *testing.T, n int) []*netns.NS {
	t.Helper()
	all, err := netns.New(t.Context(), n, nothing)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, ns := range all {
			ns.Close()
		}
	})
	return all
}

// open counts the descriptors of namespaces.
func open(t *testing.T) (n int) {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		if target, err := os.Readlink(l); err == nil && strings.HasPrefix(target, "net:") {
			n++
		}
	}
	return n
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

func TestNewGivesSeparateEmptyNamespaces(t *testing.T) {
	home, before := here(t), open(t)
	seen := map[string]bool{home: true}
	var set []string
	all, err := netns.New(t.Context(), 5, func() error {
		set = append(set, here(t))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
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
		if err != nil {
			t.Error(err)
		}
	}
	if got := open(t); got != before+5 {
		t.Errorf("%d namespaces are open, want %d", got, before+5)
	}
	for _, ns := range all {
		if err := ns.Close(); err != nil {
			t.Error(err)
		}
	}
	if got := open(t); got != before {
		t.Errorf("%d namespaces are open after Close, %d before", got, before)
	}
	allHome(t, home)
}

func TestNewLeavesNothingWhenSetupFails(t *testing.T) {
	home, before := here(t), open(t)
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
	if got := open(t); got != before {
		t.Errorf("%d namespaces are open, %d before", got, before)
	}
	allHome(t, home)
}
