package netns_test

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"nettoll/internal/netns"
)

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
	if err := netns.Do("", func() error {
		if got := here(t); got != home {
			t.Errorf("the empty path is %s, want %s", got, home)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

func TestDoSaysWhatItCannotEnter(t *testing.T) {
	ns := create(t, 1)[0]
	closed, before := ns.Path(), open(t)
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
	if got := open(t); got != before {
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
	home, before := here(t), open(t)
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
				if err != nil {
					t.Error(err)
				}
				if got := here(t); got != home {
					t.Errorf("after Do a goroutine runs in %s, home is %s", got, home)
				}
			}
		})
	}
	done.Wait()
	allHome(t, home)
	if got := open(t); got != before+8 {
		t.Errorf("%d namespaces are open, want %d", got, before+8)
	}
}
