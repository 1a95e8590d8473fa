package sshtest

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"nettoll/internal/oneline"
	"nettoll/internal/testutil/iferr"
	"nettoll/platform"
)

// The network card of a virtual machine is the other end of a tap device, and its host becomes the switch between that
// device and the LAN. The machine has the host's addresses.

const (
	tap  = "tap0" // on the host
	card = "eth0" // on the machine: .ci/vm names it
)

// bootTime bounds the start of a virtual machine, from the download of its kernel to the first login, vmTime, in
// seconds, all of its life, even if nobody is left to end it, and endTime its end.
const (
	bootTime = 12 * time.Minute
	vmTime   = 1500
	endTime  = 30 * time.Second
)

// overLAN returns how ssh reaches a virtual machine: from the first machine, over the LAN, by a program that .ci/vm needs
// as well. It ends with ssh, even if nothing answers any more.
func (l *LAN) overLAN(i int) string {
	return fmt.Sprintf(" HostName %s\n ProxyCommand setpriv --pdeathsig KILL nsenter --net=%s busybox nc %%h %%p\n", l.Hosts[i].Uplink().Addr4.Addr(), l.netNS(0))
}

// Off cuts the power of a virtual machine.
func (l *LAN) Off(i int) { l.off[i]() }

// boot starts a virtual machine, and returns when one can log in to it.
func (l *LAN) boot(t testing.TB, i int, m Machine) {
	t.Helper()
	up := l.Hosts[i].Uplink()
	plug := exec.CommandContext(t.Context(), "nsenter", "--net="+l.netNS(i), "sh", "-ec", fmt.Sprintf(
		"ip link add name switch type bridge; ip tuntap add dev %[1]s mode tap; ip addr flush dev %[2]s\n"+
			"for d in %[1]s %[2]s; do ip link set dev $d master switch up; done; ip link set dev switch up", tap, up.Device))
	if out, err := plug.CombinedOutput(); err != nil {
		t.Fatalf("make a switch of %s: %v: %s", l.Hosts[i].Name(), err, out)
	}
	inside := l.write(t, Name(i)+".inside", setUp(up)+fmt.Sprintf("mkdir -p -m 755 /run/sshd\nexec /usr/sbin/sshd -D -e -f %s\n",
		l.write(t, Name(i)+".sshd", l.sshd(), 0o644)), 0o644)
	log, err := os.Create(filepath.Join(l.Dir, Name(i)+".console"))
	iferr.Fatal(t, err)
	defer log.Close() // .ci/vm has its own descriptor
	ctx, end := context.WithCancel(context.Background())
	vm := exec.CommandContext(ctx, m.VM, "-nic", l.netNS(i)+":"+tap, "-ahead", fmt.Sprint(int(m.Ahead.Seconds())), "-arch", cmp.Or(m.Arch, "amd64"), "-c", "sh "+inside)
	vm.Env = append(os.Environ(), fmt.Sprintf("VM_LIMIT=%d", vmTime))
	vm.Stdout, vm.Stderr = log, log
	vm.Cancel = func() error { return vm.Process.Signal(syscall.SIGTERM) } // upon which it ends the emulator
	vm.WaitDelay = endTime
	vm.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		// This signal comes when the thread ends that started the process (prctl(2)).
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		_ = vm.Run() // the console says why it ended
	}()
	l.off[i] = func() { end(); <-ended }
	t.Cleanup(l.off[i])
	for began := time.Now(); ; time.Sleep(time.Second) {
		said, err := greet(t.Context(), Name(i))
		if err == nil {
			return
		}
		over := time.Since(began) > bootTime
		select {
		case <-ended:
			over = true
		default:
		}
		if over {
			t.Fatalf("the virtual machine %s takes no login: %s; its console: %s", Name(i), oneline.Last(said, 1), oneline.Last(l.read(t, Name(i)+".console"), 20))
		}
	}
}

// greet logs in to a machine, and returns what ssh says. An attempt hangs if the machine is only about to take logins.
func greet(ctx context.Context, name string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=50", name, "true").CombinedOutput()
	return string(out), err
}

// setUp returns a script that gives the machine's card the addresses of an uplink.
func setUp(up platform.Uplink) string {
	return fmt.Sprintf("set -e\nip addr add %[2]s dev %[1]s\nip addr add %[3]s dev %[1]s nodad\nip link set dev lo up\nip link set dev %[1]s up mtu %[4]d\n",
		card, up.Addr4, up.Addr6, up.MTU)
}
