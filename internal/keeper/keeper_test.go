package keeper

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/machine"
	"nettoll/platform"
)

// patience bounds every wait; it is not an expected duration.
const patience = time.Minute

// The test program also serves as keepers, agents and servers.
func TestMain(m *testing.M) {
	if slices.Equal(os.Args[1:], Args) {
		os.Exit(Main())
	}
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "agent-to-be-killed":
			agentToBeKilled(os.Args[2] == "alone", os.Args[3:])
		case "forks":
			forks(os.Args[2:])
		case "orphans":
			orphans(os.Args[2])
		case "binds":
			binds(os.Args[2:])
		case "ends":
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// self returns the test program as a program.
func self(args ...string) Program { return Program{Path: "/proc/self/exe", Args: args} }

// agentToBeKilled keeps a program and waits to be killed.
func agentToBeKilled(alone bool, args []string) {
	runtime.LockOSThread()
	k, err := started(Spec{Program: self(args...)}, alone)
	if err == nil {
		err = k.Ready(context.Background())
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	_ = k.Wait()
	os.Exit(0)
}

// started starts a keeper with namespaces or without.
func started(s Spec, alone bool) (*Kept, error) {
	if alone {
		return try(s, os.Stdout, os.Stderr, 0, false)
	}
	return Start(s, os.Stdout, os.Stderr, false)
}

// forks is a server that forks twice, each time into a new session, and whose last child is not
// tied to the life of any other process.
func forks(args []string) {
	left, _ := strconv.Atoi(args[0])
	if left > 0 {
		cmd := exec.Command("/proc/self/exe", append([]string{"forks", strconv.Itoa(left - 1)}, args[1:]...)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		if left == 1 {
			os.Exit(0) // the last one is an orphan
		}
	}
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	time.Sleep(time.Hour)
}

// orphans leaves children whose parents have ended, so that nobody but the keeper reaps them.
func orphans(number string) {
	n, _ := strconv.Atoi(number)
	for range n {
		if out, err := exec.Command("/bin/sh", "-c", "sleep 0.01 & exit 0").CombinedOutput(); err != nil {
			fmt.Println(err, string(out))
			os.Exit(1)
		}
	}
	fmt.Println("left")
	time.Sleep(time.Hour)
}

// mark returns an argument that no other process has.
func mark(t *testing.T) string {
	return fmt.Sprintf("keeper-test-%d-%s", os.Getpid(), strings.ReplaceAll(t.Name(), "/", "-"))
}

// orphan returns a text that is in the arguments of the last process that forks makes.
func orphan(mark string) string { return "forks\x000\x00" + mark }

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// both runs a test with keepers that have namespaces, and with keepers that have none.
func both(t *testing.T, test func(t *testing.T, alone bool)) {
	for _, alone := range []bool{false, true} {
		t.Run(fmt.Sprintf("alone=%v", alone), func(t *testing.T) {
			if !alone {
				need(t, CanKeep())
			}
			test(t, alone)
		})
	}
}

// need skips a test that this kernel, or this user, does not support. Root of a machine that permits namespaces can do everything.
func need(t *testing.T, err error) {
	t.Helper()
	most, _ := os.ReadFile("/proc/sys/user/max_pid_namespaces")
	if errors.Is(err, platform.ErrUnsupported) && (os.Geteuid() != 0 || strings.TrimSpace(string(most)) == "0") {
		t.Skip(err)
	}
	iferr.Fatal(t, err)
}

// TestAllEndWithTheAgent kills an agent whose server has forked twice.
func TestAllEndWithTheAgent(t *testing.T) {
	both(t, func(t *testing.T, alone bool) {
		m, how := mark(t), "namespaces"
		if alone {
			how = "alone"
		}
		agent := exec.Command("/proc/self/exe", "agent-to-be-killed", how, "forks", "2", m)
		agent.Stdout, agent.Stderr = os.Stdout, os.Stderr
		iferr.Fatal(t, agent.Start())
		until(t, "the server has forked", func() bool { return len(machine.Processes(t, orphan(m))) == 1 })
		iferr.Fatal(t, agent.Process.Kill())
		_ = agent.Wait() // it was killed
		until(t, "nothing is left", func() bool { return len(machine.Processes(t, m)) == 0 })
	})
}

// TestOrdinaryUser kills the agent of an ordinary user.
func TestOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("all tests here are of an ordinary user")
	}
	if b, err := os.ReadFile("/proc/sys/user/max_user_namespaces"); err != nil || strings.TrimSpace(string(b)) == "0" {
		t.Skip("ordinary users may have no namespaces here")
	}
	m := mark(t)
	agent := exec.Command("/proc/self/exe", "agent-to-be-killed", "namespaces", "forks", "2", m)
	agent.Stdout, agent.Stderr, agent.Dir = os.Stdout, os.Stderr, "/"
	agent.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	iferr.Fatal(t, agent.Start())
	until(t, "the server has forked", func() bool { return len(machine.Processes(t, orphan(m))) == 1 })
	for _, pid := range machine.Processes(t, orphan(m)) {
		if own, err := os.Readlink("/proc/self/ns/user"); err != nil {
			t.Error(err)
		} else if in, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/user", pid)); err != nil || in == own {
			t.Errorf("the server is in the user namespace %s, and this is %s, %v", in, own, err)
		}
	}
	iferr.Fatal(t, agent.Process.Kill())
	_ = agent.Wait() // it was killed
	until(t, "nothing is left", func() bool { return len(machine.Processes(t, m)) == 0 })
}

// kept starts a keeper from a thread that lives as long as the test.
func kept(t *testing.T, s Spec, alone bool) *Kept {
	t.Helper()
	var k *Kept
	var err error
	begun, done := make(chan struct{}), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		k, err = started(s, alone)
		close(begun)
		if err == nil {
			_ = k.Wait()
		}
		close(done)
	}()
	<-begun
	need(t, err)
	t.Cleanup(func() {
		k.Kill()
		<-done
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	iferr.Fatal(t, k.Ready(ctx))
	return k
}

// TestKill ends a server that forks twice and ignores signals.
func TestKill(t *testing.T) {
	both(t, func(t *testing.T, alone bool) {
		m := mark(t)
		k := kept(t, Spec{Program: self("forks", "2", m)}, alone)
		until(t, "the server has forked", func() bool { return len(machine.Processes(t, orphan(m))) == 1 })
		k.Kill()
		until(t, "nothing is left", func() bool { return len(machine.Processes(t, m)) == 0 })
	})
}

// TestOrphansAreReaped has a program whose children lose their parents, and end.
func TestOrphansAreReaped(t *testing.T) {
	both(t, func(t *testing.T, alone bool) {
		k := kept(t, Spec{Program: self("orphans", "50")}, alone)
		until(t, "the program has left its children", func() bool { return len(Family(k.Cmd.Process.Pid)) > 1 })
		until(t, "all are reaped", func() bool {
			family := Family(k.Cmd.Process.Pid)
			return len(family) == 2 && !slices.ContainsFunc(family, func(pid int) bool {
				b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
				return bytes.Contains(b, []byte(") Z "))
			})
		})
	})
}

// TestStatus checks the reported exit status and signal of programs.
func TestStatus(t *testing.T) {
	both(t, func(t *testing.T, alone bool) {
		for script, want := range map[string]struct {
			status int
			signal syscall.Signal
		}{"exit 0": {}, "exit 7": {7, 0}, "kill -USR1 $$": {-1, syscall.SIGUSR1}} {
			k := kept(t, Spec{Program: Program{Path: "sh", Args: []string{"-c", script}}}, alone)
			<-k.Ended()
			if status, signal, _ := k.Status(); status != want.status || signal != want.signal {
				t.Errorf("%s: %d %d, want %+v", script, status, signal, want)
			}
		}
	})
}

// TestSignals checks that SIGTERM and SIGINT reach the program.
func TestSignals(t *testing.T) {
	both(t, func(t *testing.T, alone bool) {
		for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
			k := kept(t, Spec{Program: Program{Path: "sh", Args: []string{"-c", "trap 'exit 3' INT; trap 'exit 4' TERM; echo > ready; sleep 100 & wait"}}, Files: map[string]File{}}, alone)
			until(t, "the program is ready", func() bool {
				_, err := os.Stat(filepath.Join(k.Room(), "ready"))
				return err == nil
			})
			iferr.Fatal(t, syscall.Kill(k.Cmd.Process.Pid, s))
			<-k.Ended()
			if status, _, _ := k.Status(); status != map[syscall.Signal]int{syscall.SIGINT: 3, syscall.SIGTERM: 4}[s] {
				t.Errorf("%v: status %d", s, status)
			}
		}
	})
}

// TestPlace has a program with files, preceded by others that make more of them, none of them
// running as root, started by somebody whose new files are for nobody else.
func TestPlace(t *testing.T) {
	defer unix.Umask(unix.Umask(0o077))
	both(t, func(t *testing.T, alone bool) {
		sh := func(script string) Program {
			return Program{Path: "sh", Args: []string{"-c", script}, Env: []string{"WORD=hello"}, Stdin: "given"}
		}
		k := kept(t, Spec{
			Program: sh(`cat /dev/stdin /dev/stdin >twice; id -u >user; wc -c <zeros >size; cp /proc/self/limits .`), Nobody: true, Linger: true,
			Before: []Program{sh("mkdir made; cat >made/in"), sh("test $(cat made/in) = given; echo $WORD >word")},
			Files:  map[string]File{"text": {Text: "a text"}, "zeros": {Text: "x", Size: 1 << 20}},
		}, alone)
		<-k.Ended()
		if status, signal, _ := k.Status(); status != 0 {
			t.Errorf("status %d, signal %d", status, signal)
		}
		for name, want := range map[string]string{
			"text": "a text", "made/in": "given", "word": "hello\n", "twice": "givengiven", "size": "1048576\n", "user": "65534\n",
		} {
			b, err := os.ReadFile(filepath.Join(k.Room(), name))
			if err != nil || string(b) != want && os.Geteuid() == 0 {
				t.Errorf("%s: %q, %v; want %q", name, b, err, want)
			}
		}
		limits, _ := os.ReadFile(filepath.Join(k.Room(), "limits"))
		for line := range strings.Lines(string(limits)) {
			if f := strings.Fields(line); strings.HasPrefix(line, "Max open files") && f[3] != f[4] {
				t.Errorf("it may open %s files of %s", f[3], f[4])
			}
		}
		room, _ := os.Readlink(k.Room())
		k.Release()
		until(t, "its directory is gone", func() bool {
			left, _ := filepath.Glob(filepath.Join(room, "made"))
			return len(left) == 0
		})
	})
}

// TestWhatCannotBegin checks the reasons for programs that cannot be started.
func TestWhatCannotBegin(t *testing.T) {
	fails := Program{Path: "sh", Args: []string{"-c", "echo one; echo two >&2; exit 5"}}
	for _, c := range []struct {
		spec Spec
		want string
	}{
		{Spec{Program: Program{Path: "no-such-program"}}, `exec: "no-such-program": executable file not found in $PATH`},
		{Spec{Program: Program{Path: "/nonexistent/program"}}, "/nonexistent/program: no such file or directory"},
		{Spec{Program: Program{Path: "true"}, Before: []Program{fails}}, "sh: exit status 5: one | two"},
	} {
		both(t, func(t *testing.T, alone bool) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			k, err := started(c.spec, alone)
			need(t, err)
			if err := k.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
			k.Kill()
			_ = k.Wait() // it was killed
		})
	}
}

// TestKeeperEndsEarly has a keeper that ends before it has read what to start, which is long.
func TestKeeperEndsEarly(t *testing.T) {
	usual := Args
	Args = []string{"ends"}
	t.Cleanup(func() { Args = usual })
	said := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		k, err := started(Spec{Program: self(), Files: map[string]File{"long": {Text: strings.Repeat("x", 1<<20)}}}, true)
		if err == nil {
			err = k.Ready(context.Background())
			k.Kill()
			_ = k.Wait() // it has ended
		}
		said <- err
	}()
	select {
	case err := <-said:
		if err == nil || err.Error() != "its keeper has ended" {
			t.Errorf("%v, want that it has ended", err)
		}
	case <-time.After(patience):
		t.Fatal("it is waited for")
	}
}

// binds opens sockets at addresses, and prints where they are.
func binds(addresses []string) {
	for _, a := range addresses {
		network, at, _ := strings.Cut(a, "/")
		var got any
		var err error
		if strings.HasPrefix(network, "tcp") {
			var l net.Listener
			if l, err = net.Listen(network, at); err == nil {
				got = l.Addr()
			}
		} else {
			var l net.PacketConn
			if l, err = net.ListenPacket(network, at); err == nil {
				got = l.LocalAddr()
			}
		}
		if err != nil {
			got = err
		}
		fmt.Println(a, "is", got)
	}
}

// TestHold checks that sockets are at the addresses they are held to, whatever was requested.
func TestHold(t *testing.T) {
	need(t, CanHold())
	four, six := netip.MustParseAddr("127.0.0.9"), netip.MustParseAddr("::1")
	for _, c := range []struct {
		to        []netip.Addr
		asks, got string
	}{
		{[]netip.Addr{four}, "tcp4/:0", "127.0.0.9:"},
		{[]netip.Addr{four}, "tcp4/0.0.0.0:0", "127.0.0.9:"},
		{[]netip.Addr{four}, "udp4/:0", "127.0.0.9:"},
		{[]netip.Addr{four}, "tcp/:0", "127.0.0.9:"}, // an IPv6 socket that accepts IPv4
		{[]netip.Addr{four}, "udp/:0", "127.0.0.9:"},
		{[]netip.Addr{six, four}, "tcp6/[::]:0", "[::1]:"},
		{[]netip.Addr{six, four}, "tcp4/:0", "127.0.0.9:"},
		{[]netip.Addr{six}, "udp6/[::]:0", "[::1]:"},
		{[]netip.Addr{six}, "tcp4/:0", "cannot assign requested address"},
		{[]netip.Addr{four}, "tcp4/127.0.0.9:0", "127.0.0.9:"},
		{[]netip.Addr{four}, "tcp4/127.0.0.1:0", "127.0.0.1:"},
		{[]netip.Addr{four}, "tcp4/192.0.2.1:0", "permission denied"},
		{[]netip.Addr{four}, "udp6/[2001:db8::1]:0", "permission denied"},
	} {
		both(t, func(t *testing.T, alone bool) {
			r, w, err := os.Pipe()
			iferr.Fatal(t, err)
			defer r.Close()
			go func() {
				defer w.Close()
				runtime.LockOSThread()
				s := Spec{Program: self("binds", c.asks), Hold: c.to}
				k, err := Start(s, w, w, true)
				if alone {
					k, err = try(s, w, w, 0, false)
				}
				if err != nil {
					fmt.Fprintln(w, err)
					return
				}
				_ = k.Wait()
			}()
			said, _ := bufio.NewReader(r).ReadString('\n')
			if !strings.Contains(said, "is "+c.got) && !strings.Contains(said, ": "+c.got) {
				t.Errorf("held to %v: %q, want %s", c.to, said, c.got)
			}
		})
	}
}

// TestFamilyWithoutLists finds the same processes where the kernel does not list children.
func TestFamilyWithoutLists(t *testing.T) {
	m := mark(t)
	k := kept(t, Spec{Program: self("forks", "2", m)}, true)
	until(t, "the server has forked", func() bool { return len(machine.Processes(t, orphan(m))) == 1 })
	pid := k.Cmd.Process.Pid
	// The keeper, the server, a child of it that has ended, and the orphan, which either list may miss while it is
	// given another parent.
	var got, want []int
	until(t, "both lists have all four", func() bool {
		want = []int{pid}
		for i, children := 0, parented(); i < len(want); i++ {
			want = append(want, children(want[i])...)
		}
		got = Family(pid)
		slices.Sort(want)
		slices.Sort(got)
		return len(got) == 4 && slices.Equal(got, want)
	})
}

// TestNoNamespaces checks that a program that nothing would end is refused.
func TestNoNamespaces(t *testing.T) {
	err := unkept(unix.EPERM)
	var missing *platform.Unsupported
	if !errors.Is(err, platform.ErrUnsupported) || !errors.As(err, &missing) || !strings.Contains(missing.Remedy, "--private-engine") {
		t.Error(err)
	}
}

// TestNamespacesOfNoUse has a keeper that has namespaces, and cannot do there what it needs to, as where AppArmor restricts
// ordinary users: this one is not the first process of its PID namespace.
func TestNamespacesOfNoUse(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	k, err := try(Spec{Program: Program{Path: "true"}}, nil, nil, unix.CLONE_NEWIPC, false)
	if refused(err) {
		t.Skip(err)
	}
	iferr.Fatal(t, err)
	if err := k.Ready(t.Context()); !errors.Is(err, platform.ErrUnsupported) || !strings.Contains(err.Error(), "should be the first") {
		t.Error(err)
	}
	k.Kill()
	_ = k.Wait() // it was killed
}
