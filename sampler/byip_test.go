package sampler

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/testutil/iferr"
)

// TestWhatIPReceivedByADevice has IP receive more than a device has counted.
func TestWhatIPReceivedByADevice(t *testing.T) {
	lo := func(bytes uint64) nl.Interface {
		return nl.Interface{Name: "lo", Index: 1, Up: true, Bytes: 2 * bytes, InBytes: bytes}
	}
	tunnel := nl.Interface{Name: "tunl0", Index: 2}
	second := nl.Interface{Name: "net1", Index: 4, Up: true, InBytes: 1 << 20}
	away := second
	away.Up = false
	const octets, sent = 5 << 20, 900
	for _, c := range []struct {
		name   string
		others []nl.Interface
		want   uint64
	}{
		{"alone", nil, sent + octets},
		{"with lo", []nl.Interface{lo(1000), tunnel}, sent + octets - 1000},
		{"all over lo", []nl.Interface{lo(octets + 14*10), tunnel}, sent},
		{"with a second device", []nl.Interface{lo(1000), second}, 0},
		{"with a second device that is down", []nl.Interface{lo(0), away}, sent + octets - 1<<20},
	} {
		eth0 := Counted{Interface: nl.Interface{Name: "eth0", Index: 3, Up: true, Bytes: sent + 80, InBytes: 80}}
		if got := eth0.byIP(octets, append(c.others, eth0.Interface)); got != c.want {
			t.Errorf("%s: %d bytes, want %d", c.name, got, c.want)
		}
	}
}

// TestDeviceThatCountsItself checks what IP receives by a device that counts it: no less than the payload, no more than the device
// has counted, and nothing of what crosses lo.
func TestDeviceThatCountsItself(t *testing.T) {
	spaces, err := netns.New(t.Context(), 2, func() error { return nil })
	iferr.Fatal(t, err)
	addrs := [][2]netip.Addr{}
	for i, ns := range spaces {
		t.Cleanup(func() { ns.Close() })
		four, six := fmt.Sprintf("198.19.0.%d/24", i+1), fmt.Sprintf("2001:2:0:1::%d/64", i+1)
		iferr.Fatal(t, nl.With(ns.Path(), func(n *nl.NS) error {
			if i == 0 {
				if err := n.AddPair("eth0", spaces[1].Path(), "eth0", 0); err != nil {
					return err
				}
			}
			if err := n.Up("lo", "eth0"); err != nil {
				return err
			}
			for _, at := range []string{four, six} {
				if err := n.Addr("eth0", netip.MustParsePrefix(at)); err != nil {
					return err
				}
			}
			return nil
		}))
		addrs = append(addrs, [2]netip.Addr{netip.MustParsePrefix(four).Addr(), netip.MustParsePrefix(six).Addr()})
	}
	proc := t.TempDir() // its self is the thread, which is in the namespace
	iferr.Fatal(t, os.Symlink("/proc/thread-self", filepath.Join(proc, "self")))
	count := func() (c Counted) {
		iferr.Fatal(t, netns.Do(spaces[0].Path(), func() (err error) {
			c, err = Device{Name: "eth0", ByIP: true}.count(proc)
			return err
		}))
		return c
	}
	const payload = 8 << 20
	send := func(from string, to netip.Addr) {
		t.Helper()
		var l net.Listener
		iferr.Fatal(t, netns.Do(spaces[0].Path(), func() (err error) {
			l, err = net.Listen("tcp", netip.AddrPortFrom(to, 0).String())
			return err
		}))
		defer l.Close()
		sent := make(chan error)
		go func() {
			sent <- netns.Do(from, func() error {
				c, err := net.Dial("tcp", l.Addr().String())
				if err != nil {
					return err
				}
				defer c.Close()
				_, err = c.Write(make([]byte, payload))
				return err
			})
		}()
		c, err := l.Accept()
		iferr.Fatal(t, err)
		defer c.Close()
		got, err := io.Copy(io.Discard, c)
		iferr.Fatal(t, err)
		iferr.Fatal(t, <-sent)
		if got != payload {
			t.Fatalf("%d bytes arrived", got)
		}
	}
	for _, to := range addrs[0] {
		before := count()
		send(spaces[1].Path(), to)
		after := count()
		ip, device := after.IP-before.IP, after.Bytes-before.Bytes
		if ip < payload || ip > device {
			t.Errorf("%v: IP received %d bytes of %d, and the device has counted %d", to, ip, payload, device)
		}
		before = after
		send(spaces[0].Path(), to)
		after = count()
		if most := before.IP + 4096; after.IP > most {
			t.Errorf("%v: %d bytes over lo counted as %d", to, payload, after.IP-before.IP)
		}
	}
	if c, err := (Device{Name: "lo"}).count(proc); err != nil || c.IP != 0 {
		t.Errorf("%+v, %v, although it was not asked for", c, err)
	}
}
