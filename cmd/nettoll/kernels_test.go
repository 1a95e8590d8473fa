package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"nettoll/analysis"
	"nettoll/platform"
	"nettoll/platform/ssh/sshtest"
	"nettoll/record"
)

// TestTwoKernels measures between two machines that have nothing in common but the cable: a, a host of the lab, and b, a
// virtual machine with its own kernel, clocks, CPUs and network card. Its time of day is an hour ahead, and is set to and fro
// by another hour all the time; its monotonic clock began when it was booted. Networks that a's kernel lacks are refused; .ci/test-vm measures these between two hosts that
// are both in the virtual machine.
func TestTwoKernels(t *testing.T) {
	vm := virtualMachine(t)
	lan := sshtest.Start(t, platform.Underlay{}, sshtest.Machine{}, sshtest.Machine{VM: vm, Ahead: time.Hour})
	began := time.Now()
	before := factsOf(t, "b")
	if here := factsOf(t, "a"); here.kernel == before.kernel || here.boot == before.boot || here.uptime < before.uptime {
		t.Fatalf("a is %+v, b is %+v: these are not two machines", here, before)
	}
	if ahead := before.now.Sub(began); ahead < 30*time.Minute {
		t.Fatalf("the clock of b is %v ahead, want an hour", ahead)
	}
	devices := on(t, "b", "ip -o address; ip route; ip -6 route")
	setting := startProgram(t, t.TempDir(), "ssh", "-T", "-o", "BatchMode=yes", "b",
		"by=3600; while date -s @$(($(date +%s) + by)) && sleep 1; do by=$((-by)); done")
	networks := []string{"ssh:native", "ssh:vxlan", "ssh:macvlan"}
	file, said := runOn(t, "ssh:vxlan", "ssh:macvlan", "ssh:wireguard", "--hosts-ssh", "a,b", "--through-my-network", "--max-rate", "200M")
	elapsed := time.Since(began)
	ended := setting.ended()
	if said := setting.said(); ended { // otherwise the loop ends now, since it cannot write any more
		t.Errorf("the clock of b was not set until the end: %s", said)
	}
	after := factsOf(t, "b")
	t.Log(said)

	// Both are root, who may use whatever there is.
	const available = "cat /proc/sys/net/ipv4/tcp_available_congestion_control"
	cubic := strings.Contains(on(t, "a", available), "cubic") && strings.Contains(on(t, "b", available), "cubic")
	if got := file.Run.Settings.Congestion; cubic != (got == "cubic") {
		t.Errorf("congestion control is %s", got)
	}
	busy := 0.0 // CPU seconds of b in all windows
	measured := map[string]int{}
	for _, trial := range file.Trials {
		key := trial.Cell.Key()
		if !slices.Contains(networks, trial.Cell.Network) {
			lacks(t, trial, "CONFIG_WIREGUARD", "WireGuard devices on h1 (ssh a)")
			continue
		}
		measured[trial.Cell.Network]++
		if trial.Status != record.OK {
			t.Errorf("%s: %s: %s", key, trial.Status, trial.Reason)
			continue
		}
		// No hour is in anything, nor the time that a was up before b.
		if trial.Elapsed <= 0 || trial.Elapsed > elapsed.Seconds() || trial.Window <= 0 || trial.Window > trial.Elapsed || trial.Started.Before(began) || trial.Started.After(began.Add(elapsed)) {
			t.Errorf("%s: from %v on, for %v s, with a window of %v s, in a run of %v from %v on", key, trial.Started, trial.Elapsed, trial.Window, elapsed, began)
		}
		if c := trial.Clocks; c == nil || c.Over != record.OverNetwork || c.Bound <= 0 || c.Bound > elapsed.Seconds() {
			t.Errorf("%s: clocks were compared %+v", key, c)
		}
		client, server := ends(t, trial)
		if client == nil || server == nil {
			continue
		}
		if m, n := server.Machine, server.NIC; m.Kernel == before.kernel || !m.Root || m.Virtual == record.Emulated || n.Driver != "veth" {
			t.Errorf("%s: the server's machine is %+v with %+v", key, m, n)
		}
		if m, n := client.Machine, client.NIC; m.Kernel != before.kernel || !m.Root || m.Virtual != record.Emulated || n.Driver != "virtio_net" || n.Device != "eth0" || n.MTU != 1500 || len(n.Offloads) == 0 || len(n.Interrupts) == 0 {
			t.Errorf("%s: the client's machine is %+v with %+v, want the kernel %s", key, m, n, before.kernel)
		}
		used, _ := cpuOf(t, trial, client.Host, server.Host)
		busy += used
	}
	for _, name := range networks {
		if measured[name] != 2 { // a stream and transactions
			t.Errorf("%d trials of %s", measured[name], name)
		}
	}
	// The machine itself counts its CPU time in ticks, and the agent as finely as it can: these differ by a tick (10 ms at
	// most) for each CPU and edge of a window.
	if used, unsure := after.busy-before.busy, 0.04*float64(after.cpus*len(file.Trials)); busy <= 0 || busy > used+unsure {
		t.Errorf("b used %v s of CPU time in the windows alone, and by its own account %v s in the whole run", busy, used)
	}
	remarks(t, file, "kernel ", before.kernel, ": driver virtio_net and veth, ")
	if now := on(t, "b", "ip -o address; ip route; ip -6 route"); now != devices {
		t.Errorf("b had\n%s\nand has\n%s", devices, now)
	}
	lan.Empty(t, 0)
	noAgents(t, "b")
	losesPower(t, lan)
}

// TestTwoArchitectures measures between a, a host of the lab, and b, a virtual machine whose CPUs are of another
// architecture: each runs an agent of its own kind, and these understand each other.
func TestTwoArchitectures(t *testing.T) {
	vm := virtualMachine(t)
	const other = "arm64"
	if runtime.GOARCH == other {
		t.Skip("this machine is one for arm64 itself")
	}
	agent := filepath.Join(work, "bin", "nettoll-agent-"+other)
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-tags", "source_tests", "-o", agent, "../nettoll-agent")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOARCH="+other)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, out)
	}
	lan := sshtest.Start(t, platform.Underlay{}, sshtest.Machine{}, sshtest.Machine{VM: vm, Arch: other})
	if kind := on(t, "b", "uname -m"); kind != "aarch64\n" {
		t.Fatalf("b is %q", kind)
	}
	devices := on(t, "b", "ip -o address; ip route; ip -6 route")
	file, said := runOn(t, "ssh:vxlan", "ssh:macvlan", "--hosts-ssh", "a,b", "--through-my-network", "--max-rate", "200M")
	t.Log(said)
	if want := 2 * len([]string{"ssh:native", "ssh:vxlan", "ssh:macvlan"}); len(file.Trials) != want {
		t.Errorf("%d trials, want %d", len(file.Trials), want)
	}
	known := false
	for _, trial := range file.Trials {
		if trial.Status != record.OK {
			t.Errorf("%s: %s: %s", trial.Cell.Key(), trial.Status, trial.Reason)
			continue
		}
		client, server := ends(t, trial)
		if client == nil || server == nil {
			continue
		}
		if m := server.Machine; m.Arch != runtime.GOARCH || m.Virtual == record.Emulated {
			t.Errorf("%s: the server's machine is %+v", trial.Cell.Key(), m)
		}
		if m := client.Machine; m.Arch != other || m.Virtual != record.Emulated || !m.Root || len(m.CPUs) != 2 || client.NIC.Driver != "virtio_net" {
			t.Errorf("%s: the client's machine is %+v with %+v", trial.Cell.Key(), m, client.NIC)
		}
		_, ok := cpuOf(t, trial, client.Host, server.Host)
		known = known || ok
	}
	if !known {
		t.Error("no trial knows the CPU time of both machines")
	}
	remarks(t, file, "CPU ", runtime.GOARCH+" ", other+" implementer 0x00 part 0x051", "kernel ")
	if now := on(t, "b", "ip -o address; ip route; ip -6 route"); now != devices {
		t.Errorf("b had\n%s\nand has\n%s", devices, now)
	}
	lan.Empty(t, 0)
	noAgents(t, "b")
}

// virtualMachine returns the path of .ci/vm.
func virtualMachine(t *testing.T) string {
	t.Helper()
	vm := os.Getenv("NETTOLL_VM")
	if vm == "" {
		t.Skip("it starts a virtual machine, which takes a minute, an emulator and a package of Debian's kernel: .ci/test-vm does that")
	}
	return vm
}

// noAgents checks that agents on a machine end.
func noAgents(t *testing.T, machine string) {
	t.Helper()
	for began := time.Now(); ; time.Sleep(time.Second) {
		left := on(t, machine, "grep -laz -e '^injected$' /proc/[0-9]*/cmdline || true")
		if left == "" {
			return
		}
		if time.Since(began) > patience {
			t.Errorf("%s still runs agents: %s", machine, left)
			return
		}
	}
}

// losesPower switches b off in mid-trial. Nobody closes a connection then; all the same the trial fails, and says why.
func losesPower(t *testing.T, lan *sshtest.LAN) {
	t.Helper()
	dir := t.TempDir()
	p := start(t, dir, "run", "ssh:native", "--hosts-ssh", "a,b", "--through-my-network", "--max-rate", "100M", "-o", "run.ndjson",
		"--workloads", "tcp_stream", "--placement", "free", "-t", "60s", "--warmup", "0s", "--min-rounds", "1", "--max-rounds", "1", "-y")
	lan.Busy(t, 0, "/proc/self/exe agent") // that of the endpoint
	lan.Off(1)
	select {
	case <-p.done:
	case <-time.After(5 * time.Minute): // less than it takes TCP to give up
		t.Fatalf("nettoll did not notice; it said:\n%s", p.said())
	}
	file := read(t, filepath.Join(dir, "run.ndjson"))
	if len(file.Trials) != 1 || file.Trials[0].Status != record.Failed || !strings.Contains(file.Trials[0].Reason, "h2") {
		t.Errorf("b lost its power, and the trials are %+v; nettoll said:\n%s", file.Trials, p.said())
	}
	lan.Empty(t, 0)
}

// on returns what a command writes on a machine.
func on(t *testing.T, machine, command string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "ssh", "-T", "-o", "BatchMode=yes", machine, command)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s on %s: %v: %s", command, machine, err, said.String())
	}
	return string(out)
}

// computer is what a machine says about itself, without any agent.
type computer struct {
	kernel string // release
	boot   string // its random id
	now    time.Time
	uptime float64 // seconds
	cpus   int
	busy   float64 // CPU seconds since it was booted
}

func factsOf(t *testing.T, machine string) (f computer) {
	t.Helper()
	text := on(t, machine, "uname -r; cat /proc/sys/kernel/random/boot_id; date +%s; grep -c ^processor /proc/cpuinfo; cat /proc/uptime")
	var seconds int64
	var idle float64 // of all CPUs
	if n, err := fmt.Sscan(text, &f.kernel, &f.boot, &seconds, &f.cpus, &f.uptime, &idle); err != nil {
		t.Fatalf("%s says %q, of which %d are understood: %v", machine, text, n, err)
	}
	f.now, f.busy = time.Unix(seconds, 0), f.uptime*float64(f.cpus)-idle
	return f
}

// lacks checks a trial of a network that needs something of the kernel, which one of the machines may lack.
func lacks(t *testing.T, trial record.Trial, option, what string) {
	t.Helper()
	if trial.Status == record.OK { // both have it
		return
	}
	if trial.Status != record.Skipped || !strings.Contains(trial.Reason, what) || !strings.Contains(trial.Reason, option) {
		t.Errorf("%s: %s: %s; want it skipped for %s, which needs %s", trial.Cell.Key(), trial.Status, trial.Reason, what, option)
	}
}

// ends returns the endpoints of a trial, whose machines and network cards are described.
func ends(t *testing.T, trial record.Trial) (client, server *record.Endpoint) {
	t.Helper()
	for i := range trial.Endpoints {
		e := &trial.Endpoints[i]
		if e.Machine == nil || e.NIC == nil {
			t.Errorf("%s: the machine of %s is %+v, its network card %+v", trial.Cell.Key(), e.Name, e.Machine, e.NIC)
			return nil, nil
		}
		switch e.Role {
		case "client":
			client = e
		case "server":
			server = e
		}
	}
	if client == nil || server == nil || client.Host == server.Host {
		t.Errorf("%s: the ends are %+v", trial.Cell.Key(), trial.Endpoints)
		return nil, nil
	}
	return client, server
}

// cpuOf checks that CPU time is accounted by machine, and returns that of the client's. A busy machine's can be 0 in a single
// window: what other work used before the trial is taken off. It is not known where the trial says that the machines, of which one
// is slow, were read too late.
func cpuOf(t *testing.T, trial record.Trial, client, server string) (busy float64, known bool) {
	t.Helper()
	if trial.CPU == nil {
		t.Errorf("%s: no CPU time", trial.Cell.Key())
		return 0, false
	}
	if slices.ContainsFunc(trial.Warnings, func(w record.Warning) bool { return w.Code == record.WarnCPULate }) {
		return 0, false
	}
	got := map[string]float64{}
	for _, h := range trial.CPU.Hosts {
		got[h.Host] = h.Busy
	}
	_, ofClient := got[client]
	_, ofServer := got[server]
	if len(trial.CPU.Hosts) != 2 || !ofClient || !ofServer || trial.CPU.Client.Total() <= 0 || trial.CPU.Server.Total() <= 0 {
		t.Errorf("%s: CPU time %+v, want that of %s and %s", trial.Cell.Key(), trial.CPU, client, server)
	}
	return got[client], true
}

// remarks checks that reports say how the machines differ, and that one of them is emulated.
func remarks(t *testing.T, file *record.File, differ ...string) {
	t.Helper()
	res := analysis.Analyze(file)
	if !slices.ContainsFunc(res.Warnings, func(w analysis.Warning) bool { return w.Code == analysis.WarnEmulated }) {
		t.Errorf("nothing says that a machine is emulated: %v", res.Warnings)
	}
	unlike := ""
	for _, row := range res.Rows() {
		for _, w := range row.Warnings {
			if w.Code == analysis.WarnUnlike {
				unlike = w.Text
			}
		}
	}
	for _, want := range differ {
		if !strings.Contains(unlike, want) {
			t.Errorf("reports say %q, without %q", unlike, want)
		}
	}
}
