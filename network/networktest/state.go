package networktest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"nettoll/docker/engine"
	"nettoll/internal/netns"
	"nettoll/internal/nl/nltest"
	"nettoll/platform"
)

// State is all that a network could leave on hosts, a line for each: devices, routes,
// firewall rules, kernel parameters, and what engines have.
func State(t *testing.T, hosts ...platform.Host) (lines []string) {
	t.Helper()
	for _, h := range hosts {
		ns := h.Facts().NetNS
		inv, err := nltest.Inventory(ns)
		if err != nil {
			t.Fatal(err)
		}
		all := append(strings.Split(strings.TrimSpace(inv), "\n"), parameters(t, ns)...)
		if d, ok := h.(*engine.Host); ok {
			all = append(append(all, objects(t, d)...), Rules(t, d)...)
		}
		for _, l := range all {
			lines = append(lines, h.Name()+": "+l)
		}
	}
	return lines
}

// changing are kernel parameters that are no settings.
var changing = regexp.MustCompile(`nf_conntrack_count|stable_secret`)

// parameters are those of the kernel that belong to a network namespace.
func parameters(t *testing.T, ns string) (all []string) {
	t.Helper()
	const root = "/proc/sys/net"
	err := netns.Do(ns, func() error {
		return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || changing.MatchString(path) {
				return err
			}
			b, err := os.ReadFile(path)
			if errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EINVAL) {
				return nil // to be written only
			}
			all = append(all, "parameter "+strings.TrimPrefix(path, root+"/")+" = "+strings.Join(strings.Fields(string(b)), " "))
			return err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Same says in what two states of hosts differ.
func Same(t *testing.T, when string, before, after []string) {
	t.Helper()
	count := map[string]int{}
	for _, l := range after {
		count[l]++
	}
	for _, l := range before {
		count[l]--
	}
	for l, n := range count {
		switch {
		case n > 0:
			t.Errorf("%s there is, and was not: %s", when, l)
		case n < 0:
			t.Errorf("%s is gone: %s", when, l)
		}
	}
}
