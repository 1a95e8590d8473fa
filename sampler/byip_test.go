package sampler

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/testutil/iferr"
	"nettoll/record"
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

// joinedSpaces makes two namespaces with a veth pair between them. It returns their paths, their addresses, and what counts eth0 of
// the first.
func joinedSpaces(t *testing.T) (paths []string, addrs [][2]netip.Prefix, count func() Counted) {
	t.Helper()
	spaces, err := netns.New(t.Context(), 2, func() error { return nil })
	iferr.Fatal(t, err)
	for i, ns := range spaces {
		t.Cleanup(func() { ns.Close() })
		both := [2]netip.Prefix{netip.MustParsePrefix(fmt.Sprintf("198.19.0.%d/24", i+1)), netip.MustParsePrefix(fmt.Sprintf("2001:2:0:1::%d/64", i+1))}
		iferr.Fatal(t, nl.With(ns.Path(), func(n *nl.NS) error {
			if i == 0 {
				if err := n.AddPair("eth0", spaces[1].Path(), "eth0", 0); err != nil {
					return err
				}
			}
			if err := n.Up("lo", "eth0"); err != nil {
				return err
			}
			return record.Try(both[:], func(at netip.Prefix) error { return n.Addr("eth0", at) })
		}))
		paths, addrs = append(paths, ns.Path()), append(addrs, both)
	}
	proc := t.TempDir() // its self is the thread, which is in the namespace
	iferr.Fatal(t, os.Symlink("/proc/thread-self", filepath.Join(proc, "self")))
	return paths, addrs, func() (c Counted) {
		t.Helper()
		iferr.Fatal(t, netns.Do(paths[0], func() (err error) {
			c, err = Device{Name: "eth0", ByIP: true}.count(proc)
			return err
		}))
		return c
	}
}

// TestDeviceThatDoesNotCount has the kernel receive packets by a device that does not count them: a program of XDP that is run with
// live frames lets them pass.
func TestDeviceThatDoesNotCount(t *testing.T) {
	paths, addrs, count := joinedSpaces(t)
	const size, packets = 1000, 2000
	before := count()
	iferr.Fatal(t, netns.Do(paths[0], func() error {
		eth0, err := net.InterfaceByName("eth0")
		if err != nil {
			return err
		}
		to := addrs[0][0].Addr().As4()
		c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: to[:]})
		if err != nil {
			return err
		}
		defer c.Close()
		from := addrs[1][0].Addr().As4()
		const header, all = 8, 20 + 8 + size // of UDP, and of the packet
		frame := append(append(eth0.HardwareAddr[:6:6], 2, 0, 0, 0, 0, 1), 8, 0)
		ip := []byte{0x45, 0, all >> 8, all & 0xff, 0, 0, 0, 0, 64, unix.IPPROTO_UDP, 0, 0}
		ip = append(append(ip, from[:]...), to[:]...)
		sum := uint32(0)
		for i := 0; i < len(ip); i += 2 {
			sum += uint32(binary.BigEndian.Uint16(ip[i:]))
		}
		binary.BigEndian.PutUint16(ip[10:], ^uint16(sum+sum>>16))
		udp := binary.BigEndian.AppendUint16([]byte{0, 9}, uint16(c.LocalAddr().(*net.UDPAddr).Port))
		udp = append(binary.BigEndian.AppendUint16(udp, header+size), 0, 0)
		if err := pass(t, eth0.Index, packets, slices.Concat(frame, ip, udp, make([]byte, size))); err != nil {
			return err
		}
		_ = c.SetReadDeadline(time.Now().Add(time.Minute))
		n, _, err := c.ReadFrom(make([]byte, 2*size))
		if err == nil && n != size {
			err = fmt.Errorf("%d bytes arrived", n)
		}
		return err
	}))
	after := count()
	const payload = size * packets
	if ip, device := after.IP-before.IP, after.Bytes-before.Bytes; ip < payload || ip > payload*11/10 || device > payload/100 {
		t.Errorf("IP received %d bytes of %d, and the device has counted %d", ip, payload, device)
	}
}

// pass has the kernel receive a frame by a device of this namespace, many times. It skips the test where the kernel cannot.
func pass(t *testing.T, device, times int, frame []byte) error {
	text := [2]uint64{0x0000_0002_0000_00b7, 0x95} // r0 = XDP_PASS; exit
	license := []byte("GPL\x00")
	program := struct {
		kind, size       uint32
		program, license unsafe.Pointer
		_                [3]uint64
	}{unix.BPF_PROG_TYPE_XDP, uint32(len(text)), unsafe.Pointer(&text), unsafe.Pointer(&license[0]), [3]uint64{}}
	fd, _, errno := unix.Syscall(unix.SYS_BPF, unix.BPF_PROG_LOAD, uintptr(unsafe.Pointer(&program)), unsafe.Sizeof(program))
	if errno == unix.EPERM || errno == unix.EINVAL || errno == unix.ENOSYS { // without the right, or without BPF
		t.Skipf("load a program of XDP: %v", errno)
	}
	if errno != 0 {
		return fmt.Errorf("load a program of XDP: %w", errno)
	}
	defer unix.Close(int(fd))
	at := [6]uint32{1: uint32(len(frame)), 3: uint32(device)} // struct xdp_md
	run := struct {
		program, verdict, in, out uint32
		frame, answer             unsafe.Pointer
		times, took, size, _      uint32
		at, _                     unsafe.Pointer
		flags, cpu, batch, _      uint32
	}{
		program: uint32(fd), in: uint32(len(frame)), frame: unsafe.Pointer(&frame[0]), times: uint32(times),
		size: uint32(unsafe.Sizeof(at)), at: unsafe.Pointer(&at), flags: unix.BPF_F_TEST_XDP_LIVE_FRAMES,
	}
	_, _, errno = unix.Syscall(unix.SYS_BPF, unix.BPF_PROG_TEST_RUN, uintptr(unsafe.Pointer(&run)), unsafe.Sizeof(run))
	if errors.Is(errno, unix.EINVAL) { // before Linux 5.18
		t.Skipf("run it with live frames: %v", errno)
	}
	if errno != 0 {
		return fmt.Errorf("run a program of XDP: %w", errno)
	}
	return nil
}

// TestDeviceThatCountsItself checks what IP receives by a device that counts it: no less than the payload, no more than the device
// has counted, and nothing of what crosses lo.
func TestDeviceThatCountsItself(t *testing.T) {
	paths, addrs, count := joinedSpaces(t)
	const payload = 8 << 20
	send := func(from string, to netip.Addr) {
		t.Helper()
		var l net.Listener
		iferr.Fatal(t, netns.Do(paths[0], func() (err error) {
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
	for _, at := range addrs[0] {
		to := at.Addr()
		before := count()
		send(paths[1], to)
		after := count()
		ip, device := after.IP-before.IP, after.Bytes-before.Bytes
		if ip < payload || ip > device {
			t.Errorf("%v: IP received %d bytes of %d, and the device has counted %d", to, ip, payload, device)
		}
		before = after
		send(paths[0], to)
		after = count()
		if most := before.IP + 4096; after.IP > most {
			t.Errorf("%v: %d bytes over lo counted as %d", to, payload, after.IP-before.IP)
		}
	}
	if c, err := (Device{Name: "lo"}).count("/proc"); err != nil || c.IP != 0 {
		t.Errorf("%+v, %v, although it was not asked for", c, err)
	}
}
