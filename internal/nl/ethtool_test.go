package nl_test

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"nettoll/internal/nl"
	"nettoll/internal/testutil/iferr"
	"nettoll/platform/platformtest"
)

// TestFeaturesAreThoseOfEthtool compares them with what the program ethtool prints, before and after a change.
func TestFeaturesAreThoseOfEthtool(t *testing.T) {
	program, err := exec.LookPath("ethtool")
	platformtest.Require(t, "ethtool", err)
	inPair(t, func() error {
		same := func(device string) {
			out, err := exec.Command(program, "-k", device).Output()
			iferr.Fatal(t, err)
			all := features(t, device)
			n := 0
			for line := range strings.Lines(string(out)) {
				name, state, ok := strings.Cut(strings.TrimSpace(line), ": ")
				is, known := all[name] // it prints sums of several as well
				if !ok || !known {
					continue
				}
				n++
				if want := (nl.Feature{On: strings.HasPrefix(state, "on"), Fixed: strings.Contains(state, "[fixed]")}); is != want {
					t.Errorf("%s of %s: %+v, and ethtool prints %s", name, device, is, state)
				}
			}
			if n < 40 || n > len(all) { // Linux 5.4 has 54
				t.Errorf("ethtool prints %d features of %d:\n%s", n, len(all), out)
			}
		}
		for _, device := range []string{"a", "lo"} {
			same(device)
		}
		const gro, tso = "rx-gro", "tx-tcp-segmentation"
		iferr.Fatal(t, nl.WithEthtool("", func(tool nl.Ethtool) error { return tool.Change("a", map[string]bool{gro: true, tso: false}) }))
		if all := features(t, "a"); !all[gro].On || all[tso].On {
			t.Errorf("after the change: %+v, %+v", all[gro], all[tso])
		}
		same("a")
		return nil
	})
}

func features(t *testing.T, device string) (all map[string]nl.Feature) {
	t.Helper()
	iferr.Fatal(t, nl.WithEthtool("", func(tool nl.Ethtool) (err error) {
		all, err = tool.Features(device)
		return err
	}))
	return all
}

// TestEthtoolOfDrivers asks for what the driver of veth knows, and for what it does not.
func TestEthtoolOfDrivers(t *testing.T) {
	inPair(t, func() error {
		return nl.WithEthtool("", func(tool nl.Ethtool) error {
			if name, err := tool.Driver("a"); name != "veth" || err != nil {
				t.Errorf("driver %q, %v", name, err)
			}
			if speed, err := tool.Speed("a"); speed != 10_000 || err != nil { // SPEED_10000, in drivers/net/veth.c
				t.Errorf("%d Mbit/s, %v", speed, err)
			}
			if receive, transmit, err := tool.Channels("a"); receive < 1 || transmit < 1 || err != nil {
				t.Errorf("%d and %d channels, %v", receive, transmit, err)
			}
			if _, _, err := tool.Rings("lo"); !errors.Is(err, unix.EOPNOTSUPP) {
				t.Errorf("rings of lo: %v", err)
			}
			if c, err := tool.Coalesce("lo"); c != nil || !errors.Is(err, unix.EOPNOTSUPP) {
				t.Errorf("coalescing of lo: %+v, %v", c, err)
			}
			for _, none := range []string{"c", "a-name-of-sixteen"} {
				if _, err := tool.Features(none); !errors.Is(err, unix.ENODEV) {
					t.Errorf("features of %s: %v", none, err)
				}
			}
			if err := tool.Change("a", map[string]bool{"rx-gro": true, "no-such": true}); err == nil {
				t.Error("a feature that there is not was turned on")
			}
			return nil
		})
	})
}
