package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"nettoll/analysis"
	"nettoll/docker/rootfs"
	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/turn"
	"nettoll/platform"
	"nettoll/platform/platformtest"
	"nettoll/platform/ssh/sshtest"
	"nettoll/record"
)

// quickly are the arguments of a run that has one round of short trials.
var quickly = []string{"--placement", "free", "-t", "200ms", "--warmup", "50ms", "--min-rounds", "1", "--max-rounds", "1"}

// runOn runs nettoll on machines, and returns its run file. It runs again if trials fail.
func runOn(t *testing.T, args ...string) (file *record.File, said string) {
	t.Helper()
	p, path := succeeds(t, slices.Concat([]string{"run", "-o", "x.ndjson"}, quickly, args)...)
	return read(t, path), p.said()
}

// TestMachines measures between two machines that are reached by ssh, whose clocks are an hour apart. These have whole trials:
// in turns, clocks are told apart by the kernels that they belong to, and here there is one. TestTwoKernels has turns.
func TestMachines(t *testing.T) {
	lan := sshtest.Start(t, platform.Underlay{}, sshtest.Machine{}, sshtest.Machine{Ahead: time.Hour})
	file, said := runOn(t, "ssh:vxlan", "ssh:macvlan", "--hosts-ssh", "a,b", "--through-my-network", "--max-rate", "300M", "--congestion", record.MachinesOwn)
	paths := map[string]string{
		"ssh:native":  "h2/eth0 h1/eth0",
		"ssh:vxlan":   "h2c1/eth0 h2/veth0 h2/vxlan0 h2/eth0 h1/eth0 h1/vxlan0 h1/veth0 h1c1/eth0",
		"ssh:macvlan": "h2c1/eth0 h2/eth0 h1/eth0 h1c1/eth0",
	}
	if len(file.Trials) != 2*len(paths) {
		t.Errorf("%d trials", len(file.Trials))
	}
	allGood(t, file)
	for _, trial := range file.Trials {
		hops := record.Each(trial.Path, func(h record.Hop) string { return h.Name })
		if got, want := strings.Join(hops, " "), paths[trial.Cell.Network]; got != want {
			t.Errorf("the path of %s is %s, want %s", trial.Cell.Network, got, want)
		}
		if c := trial.Clocks; c == nil || c.Over != record.OverNetwork || c.Bound <= 0 {
			t.Errorf("%s: clocks were compared %+v", trial.Cell.Key(), c)
		}
		if got, want := trial.Cell.Options.Bandwidth, map[string]int{record.TCPStream: 300e6}[trial.Cell.Workload]; got != want {
			t.Errorf("%s is held to %d bit/s, want %d", trial.Cell.Workload, got, want)
		}
	}
	at := lan.Hosts[0].Uplink().Addr4.Addr().String()
	if !strings.Contains(said, "through your network: tcp_stream -b 300000000 -C machine, tcp_rr -C machine between a ("+at+", eth0) and b (") || !strings.Contains(said, ": at most 300Mbit/s of payload") {
		t.Errorf("said: %s", said)
	}
	for i := range lan.Hosts {
		lan.Empty(t, i)
	}
}

// TestLinkOfMachines measures a stream over a link of 100 Mbit/s between two machines, which nobody tells nettoll of: there must not
// be turns, since what is queued when one ends would take the link in those of others. The link's rate includes the Ethernet header,
// but not what comes before and after a frame on a wire.
func TestLinkOfMachines(t *testing.T) {
	const rate = 100e6
	sshtest.Start(t, platform.Underlay{Rate: rate}, sshtest.Machine{}, sshtest.Machine{})
	_, path := succeeds(t, "run", "ssh:native", "ssh:macvlan", "--hosts-ssh", "a,b", "--through-my-network", "-o", "x.ndjson", "--workloads", record.TCPStream,
		"--placement", "free", "-t", "2s", "--warmup", "300ms", "--min-rounds", "2", "--max-rounds", "2")
	const payload, frame = 1500 - 20 - 20 - 12, 1500 + 14 // without the headers of IP and TCP, and with that of Ethernet
	const want = rate * payload / frame
	// A busy machine is slower than the link, and then, when it reads what has waited since before the window, faster.
	nearest := map[string]float64{}
	for _, trial := range read(t, path).Trials {
		if len(trial.Slices) > 0 {
			t.Errorf("%s was measured in turns", trial.Cell.Network)
		}
		got, name := trial.Metrics[record.Throughput].Value, trial.Cell.Network
		if math.Abs(got-want) < math.Abs(nearest[name]-want) {
			nearest[name] = got
		}
	}
	for name, got := range nearest {
		if got/want < 0.97 || got/want > 1.01 {
			t.Errorf("%s: %v bit/s, want %v", name, got, want)
		}
	}
	if len(nearest) != 2 {
		t.Errorf("%d networks were measured", len(nearest))
	}
}

// TestMachinesBesideTheLab measures networks of the lab and between machines against one baseline: they are in one table.
func TestMachinesBesideTheLab(t *testing.T) {
	lan := sshtest.Start(t, platform.Underlay{}, sshtest.Machine{}, sshtest.Machine{})
	file, _ := runOn(t, "ssh:vxlan", "vxlan", "--baseline", "native", "--hosts", "2", "--hosts-ssh", "a,b", "--through-my-network", "--workloads", record.TCPRR)
	allGood(t, file)
	oneTable(t, file, "native", "ssh:vxlan", "vxlan")
	for i := range lan.Hosts {
		lan.Empty(t, i)
	}
}

// oneTable checks that a run has one table, with these networks, and that all are compared with the baseline among them.
func oneTable(t *testing.T, file *record.File, want ...string) {
	t.Helper()
	scenarios := analysis.Analyze(file).Scenarios
	if len(scenarios) != 1 {
		t.Fatalf("%d tables", len(scenarios))
	}
	var all []string
	for _, row := range scenarios[0].Rows {
		all = append(all, row.Cell.Network)
		if f, ok := row.Primary(); !ok || !row.Native && f.Ratio == nil {
			t.Errorf("%s is not compared with the baseline: %v", row.Cell.Network, row.Warnings)
		}
	}
	if slices.Sort(all); !slices.Equal(all, want) {
		t.Errorf("the table has %v", all)
	}
}

// TestSlowControl measures between machines whose logins take 50 ms each way and carry 1 Mbit/s: the agents arrive, networks take
// turns, and the clocks are compared over the network between the machines.
func TestSlowControl(t *testing.T) {
	turn.Rotate(t, 3, "platform/ssh", "network/ssh", "internal/bootstrap", "runner")
	slow := sshtest.Machine{Delay: 50 * time.Millisecond, Rate: 1e6 / 8}
	lan := sshtest.Start(t, platform.Underlay{}, slow, slow)
	for i := 1; ; i++ {
		file, _ := runOn(t, "ssh:vxlan", "--hosts-ssh", "a,b", "--through-my-network", "--max-rate", "300M")
		allGood(t, file)
		at := slices.IndexFunc(file.Trials, func(trial record.Trial) bool {
			return len(trial.Slices) == 0 || trial.Clocks == nil || trial.Clocks.Over != record.OverNetwork || trial.Clocks.Bound > 0.02
		})
		if at < 0 {
			break
		}
		trial := file.Trials[at]
		wrong := fmt.Sprintf("%s: %d slices, clocks %+v, %v", trial.Cell.Key(), len(trial.Slices), trial.Clocks, trial.Warnings)
		if i == attempts {
			t.Fatal(wrong)
		}
		t.Logf("an attempt failed: %s", wrong) // on a busy machine payload may be on its way when turns have ended, as on a slow link
	}
	for i := range lan.Hosts {
		lan.Empty(t, i)
	}
}

// TestJumpHost measures between machines one of which can be reached only by a third, and kills another such run: nothing is left,
// neither on any of the three nor of ssh on this one.
func TestJumpHost(t *testing.T) {
	lan := sshtest.Start(t, platform.Underlay{}, sshtest.Machine{}, sshtest.Machine{Jump: sshtest.Name(2)}, sshtest.Machine{})
	args := []string{"ssh:vxlan", "--hosts-ssh", "a,b", "--through-my-network", "--max-rate", "300M"}
	gone := func() {
		t.Helper()
		for i := range lan.Hosts {
			lan.Empty(t, i)
		}
		until(t, "ssh has ended", func() bool {
			left, err := exec.Command("pgrep", "-f", lan.Dir+"/config").Output()
			return err != nil && len(left) == 0
		})
	}
	file, _ := runOn(t, args...)
	allGood(t, file)
	gone()
	p := start(t, t.TempDir(), slices.Concat([]string{"run"}, args, []string{"-t", "60s", "-y", "--placement", "free"})...)
	for _, i := range []int{0, 1} {
		lan.Busy(t, i, "/proc/self/exe agent")
	}
	iferr.Fatal(t, p.Process.Kill())
	gone()
}

// TestMachineIsLost cuts the connection to a machine in mid-trial. The trial fails, and says why; the next round logs in
// again.
func TestMachineIsLost(t *testing.T) {
	lan := sshtest.Start(t, platform.Underlay{}, sshtest.Machine{}, sshtest.Machine{})
	dir := t.TempDir()
	p := start(t, dir, "run", "ssh:native", "--hosts-ssh", "a,b", "--through-my-network", "-o", "run.ndjson", "--workloads", "tcp_stream",
		"--placement", "free", "-t", "5s", "--warmup", "0s", "--min-rounds", "2", "--max-rounds", "2", "--time-budget", "10m")
	lan.Busy(t, 1, "/proc/self/exe agent") // that of the endpoint
	time.Sleep(300 * time.Millisecond)
	lan.Reset(1)
	p.status(t)
	file := read(t, filepath.Join(dir, "run.ndjson"))
	all := record.Each(file.Trials, func(trial record.Trial) string { return string(trial.Status) + " " + trial.Reason })
	text := strings.Join(all, "\n")
	// What fails first depends on the moment: a call to the machine, or the connection to it.
	lost := regexp.MustCompile(`h2(: | is lost: )`)
	if len(all) != 2 || !strings.HasPrefix(all[0], string(record.Failed)) || !lost.MatchString(all[0]) || !strings.HasPrefix(all[1], string(record.OK)) {
		t.Errorf("trials:\n%s\n%s", text, p.err.String())
	}
	t.Log(text)
	lan.Empty(t, 1)
}

// TestMachinesThatMove resumes a run on the same machines, which are alike, so that the report has nothing to say, and on others
// in their places, which is refused.
func TestMachinesThatMove(t *testing.T) {
	sshtest.Start(t, platform.Underlay{}, sshtest.Machine{}, sshtest.Machine{})
	_, path := succeeds(t, slices.Concat([]string{"run", "ssh:native", "--hosts-ssh", "a,b", "--through-my-network", "--max-rate", "300M", "--workloads", "tcp_stream", "-o", "x.ndjson"}, quickly)...)
	resume := func(hosts string) *started {
		return start(t, filepath.Dir(path), "run", "--resume", "x.ndjson", "--hosts-ssh", hosts, "--through-my-network", "--max-rounds", "2")
	}
	swapped := resume("b,a")
	swapped.ends(t, exitUsage)
	if said := swapped.said(); !strings.Contains(said, "of this run was") {
		t.Errorf("it said %q", said)
	}
	resume("a,b").ends(t, exitOK)
	for _, row := range analysis.Analyze(read(t, path)).Rows() {
		for _, w := range row.Warnings {
			if w.Code == analysis.WarnMoved || w.Code == analysis.WarnUnlike {
				t.Error(w.Text)
			}
		}
	}
}

// TestMachinesAfterKill kills nettoll while agents run on machines: nothing of them is left.
func TestMachinesAfterKill(t *testing.T) {
	lan := sshtest.Start(t, platform.Underlay{}, sshtest.Machine{}, sshtest.Machine{})
	p := start(t, t.TempDir(), "run", "ssh:native", "--hosts-ssh", "a,b", "--through-my-network", "-t", "60s", "-y", "--placement", "free")
	for i := range lan.Hosts {
		lan.Busy(t, i, "/proc/self/exe agent")
	}
	iferr.Fatal(t, p.Process.Kill())
	for i := range lan.Hosts {
		lan.Empty(t, i)
	}
}

// TestNobodyListens closes the output of a run outside a lab in the middle of it, as head and tee do when they end: the run goes on,
// and removes what it has made.
func TestNobodyListens(t *testing.T) {
	lan := sshtest.Start(t, platform.Underlay{}, sshtest.Machine{})
	r, w, err := os.Pipe()
	iferr.Fatal(t, err)
	p, path := onMachine(t)
	p.Stdout, p.Stderr = w, w
	p.begin(t)
	w.Close()
	until(t, "a trial is in the run file", func() bool { return trials(path) >= 1 || p.ended() })
	r.Close()
	if status := p.status(t); status != exitFailure { // the report could not be written
		t.Errorf("it ended with %v", p.ProcessState)
	}
	if file := good(t, path); len(file.Trials) != 6 || len(file.Ends) != 1 {
		t.Errorf("%d trials, ends %+v", len(file.Trials), file.Ends)
	}
	lan.Empty(t, 0)
}

// TestNotStopped presses ctrl-Z in a run outside a lab: it goes on.
func TestNotStopped(t *testing.T) {
	sshtest.Start(t, platform.Underlay{}, sshtest.Machine{})
	p, path := onMachine(t)
	p.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // ctrl-Z does not stop groups whose parents are all outside of the session
	p.begin(t)
	until(t, "a trial is in the run file", func() bool { return trials(path) >= 1 || p.ended() })
	p.signal(t, syscall.SIGTSTP)
	p.ends(t, exitOK)
	good(t, path)
}

// onMachine returns a run of 6 rounds on the machine a that has not begun, and its run file.
func onMachine(t *testing.T) (p *started, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "run.ndjson")
	p = &started{Cmd: exec.Command("nettoll", "run", "ssh:native", "--hosts-ssh", "a", "-o", path, "--workloads", "tcp_rr",
		"--placement", "free", "-t", "200ms", "--warmup", "50ms", "--min-rounds", "6", "--max-rounds", "6")}
	p.Stdout, p.Stderr = &p.out, &p.err
	t.Cleanup(func() {
		if p.done != nil {
			_ = p.Process.Kill()
			<-p.done
		}
	})
	return p, path
}

func TestHostsOf(t *testing.T) {
	got := hostsOf("# Host no\nHost a b *.lan !c\n HostName 10.0.0.1\nhost=d\nMatch all\nHost a\n")
	if !slices.Equal(got, []string{"a", "b", "d"}) {
		t.Errorf("machines %q", got)
	}
}

// TestHold checks how a ceiling changes cells.
func TestHold(t *testing.T) {
	across := record.Cell{Network: "ssh:native", Hosts: 2, Family: 4, Servers: 1, Clients: 2, Tool: "engine", Workload: record.TCPStream}
	at := func(c record.Cell, bandwidth, streams int) record.Cell {
		c.Options.Bandwidth, c.Options.Streams = bandwidth, streams
		return c
	}
	alone, lab := across, across
	alone.Hosts, lab.Network = 1, "vxlan"
	f := runFlags{machineFlags: machineFlags{ceiling: "100M"}}
	got, err := f.hold([]record.Cell{across, at(across, 10e6, 0), at(across, 200e6, 0), at(across, 0, 5), alone, lab}, toolByName(nil))
	want := []record.Cell{at(across, 50e6, 0), at(across, 10e6, 0), at(across, 10e6, 5), alone, lab}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	// What is compared is held together, whichever of the two crosses.
	theirs, base := across, lab
	theirs.Network, theirs.Baseline = "ssh:vxlan", "vxlan"
	base.Baseline = "vxlan"
	if got, err := f.hold([]record.Cell{base, theirs}, toolByName(nil)); err != nil || !slices.Equal(got, []record.Cell{at(base, 50e6, 0), at(theirs, 50e6, 0)}) {
		t.Errorf("%v, %v", got, err)
	}
	// A resumed run is given no ceiling again.
	if most := held(got[:3]); most != 100e6 {
		t.Errorf("the cells are held to %d bit/s together", most)
	}
	if most := held([]record.Cell{at(across, 10e6, 0), across}); most != 0 {
		t.Errorf("a cell that is held to no rate sends %d bit/s", most)
	}
}

// TestSameTargets checks which machines a run can be resumed with.
func TestSameTargets(t *testing.T) {
	on := func(network string, platforms ...string) (trial record.Trial) {
		trial.Cell.Network = network
		for i, p := range platforms {
			trial.Endpoints = append(trial.Endpoints, record.Endpoint{Name: "c", Host: fmt.Sprintf("h%d", i+1), Platform: p})
		}
		return trial
	}
	began := []record.Trial{
		on("ssh:native"), // it failed
		on("docker:native", "Docker Engine 29", "Docker Engine 29"),
		on("ssh:native", "ssh a, as root by sudo", "ssh me@b, as root by sudo"),
	}
	for _, c := range []struct{ targets, want string }{
		{"a,me@b", ""},
		{"a,me@b,c", ""},
		{"me@b,a", "h1 of this run was a"},
		{"a,c", "h2 of this run was me@b"},
		{"a", "h2 of this run was me@b"},
	} {
		m := machineFlags{targets: strings.Split(c.targets, ",")}
		err := m.sameTargets(began)
		if err == nil && c.want != "" || err != nil && (c.want == "" || !strings.Contains(err.Error(), c.want+"; name the same machines in the same order with --hosts-ssh")) {
			t.Errorf("%s: %v, want %q", c.targets, err, c.want)
		}
		if err := m.sameTargets(began[:2]); err != nil {
			t.Errorf("%s after trials of none: %v", c.targets, err)
		}
	}
}

// bare is a machine that has nothing but busybox: logins are in a file system of their own.
func bare(t *testing.T) sshtest.Machine {
	t.Helper()
	path, err := exec.LookPath("busybox")
	if err == nil {
		if files, _ := rootfs.Files(path); len(files) != 1 {
			err = errors.New("busybox needs libraries")
		}
	}
	platformtest.Require(t, "busybox", err)
	return sshtest.Machine{
		Setup: "mkdir /run/m; mount -t tmpfs tmpfs /run/m; cd /run/m; mkdir bin tmp run proc sys dev; cp " + path + " bin/busybox\n" +
			"chroot . /bin/busybox --install -s /bin; for d in proc sys dev; do mount --rbind /$d $d; done",
		Shell: "exec chroot /run/m /bin/sh -c \"$SSH_ORIGINAL_COMMAND\"",
	}
}

// TestSentTools measures with programs on machines that have neither these nor any library: a client and a server, a
// server that is held to an address, and a client with a procedure and a server that runs as another user.
func TestSentTools(t *testing.T) {
	for _, name := range []string{"iperf3", "netperf", "wrk"} {
		_, err := exec.LookPath(name)
		platformtest.Require(t, name, err)
	}
	lan := sshtest.Start(t, platform.Underlay{}, bare(t), bare(t))
	for _, c := range []struct{ tools, workload string }{{"iperf3,netperf", record.TCPStream}, {"wrk", record.HTTP}} {
		file, _ := runOn(t, "ssh:native", "--hosts-ssh", "a,b", "--through-my-network", "--tools", c.tools, "--workloads", c.workload)
		if want := len(strings.Split(c.tools, ",")); len(file.Trials) != want {
			t.Errorf("%d trials with %s, want %d", len(file.Trials), c.tools, want)
		}
		allGood(t, file)
	}
	for i := range lan.Hosts {
		lan.Empty(t, i)
	}
}

// TestToolsThatStay measures with a program that needs more files than can be sent: the reason is one line, and the run has no
// result.
func TestToolsThatStay(t *testing.T) {
	_, err := toolByName(nil)["pgbench"].Pack()
	platformtest.Require(t, "pgbench", err)
	sshtest.Start(t, platform.Underlay{}, bare(t))
	path := filepath.Join(t.TempDir(), "run.ndjson")
	args := slices.Concat([]string{"run", "-o", path}, quickly, []string{"ssh:native", "--hosts-ssh", "a", "--tools", "pgbench", "--workloads", record.Postgres})
	cmd := exec.Command("nettoll", args...)
	if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != exitFailure {
		t.Errorf("exit status %d: %s", cmd.ProcessState.ExitCode(), out)
	}
	trials := read(t, path).Trials
	if len(trials) == 0 {
		t.Error("there is no trial")
	}
	for _, trial := range trials {
		if trial.Status != record.Skipped || !strings.Contains(trial.Reason, "that of this machine cannot be sent: it needs other files, too") || trial.Remedy != "install it there" {
			t.Errorf("%s: %s: %s", trial.Cell.Tool, trial.Status, trial.Reason)
		}
	}
}

// TestCleanMachines lists what is left on a machine. Agents of other tests may run on the same kernel.
func TestCleanMachines(t *testing.T) {
	sshtest.Start(t, platform.Underlay{}, sshtest.Machine{Setup: "mkdir -m 700 /run/nettoll-abcdef; touch /run/nettoll-abcdef/a"})
	out, err := exec.Command("nettoll", "clean", "--hosts-ssh", "a").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "would remove folder /run/nettoll-abcdef on a\n") || !strings.Contains(string(out), "nettoll clean --yes removes it\n") {
		t.Errorf("%v: %s", err, out)
	}
}
