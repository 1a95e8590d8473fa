package netns_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"nettoll/internal/netns"
)

func TestSysctlsBelongToTheirNamespace(t *testing.T) {
	all := create(t, 2)
	const key = "net/ipv4/ip_forward"
	if err := netns.SetSysctl(all[0].Path(), key, "1"); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"1", "0"} {
		if got, err := netns.Sysctl(all[i].Path(), key); err != nil || got != want {
			t.Errorf("namespace %d: %s is %q, %v; want %q", i, key, got, err, want)
		}
	}
	if err := netns.SetSysctl(all[0].Path(), "net/ipv4/tcp_rmem", "4096\t8192\t16384"); err != nil {
		t.Fatal(err)
	}
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
