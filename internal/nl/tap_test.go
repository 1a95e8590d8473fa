package nl_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/testutil/iferr"
)

// inPair runs fn in a new namespace with the veth pair a and b.
func inPair(t *testing.T, fn func() error) {
	t.Helper()
	made, err := netns.New(t.Context(), 1, func() error {
		err := nl.With("", func(n *nl.NS) error {
			if err := n.AddPair("a", "/proc/thread-self/ns/net", "b", 0); err != nil {
				return err
			}
			if err := n.Up("a", "b"); err != nil {
				return err
			}
			return n.Running(t.Context(), "a", "b")
		})
		if err != nil {
			return err
		}
		return fn()
	})
	for _, ns := range made {
		ns.Close()
	}
	iferr.Fatal(t, err)
}

func TestPacketHearsTheOtherEndOnly(t *testing.T) {
	// A protocol number for experiments (IEEE 802), and an address that no device has.
	said := append([]byte{2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8, 0x88, 0xb5}, bytes.Repeat([]byte("x"), 46)...)
	var a, b *os.File
	inPair(t, func() (err error) {
		if a, err = nl.Packet("a"); err != nil {
			return err
		}
		b, err = nl.Packet("b")
		return err
	})
	defer a.Close()
	defer b.Close()
	if _, err := a.Write(said); err != nil {
		t.Fatal(err)
	}
	if !heard(t, b, said, 10*time.Second) {
		t.Error("the other end has not heard it")
	}
	if heard(t, a, said, 20*time.Millisecond) {
		t.Error("the end that said it has heard it")
	}
}

// heard looks for a frame among those that the kernel sends by itself.
func heard(t *testing.T, f *os.File, want []byte, patience time.Duration) bool {
	t.Helper()
	iferr.Fatal(t, f.SetReadDeadline(time.Now().Add(patience)))
	buf := make([]byte, 2000)
	for {
		n, err := f.Read(buf)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return false
		}
		iferr.Fatal(t, err)
		if bytes.Equal(buf[:n], want) {
			return true
		}
	}
}

func TestPacketOnNothing(t *testing.T) {
	inPair(t, func() error {
		f, err := nl.Packet("c")
		if err == nil {
			f.Close()
			t.Error("there is a packet socket on a device that does not exist")
		}
		return nil
	})
}

func TestTUNGoesWithItsFile(t *testing.T) {
	if f, err := os.OpenFile("/dev/net/tun", os.O_RDWR, 0); errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		t.Skip(err)
	} else {
		iferr.Fatal(t, err)
		f.Close()
	}
	inPair(t, func() error {
		f, err := nl.TUN("tun7")
		if err != nil {
			return err
		}
		return nl.With("", func(n *nl.NS) error {
			if _, err := n.Link("tun7"); err != nil {
				t.Error(err)
			}
			if again, err := nl.TUN("tun7"); err == nil {
				again.Close()
				t.Error("it was made twice")
			}
			if err := f.Close(); err != nil {
				return err
			}
			if _, err := n.Link("tun7"); !errors.As(err, &netlink.LinkNotFoundError{}) {
				t.Errorf("it is still there: %v", err)
			}
			return nil
		})
	})
}

func TestCompleteChecksums(t *testing.T) {
	inPair(t, func() error {
		if err := nl.CompleteChecksums("", "a"); err != nil {
			return err
		}
		for device, want := range map[string]bool{"a": false, "b": true} {
			all := features(t, device)
			for _, feature := range []string{"tx-checksum-ip-generic", "tx-tcp-segmentation"} {
				if all[feature].On != want {
					t.Errorf("%s of %s: %v, want %v", feature, device, all[feature].On, want)
				}
			}
		}
		if err := nl.CompleteChecksums("", "c"); err == nil {
			t.Error("a device that does not exist completes checksums")
		}
		return nil
	})
}

func TestRemoveDatapathThatIsNotThere(t *testing.T) {
	inPair(t, func() error { return nl.RemoveDatapath("", "datapath") })
}
