package ssh

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nettoll/agent"
	"nettoll/internal/await"
	"nettoll/internal/bootstrap"
	"nettoll/internal/nl"
	"nettoll/internal/remote"
	"nettoll/internal/testutil/iferr"
	"nettoll/platform"
	"nettoll/platform/platformtest"
	"nettoll/platform/ssh/sshtest"
	"nettoll/sampler"
)

// own sends the test program as the agent.
var own = &bootstrap.Agents{File: func(string) (string, error) { return "/proc/self/exe", nil }}

// found returns two machines, which must have their uplinks in the LAN.
func found(t *testing.T, s *SSH, lan *sshtest.LAN) platform.Hosts {
	t.Helper()
	h, err := s.Hosts(t.Context(), platform.HostRequest{Count: 2})
	iferr.Fatal(t, err)
	for i, host := range h.All() {
		if got, want := host.Uplink(), lan.Hosts[i].Uplink(); got != want {
			t.Errorf("uplink %+v, want %+v", got, want)
		}
	}
	return h
}

// machines returns the platform of a LAN's machines, which is closed with the test.
func machines(t *testing.T, n int, o Options) *SSH {
	t.Helper()
	for i := range n {
		o.Targets = append(o.Targets, sshtest.Name(i))
	}
	o.Agents = own
	s := New(o)
	t.Cleanup(func() { iferr.Error(t, s.Close(context.Background())) })
	return s
}

func TestMachines(t *testing.T) {
	lan := sshtest.Start(t, platform.Underlay{}, sshtest.Machine{}, sshtest.Machine{
		Shell: "echo Welcome to b; echo 'All activity is logged' >&2; printf 'You have mail'\nexec sh -c \"$SSH_ORIGINAL_COMMAND\"",
	})
	s := machines(t, 2, Options{})
	iferr.Fatal(t, s.Probe(t.Context()))
	h := found(t, s, lan)
	for i, host := range h.All() {
		c, err := agent.Start(t.Context(), host)
		iferr.Fatal(t, err)
		var route string
		if err := c.Call(t.Context(), sampler.MethodRoute, h.All()[1-i].Uplink().Addr4.Addr(), &route); err != nil || !strings.Contains(route, host.Uplink().Device) {
			t.Errorf("the agent sends %q, %v", route, err)
		}
		for _, pid := range lan.Busy(t, i, "agent injected") {
			if open := sockets(t, pid); len(open) > 0 {
				t.Errorf("%s has sockets, which somebody could reach: %q", sshtest.Name(i), open)
			}
		}
		iferr.Error(t, c.Close())
	}
	iferr.Error(t, h.Close(t.Context()))
	if got := strings.Join(s.Stood(), "; "); got != "ssh a; ssh b" {
		t.Errorf("stood: %s", got)
	}
	at := lan.Hosts[0].Uplink().Addr4.Addr()
	if ways := s.Ways(); len(ways) != 1 || !strings.HasPrefix(ways[0], "a ("+at.String()+", ") {
		t.Errorf("ways %q", ways)
	}
}

// sockets returns the TCP and UDP sockets in the network namespace of a process, as the kernel lists them.
func sockets(t *testing.T, pid int) (all []string) {
	t.Helper()
	for _, kind := range []string{"tcp", "tcp6", "udp", "udp6"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, kind))
		if kind == "tcp" || kind == "udp" { // there may be no IPv6
			iferr.Fatal(t, err)
		}
		_, list, _ := strings.Cut(string(text), "\n") // of which the first line has titles
		for line := range strings.Lines(list) {
			all = append(all, kind+" "+strings.TrimSpace(line))
		}
	}
	return all
}

func refused(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, want := range words {
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v\nwant   %s", err, want)
		}
	}
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		m    sshtest.Machine
		o    Options
		want []string
	}{
		"no sudo": {
			m:    sshtest.Machine{Setup: "mkdir /run/bin; ln -s /bin/sh /run/bin/sh", Shell: "PATH=/run/bin; export PATH; exec sh -c \"$SSH_ORIGINAL_COMMAND\""},
			o:    Options{Sudo: true},
			want: []string{"ssh a: ", "sudo: not found; install sudo there, or log in as root and leave --sudo out"},
		},
		"another CPU": {m: sshtest.Machine{Setup: "printf '#!/bin/sh\\necho s390x\\n' >/run/uname; chmod 755 /run/uname; mount --bind /run/uname /usr/bin/uname"}, want: []string{"ssh a: it is a machine of kind s390x: none for s390x"}},
		"another libc": {
			m:    sshtest.Machine{Setup: "printf '#!/bin/sh\\necho riscv64\\n' >/run/uname; chmod 755 /run/uname; mount --bind /run/uname /usr/bin/uname"},
			want: []string{"ssh a: ", "not found; the agent does not start there: use the programs that make builds, which need no libraries"},
		},
		"full disks": {m: sshtest.Machine{Setup: full("/run /tmp /var/tmp /root /dev/shm")}, want: []string{"ssh a: no folder takes the agent: /run has no room, /tmp has no room", "make room"}},
		"no account": {m: sshtest.Machine{Shell: "echo This account is closed. >&2; exit 1"}, want: []string{"ssh a: This account is closed.; try: ssh -o BatchMode=yes a true"}},
	} {
		t.Run(name, func(t *testing.T) {
			sshtest.Start(t, platform.Underlay{}, c.m)
			s, script := machines(t, 1, c.o), filepath.Join(t.TempDir(), "script")
			s.o.Agents = &bootstrap.Agents{File: func(arch string) (string, error) {
				switch arch {
				case "s390x":
					return "", errNone
				case "riscv64": // a program whose loader is not there
					return script, os.WriteFile(script, []byte("#!/nonexistent/loader\n"), 0o644)
				}
				return "/proc/self/exe", nil
			}}
			refused(t, s.Probe(t.Context()), c.want...)
		})
	}
}

// TestExplain has errors for which the words of another one's remedy are known.
func TestExplain(t *testing.T) {
	for says, want := range map[string]string{
		`it is a machine of kind "mips64", for which there is no agent`: `ssh a: it is a machine of kind "mips64", for which there is no agent`,
		"sh: 1: exec: /proc/self/fd/9: Permission denied": "ssh a: sh: 1: exec: /proc/self/fd/9: Permission denied; the agent does not start there: " +
			"use the programs that make builds, which need no libraries, and see whether a security policy refuses to start it",
	} {
		if got := machines(t, 1, Options{}).explain("a", errors.New(says), ""); got.Error() != want {
			t.Errorf("%v\nwant %s", got, want)
		}
	}
}

var errNone = errors.New("none for s390x")

// full mounts tiny file systems over folders.
func full(folders string) string {
	return "mkdir /run/keep; mount --bind $lan /run/keep\n" +
		"for p in " + folders + "; do [ $p = /run ] || mount -t tmpfs -o size=64k tmpfs $p; done\n" +
		"mkdir -p $lan; mount --bind /run/keep $lan; mount -o remount,size=64k /run"
}

func TestUnknownHostKey(t *testing.T) {
	lan := sshtest.Start(t, platform.Underlay{}, sshtest.Machine{})
	lan.Replace(t)
	s := machines(t, 1, Options{})
	refused(t, s.Probe(t.Context()), "ssh a: its host key is another one than before; make sure that it is the same machine")
	lan.Forget(t)
	refused(t, s.Probe(t.Context()), "ssh a: Host key verification failed.; log in once with ssh a and check its host key")
}

func TestSudo(t *testing.T) {
	// A sudo that knows no rules, and one that does what it is told.
	const asks = "printf '#!/bin/sh\\necho sudo: a password is required >&2; exit 1\\n' >/run/sudo; chmod 755 /run/sudo"
	const obeys = "printf '#!/bin/sh\\nshift; exec env -i PATH=$PATH \"$@\"\\n' >/run/sudo; chmod 755 /run/sudo"
	const login = "PATH=/run:$PATH; export PATH; exec sh -c \"$SSH_ORIGINAL_COMMAND\""
	sshtest.Start(t, platform.Underlay{}, sshtest.Machine{Setup: asks, Shell: login})
	refused(t, machines(t, 1, Options{Sudo: true}).Probe(t.Context()), "ssh a: sudo: a password is required; --sudo takes a rule of sudoers with NOPASSWD")
	sshtest.Start(t, platform.Underlay{}, sshtest.Machine{Setup: obeys, Shell: login})
	iferr.Error(t, machines(t, 1, Options{Sudo: true}).Probe(t.Context()))
}

// TestSlow logs in over a connection with a round-trip time of 50 ms that carries 20 Mbit/s.
func TestSlow(t *testing.T) {
	sshtest.Start(t, platform.Underlay{}, sshtest.Machine{Delay: 25 * time.Millisecond, Rate: 20e6 / 8})
	s := machines(t, 1, Options{})
	h, err := s.Hosts(t.Context(), platform.HostRequest{Count: 1})
	iferr.Fatal(t, err)
	c, err := agent.Start(t.Context(), h.All()[0])
	iferr.Fatal(t, err)
	iferr.Error(t, c.Close())
}

// TestVanishes cuts a machine off, and checks that a call of its agent fails with the reason.
func TestVanishes(t *testing.T) {
	lan := sshtest.Start(t, platform.Underlay{}, sshtest.Machine{})
	s := machines(t, 1, Options{})
	s.beat, s.patience = 50*time.Millisecond, 10*time.Second // for a busy machine to answer until it vanishes
	h, err := s.Hosts(t.Context(), platform.HostRequest{Count: 1})
	iferr.Fatal(t, err)
	c, err := agent.Start(t.Context(), h.All()[0])
	iferr.Fatal(t, err)
	lan.Vanish(0)
	refused(t, c.Call(t.Context(), sampler.MethodCounters, nil, nil), "agent has ended")
	c.Close()
}

// TestGiven names an address that a machine does not have, and then one that it has.
func TestGiven(t *testing.T) {
	lan := sshtest.Start(t, platform.Underlay{}, sshtest.Machine{}, sshtest.Machine{})
	s := machines(t, 2, Options{At: map[string]netip.Addr{"b": netip.MustParseAddr("192.0.2.1")}})
	refused(t, s.Probe(t.Context()), "--address b=192.0.2.1: that is not an address of b alone")
	s = machines(t, 2, Options{At: map[string]netip.Addr{"b": lan.Hosts[1].Uplink().Addr4.Addr()}})
	iferr.Error(t, s.Probe(t.Context()))
}

// TestLogsInAgain cuts the connection to one of two machines while a network stands on both. What stood there is gone
// without an error, and the next network logs in to that machine again, and to no other.
func TestLogsInAgain(t *testing.T) {
	lan := sshtest.Start(t, platform.Underlay{}, sshtest.Machine{}, sshtest.Machine{})
	s := machines(t, 2, Options{})
	use := func() platform.Hosts {
		t.Helper()
		h, err := s.Hosts(t.Context(), platform.HostRequest{Count: 2})
		iferr.Fatal(t, err)
		for _, host := range h.All() {
			inside, err := host.Containers(t.Context(), 1)
			iferr.Fatal(t, err)
			c, err := agent.Start(t.Context(), inside[0])
			iferr.Fatal(t, err)
			iferr.Error(t, c.Close())
		}
		return h
	}
	stood := use()
	before := slices.Clone(s.machines)
	lan.Reset(0)
	for began := time.Now(); !before[0].lost(); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatal("the connection was cut, and the agent's end has not been noticed")
		}
	}
	iferr.Error(t, stood.Close(t.Context()))
	iferr.Error(t, use().Close(t.Context()))
	if s.machines[0] == before[0] || s.machines[1] != before[1] {
		t.Errorf("a logged in again: %v, b: %v", s.machines[0] != before[0], s.machines[1] != before[1])
	}
}

// TestControlMaster logs in where the user's configuration has logins share a connection. nettoll makes none that others share,
// which would end with it. It shares the user's: the agents end with nettoll all the same, it does not wait for the connection, and
// that stays.
func TestControlMaster(t *testing.T) {
	lan := sshtest.Start(t, platform.Underlay{}, sshtest.Machine{}, sshtest.Machine{})
	path := filepath.Join(lan.Dir, "config")
	config, err := os.ReadFile(path)
	iferr.Fatal(t, err)
	iferr.Fatal(t, os.WriteFile(path, append(config, " ControlMaster auto\n ControlPath "+lan.Dir+"/to-%n\n ControlPersist 600\n"...), 0o600))
	t.Cleanup(func() {
		for i := range lan.Hosts {
			_ = exec.Command("ssh", "-O", "exit", sshtest.Name(i)).Run() // it may have ended with its machine
		}
	})
	for _, shared := range []bool{false, true} {
		for i := range lan.Hosts {
			if shared {
				iferr.Fatal(t, exec.Command("ssh", sshtest.Name(i), "true").Run())
			}
		}
		s := machines(t, 2, Options{})
		h := found(t, s, lan)
		c, err := agent.Start(t.Context(), h.All()[0])
		iferr.Fatal(t, err)
		iferr.Error(t, c.Close())
		iferr.Error(t, h.Close(t.Context()))
		began := time.Now()
		iferr.Error(t, s.Close(t.Context()))
		if took := time.Since(began); took > time.Minute {
			t.Errorf("closing took %v", took)
		}
		for i := range lan.Hosts {
			if out, err := exec.Command("ssh", "-O", "check", sshtest.Name(i)).CombinedOutput(); shared != (err == nil) {
				t.Errorf("a connection is shared with %s: %v, want %v: %v: %s", sshtest.Name(i), err == nil, shared, err, out)
			}
			lan.Empty(t, i)
		}
	}
}

// TestKeyOfAnAgent has the user's key in an ssh-agent, and nowhere else.
func TestKeyOfAnAgent(t *testing.T) {
	lan := sshtest.Start(t, platform.Underlay{}, sshtest.Machine{}, sshtest.Machine{})
	socket, key := filepath.Join(lan.Dir, "agent"), filepath.Join(lan.Dir, "user")
	holder := exec.Command("ssh-agent", "-D", "-a", socket)
	iferr.Fatal(t, holder.Start())
	end := sync.OnceFunc(func() {
		iferr.Error(t, holder.Process.Kill())
		_ = holder.Wait() // it was killed
	})
	t.Cleanup(end)
	t.Setenv("SSH_AUTH_SOCK", socket)
	iferr.Fatal(t, await.Until(t.Context(), time.Minute, 10*time.Millisecond, func(context.Context) (missing, err error) {
		_, missing = os.Stat(socket)
		return missing, nil
	}))
	if out, err := exec.Command("ssh-add", key).CombinedOutput(); err != nil {
		t.Fatalf("ssh-add: %v: %s", err, out)
	}
	iferr.Fatal(t, os.Remove(key))
	s := machines(t, 2, Options{})
	h := found(t, s, lan)
	iferr.Error(t, h.Close(t.Context()))
	iferr.Error(t, s.Close(t.Context()))
	end()
	refused(t, machines(t, 2, Options{}).Probe(t.Context()), "Permission denied")
}

// TestJumpHost has a machine that can be reached only by another, which the user's configuration names. If the connection to that
// one is cut, the agent ends as if the machine's own were.
func TestJumpHost(t *testing.T) {
	lan := sshtest.Start(t, platform.Underlay{}, sshtest.Machine{}, sshtest.Machine{Jump: sshtest.Name(2)}, sshtest.Machine{})
	s := machines(t, 2, Options{})
	h := found(t, s, lan)
	c, err := agent.Start(t.Context(), h.All()[1])
	iferr.Fatal(t, err)
	var route string
	if err := c.Call(t.Context(), sampler.MethodRoute, h.All()[0].Uplink().Addr4.Addr(), &route); err != nil || !strings.Contains(route, h.All()[1].Uplink().Device) {
		t.Errorf("the agent sends %q, %v", route, err)
	}
	lan.Reset(2)
	lan.Empty(t, 1)
	c.Close() // its agent has ended
	iferr.Error(t, h.Close(t.Context()))
	iferr.Error(t, s.Close(t.Context()))
	for i := range lan.Hosts {
		lan.Empty(t, i)
	}
}

// TestAddressesInCommon has machines that both have the address of Docker's bridge. They reach each other by the others;
// the common one is not taken even if it is named, and if there is no other, an error says what to do.
func TestAddressesInCommon(t *testing.T) {
	lan := sshtest.Start(t, platform.Underlay{}, sshtest.Machine{}, sshtest.Machine{})
	common := netip.MustParsePrefix("172.17.0.1/16")
	on := func(i int, do func(*nl.NS) error) {
		t.Helper()
		iferr.Fatal(t, nl.With(lan.Hosts[i].Facts().NetNS, do))
	}
	for i := range lan.Hosts {
		on(i, func(n *nl.NS) error {
			if err := n.Add(&netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "docker0"}}); err != nil {
				return err
			}
			if err := n.Up("docker0"); err != nil {
				return err
			}
			return n.Addr("docker0", common)
		})
	}
	s := machines(t, 2, Options{})
	h := found(t, s, lan)
	iferr.Error(t, h.Close(t.Context()))
	named := machines(t, 2, Options{At: map[string]netip.Addr{"b": common.Addr()}})
	refused(t, named.Probe(t.Context()), "--address b=172.17.0.1: that is not an address of b alone")
	on(1, func(n *nl.NS) error {
		up := lan.Hosts[1].Uplink()
		return errors.Join(n.Unaddr(up.Device, up.Addr4), n.Unaddr(up.Device, up.Addr6))
	})
	refused(t, machines(t, 2, Options{}).Probe(t.Context()),
		"no addresses are known by which a and b reach each other; name them with --address a=ADDRESS,b=ADDRESS")
}

// TestInterrupted gives up a login to a machine that does not answer.
func TestInterrupted(t *testing.T) {
	sshtest.Start(t, platform.Underlay{}, sshtest.Machine{Setup: "sleep 60"})
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(300*time.Millisecond, func() { cancel(errors.New("by the user")) })
	if err := machines(t, 1, Options{}).Probe(ctx); err == nil || err.Error() != "by the user" {
		t.Errorf("error %v", err)
	}
}

func TestNoSSH(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	refused(t, machines(t, 1, Options{}).Probe(t.Context()), "ssh a: there is no ssh here; "+platform.Install("openssh-client"))
}

func TestConformance(t *testing.T) {
	sshtest.Start(t, platform.Underlay{}, sshtest.Machine{}, sshtest.Machine{}, sshtest.Machine{})
	platformtest.Conform(t, machines(t, 3, Options{}))
}

// TestSweep kills a login while it receives the agent, stops the agent of another, and leaves a device: what is left on the
// machine is found and removed, and what is in use is kept.
func TestSweep(t *testing.T) {
	lan := sshtest.Start(t, platform.Underlay{}, sshtest.Machine{
		// The folders of the machine outlast a login. /run, which does not, is read-only, so that it is not used.
		Setup: "mkdir /run/keep; mount --bind $lan /run/keep; for d in tmp var/tmp root dev/shm; do mkdir -p $lan/of/$d; mount --bind $lan/of/$d /$d; done\n" +
			"mkdir -p $lan; mount --bind /run/keep $lan; mount -o remount,ro /run",
	})
	s := machines(t, 1, Options{})
	// check expects exactly one thing to be left, a folder, a device or the agent of, and to be kept or not. It ignores other agents,
	// which can be those of other tests on the same kernel.
	check := func(how remote.Sweep, of, kept string) {
		t.Helper()
		all := s.Sweep(t.Context(), how)
		if len(all) != 1 || all[0].Target != "a" || all[0].Err != nil {
			t.Fatalf("swept %+v", all)
		}
		left := slices.DeleteFunc(all[0].Left, func(l remote.Left) bool { return strings.HasPrefix(l.What, "agent ") && l.What != of })
		if len(left) != 1 || !strings.HasPrefix(left[0].What, of) || !strings.HasPrefix(left[0].Kept, kept) || (left[0].Kept == "") != (kept == "") {
			t.Errorf("%+v: left %+v, want %s, kept %q", how, left, of, kept)
		}
	}
	folders := func() int {
		all, _ := filepath.Glob(lan.Dir + "/of/tmp/nettoll-??????")
		return len(all)
	}
	const folder = "folder /tmp/nettoll-"
	mark := bootstrap.Mark()
	login := exec.Command("ssh", "a", "exec sh -c '"+bootstrap.Script(mark)+"'")
	in, err1 := login.StdinPipe() // nothing comes
	out, err2 := login.StdoutPipe()
	iferr.Fatal(t, errors.Join(err1, err2, login.Start()))
	defer in.Close()
	shells := lan.Busy(t, 0, mark)
	said := bufio.NewScanner(out)
	bound := time.AfterFunc(5*time.Minute, func() { _ = login.Process.Kill() })
	for said.Scan() && !strings.HasPrefix(said.Text(), mark+" send") { // it then uses a folder
	}
	bound.Stop()
	if folders() != 1 {
		t.Fatalf("the shell has %d folders: %v", folders(), said.Err())
	}
	check(remote.Sweep{Remove: true, All: true}, folder, "an agent is being received there")
	for _, pid := range shells {
		if err := unix.Kill(pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
			t.Fatal(err)
		}
	}
	_ = login.Wait() // it ends as the shell did
	lan.Empty(t, 0)
	check(remote.Sweep{}, folder, "")
	if folders() != 1 {
		t.Error("it was removed when it was listed")
	}
	check(remote.Sweep{Remove: true}, folder, "")
	if folders() != 0 {
		t.Error("it was not removed")
	}

	lost, err := s.connect(t.Context(), "h1", "a")
	iferr.Fatal(t, err)
	pid := lan.Busy(t, 0, "agent injected")[0]
	agent := fmt.Sprintf("agent %d", pid)
	check(remote.Sweep{Remove: true}, agent, "a run may be using it")
	iferr.Fatal(t, unix.Kill(pid, unix.SIGSTOP))
	iferr.Fatal(t, await.Until(t.Context(), time.Minute, time.Millisecond, func(context.Context) (missing, err error) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if !strings.Contains(string(stat), ") T ") { // a signal takes a moment
			missing = fmt.Errorf("the agent is not stopped: %s", stat)
		}
		return missing, err
	}))
	check(remote.Sweep{}, agent, "")
	check(remote.Sweep{Remove: true}, agent, "")
	lan.Empty(t, 0)
	iferr.Error(t, lost.close())

	// The device of an agent that was killed before it had moved it to a namespace of its own.
	there := lan.Hosts[0].Facts().NetNS
	iferr.Fatal(t, nl.With(there, func(n *nl.NS) error {
		return n.Add(&netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: nl.Provisional}})
	}))
	check(remote.Sweep{All: true}, "device "+nl.Provisional, "")
	check(remote.Sweep{Remove: true, All: true}, "device "+nl.Provisional, "")
	iferr.Error(t, nl.With(there, func(n *nl.NS) error {
		if _, err := n.Link(nl.Provisional); err == nil {
			t.Error("the device was not removed")
		}
		return nil
	}))
}
