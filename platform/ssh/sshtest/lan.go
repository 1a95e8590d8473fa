// Package sshtest makes machines for tests: hosts of the lab on a LAN of their own, or virtual machines in their place, on
// which the system's sshd runs, and an ssh that knows them by the names a, b, ….
package sshtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/scratch"
	"nettoll/platform"
	"nettoll/platform/lab"
	"nettoll/platform/platformtest"
)

// Machine describes how a machine differs from an ordinary one.
type Machine struct {
	// Setup is run by sh in the machine's own mount namespace, whose /run is empty, before each login. $lan is
	// the folder of the LAN.
	Setup string
	// Shell is run by sh instead of what ssh was told to run, which is in SSH_ORIGINAL_COMMAND.
	Shell string
	// Ahead is how far its monotonic clock is ahead of this machine's, where the kernel has namespaces for clocks. That
	// of a virtual machine is its own anyway; there it is the clock that tells the time of day.
	Ahead time.Duration
	// Delay is how long everything takes to cross the connection of a login, each way, and Rate what it carries, in
	// bytes per second. Zero means as fast as it goes.
	Delay time.Duration
	Rate  int
	// Jump is the name of another machine. If it is set, one can log in to this one only from there: ssh jumps.
	Jump string
	// VM is the path of .ci/vm, which boots a virtual machine in place of the host; empty: it is a host. The first
	// machine is always one. Of the fields above, only Ahead has a meaning then. Arch is its architecture, as Go names
	// it; empty: amd64.
	VM, Arch string
}

// LAN is a set of machines.
type LAN struct {
	// Hosts are the machines themselves. That of a virtual machine is the switch that it is plugged into: what is
	// found there, as by Running, is not on the machine.
	Hosts []platform.Host
	Dir   string // has the keys, the configuration of ssh, and ssh

	logins []*logins
	off    map[int]func() // end virtual machines
}

// Name returns the name of a machine for ssh.
func Name(i int) string { return string(rune('a' + i)) }

// Start starts machines on an underlay. They end with the test. From here on, ssh in PATH knows them.
func Start(t testing.TB, shape platform.Underlay, machines ...Machine) *LAN {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("sshd takes root")
	}
	for _, name := range []string{"ssh", "ssh-keygen", "/usr/sbin/sshd", "nsenter", "unshare"} {
		if _, err := exec.LookPath(name); err != nil {
			if t, ok := t.(*testing.T); ok {
				platformtest.Require(t, "sshd", err)
			}
			t.Skip(err)
		}
	}
	if lab.Inside() { // where lo is down at first
		iferr.Fatal(t, nl.With("", func(n *nl.NS) error { return n.Up("lo") }))
	}
	hosts, err := lab.New().Hosts(t.Context(), platform.HostRequest{Count: len(machines), Underlay: shape})
	iferr.Fatal(t, err)
	t.Cleanup(func() { iferr.Error(t, hosts.Close(context.Background())) })
	dir, remove, err := scratch.Dir("nettoll-tests-sshd")
	iferr.Fatal(t, err)
	t.Cleanup(func() { iferr.Error(t, remove()) })
	l := &LAN{Hosts: hosts.All(), Dir: dir, off: map[int]func(){}}
	l.keys(t)
	var config, known strings.Builder
	hostKey := l.read(t, "host.pub")
	for i, m := range machines {
		fmt.Fprintf(&known, "%s %s", Name(i), hostKey)
		if m.VM != "" {
			l.logins = append(l.logins, nil)
			fmt.Fprintf(&config, "Host %s\n%s HostKeyAlias %s\n", Name(i), l.overLAN(i), Name(i))
			continue
		}
		in := &logins{script: l.machine(t, i, m), m: m, open: map[net.Conn]bool{}}
		in.over, in.end = context.WithCancel(context.Background())
		in.listener, err = l.listen(i, m)
		iferr.Fatal(t, err)
		go in.accept()
		t.Cleanup(in.close)
		l.logins = append(l.logins, in)
		at, port, _ := net.SplitHostPort(in.listener.Addr().String())
		fmt.Fprintf(&config, "Host %s\n HostName %s\n Port %s\n HostKeyAlias %s\n ProxyJump %s\n", Name(i), at, port, Name(i), cmp.Or(m.Jump, "none"))
	}
	fmt.Fprintf(&config, "Host *\n User root\n IdentityFile %s/user\n IdentitiesOnly yes\n UserKnownHostsFile %s/known\n GlobalKnownHostsFile /dev/null\n", dir, dir)
	l.write(t, "config", config.String(), 0o600)
	l.write(t, "known", known.String(), 0o600)
	ssh, err := exec.LookPath("ssh")
	iferr.Fatal(t, err)
	l.write(t, "bin/ssh", fmt.Sprintf("#!/bin/sh\nexec %s -F %s/config \"$@\"\n", ssh, dir), 0o755)
	t.Setenv("PATH", filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
	for i, m := range machines {
		if m.VM != "" {
			l.boot(t, i, m)
		}
	}
	return l
}

// Forget makes ssh forget the machines' host keys.
func (l *LAN) Forget(t testing.TB) { l.write(t, "known", "", 0o600) }

// Replace makes ssh expect other host keys than the machines have.
func (l *LAN) Replace(t testing.TB) {
	l.write(t, "known", strings.ReplaceAll(l.read(t, "known"), strings.Fields(l.read(t, "host.pub"))[1], strings.Fields(l.read(t, "user.pub"))[1]), 0o600)
}

// Vanish lets a machine's logins hang, as if its power were cut: nothing comes any more, and nothing is refused.
func (l *LAN) Vanish(i int) { l.logins[i].gone.Store(true) }

func (l *LAN) keys(t testing.TB) {
	t.Helper()
	for _, name := range []string{"host", "user"} {
		cmd := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(l.Dir, name))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen: %v: %s", err, out)
		}
	}
	l.write(t, "authorized", l.read(t, "user.pub"), 0o600)
}

// machine writes the program that serves one login on its standard input, and returns its path.
func (l *LAN) machine(t testing.TB, i int, m Machine) string {
	t.Helper()
	config := l.sshd()
	if m.Shell != "" {
		config += "ForceCommand sh " + l.write(t, Name(i)+".shell", m.Shell, 0o644) + "\n"
	}
	file := l.write(t, Name(i)+".sshd", config, 0o644)
	inside := fmt.Sprintf("set -e\nmount -t tmpfs tmpfs /run\nmkdir -m 755 /run/sshd\nlan=%s\n%s\nexec /usr/sbin/sshd -i -e -f %s 2>>%s/log\n", l.Dir, m.Setup, file, l.Dir)
	options := "-m --propagation private"
	if _, err := os.Stat("/proc/self/ns/time"); err == nil && m.Ahead > 0 {
		options += fmt.Sprintf(" --fork --time --monotonic %d", int(m.Ahead.Seconds()))
	}
	return l.write(t, Name(i)+".machine", fmt.Sprintf("#!/bin/sh\nexec nsenter --net=%s unshare %s sh %s\n",
		l.netNS(i), options, l.write(t, Name(i)+".inside", inside, 0o644)), 0o755)
}

// sshd returns the configuration of the machines' sshd.
func (l *LAN) sshd() string {
	return fmt.Sprintf("HostKey %s/host\nAuthorizedKeysFile %s/authorized\nStrictModes no\nUsePAM no\nPermitRootLogin prohibit-password\nPidFile none\nLogLevel ERROR\n", l.Dir, l.Dir)
}

// netNS returns a path to the network namespace of a host that means the same to other programs.
func (l *LAN) netNS(i int) string {
	return strings.Replace(l.Hosts[i].Facts().NetNS, "/self/", fmt.Sprintf("/%d/", os.Getpid()), 1)
}

func (l *LAN) write(t testing.TB, name, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(l.Dir, name)
	err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), mode))
	iferr.Fatal(t, err)
	return path
}

func (l *LAN) read(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(l.Dir, name))
	iferr.Fatal(t, err)
	return string(b)
}

// listen returns where a machine's logins arrive: on this machine, or on the LAN if they come from another.
func (l *LAN) listen(i int, m Machine) (in net.Listener, err error) {
	if m.Jump == "" {
		return net.Listen("tcp", "127.0.0.1:0")
	}
	err = netns.Do(l.netNS(i), func() error {
		in, err = net.Listen("tcp", netip.AddrPortFrom(l.Hosts[i].Uplink().Addr4.Addr(), 0).String())
		return err
	})
	return in, err
}

// logins accepts the logins of a machine, and starts an sshd for each.
type logins struct {
	listener net.Listener
	script   string
	m        Machine
	gone     atomic.Bool
	over     context.Context // ends with the test
	end      func()

	mu   sync.Mutex
	open map[net.Conn]bool
	all  sync.WaitGroup
}

func (in *logins) accept() {
	for {
		c, err := in.listener.Accept()
		if err != nil {
			return
		}
		in.mu.Lock()
		in.open[c] = true
		in.all.Go(func() { in.serve(c) })
		in.mu.Unlock()
	}
}

// serve carries one login.
func (in *logins) serve(c net.Conn) {
	defer c.Close()
	cmd := exec.Command(in.script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return
	}
	if cmd.Start() != nil {
		return
	}
	defer context.AfterFunc(in.over, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })() // which may have ended
	var copying sync.WaitGroup
	copying.Go(func() {
		in.carry(stdin, c)
		stdin.Close()
	})
	in.carry(c, stdout)
	c.Close()
	copying.Wait()
	_ = cmd.Wait() // how it ends is for ssh to say
}

// carry copies until the end, with the delay and the rate of the machine.
func (in *logins) carry(to io.Writer, from io.Reader) {
	type piece struct {
		at   time.Time
		data []byte
	}
	pieces := make(chan piece, 1024)
	go func() {
		defer close(pieces)
		for {
			b := make([]byte, 16<<10)
			n, err := from.Read(b)
			if n > 0 {
				pieces <- piece{time.Now().Add(in.m.Delay), b[:n]}
			}
			if err != nil {
				return
			}
		}
	}()
	broken := false
	for p := range pieces {
		if in.gone.Load() || broken {
			continue
		}
		time.Sleep(time.Until(p.at))
		if in.m.Rate > 0 {
			time.Sleep(time.Duration(len(p.data)) * time.Second / time.Duration(in.m.Rate))
		}
		_, err := to.Write(p.data)
		broken = err != nil
	}
}

func (in *logins) close() {
	in.listener.Close()
	in.end()
	in.mu.Lock()
	for c := range in.open {
		c.Close()
	}
	in.mu.Unlock()
	in.all.Wait()
}
