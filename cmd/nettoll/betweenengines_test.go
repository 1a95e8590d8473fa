package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"nettoll/record"
)

// engineURL is the address of the engine for a nettoll outside of its namespaces, to which they are another machine.
func (e *theirEngine) engineURL() string { return "unix://" + e.path("s") }

// wire joins the machines of two engines by a network: network 198.18.N.0/24, over a device of each.
func wire(t *testing.T, a, b *theirEngine, network int) {
	t.Helper()
	device := fmt.Sprintf("lan%d", network)
	script := fmt.Sprintf("ip link add %s type veth peer name %[1]s netns %d\n", device, b.init)
	for i, e := range []*theirEngine{a, b} {
		script += fmt.Sprintf("ip addr add 198.18.%d.%d/24 dev %s; ip link set %[3]s up\n", network, i+1, device)
		if out, err := exec.Command("nsenter", "-n", "-t", strconv.Itoa(e.init), "sh", "-ec", script).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", script, err, out)
		}
		script = ""
	}
}

// TestBetweenEngines measures between two engines of the user's on other machines: only if the user allows traffic between
// these, within the given rate, and over the network that is meant. The bridges of both engines have the same address.
func TestBetweenEngines(t *testing.T) {
	a, b := startTheirs(t), startTheirs(t)
	a.furnish(t)
	wire(t, a, b, 1)
	networks := []string{"docker:native", "docker:host", "--docker-host", a.engineURL(), "--docker-host", b.engineURL(), "--hosts", "2"}
	dir := t.TempDir()
	run := func(args ...string) *started {
		return startProgram(t, dir, "nettoll", append(append(append([]string{"run", "-o", "no.ndjson"}, quickly...), networks...), args...)...)
	}
	// refused checks that nothing was measured, and that one line says why.
	refused := func(p *started, status int, words ...string) {
		t.Helper()
		p.ends(t, status)
		said := p.err.String()
		for _, w := range words {
			if !strings.Contains(said, w) {
				t.Errorf("it said %q, which lacks %q", said, w)
			}
		}
		if strings.Count(said, "\n") != 1 {
			t.Errorf("it said more than one line: %s", said)
		}
		if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
			t.Errorf("it left %v, %v", files, err)
		}
		a.clean(t)
		b.clean(t)
	}
	refused(run(), exitUsage, "docker:host sends its traffic through the network between "+a.engineURL()+" and "+b.engineURL(), "--through-my-network", "--max-rate 100M")

	const through, held = "--through-my-network", "--max-rate=200M"
	measured := func(network int, args ...string) {
		t.Helper()
		file, said := runOn(t, append(append([]string{through, held}, networks...), args...)...)
		if len(file.Trials) != 4 {
			t.Errorf("%d trials, want those of two networks and two workloads", len(file.Trials))
		}
		allGood(t, file)
		for _, trial := range file.Trials {
			hops := record.Each(trial.Path, func(h record.Hop) string { return h.Name })
			if got, want := strings.Join(hops, " "), fmt.Sprintf("h2/lan%d h1/lan%[1]d", network); got != want {
				t.Errorf("the path of %s is %s, want %s", trial.Cell.Network, got, want)
			}
			if got, want := trial.Cell.Options.Bandwidth, map[string]int{record.TCPStream: 200e6}[trial.Cell.Workload]; got != want {
				t.Errorf("%s is held to %d bit/s, want %d", trial.Cell.Workload, got, want)
			}
		}
		want := fmt.Sprintf("through your network: tcp_stream -b 200000000, tcp_rr between %s (198.18.%d.1, lan%[2]d) and %s (198.18.%[2]d.2, lan%[2]d): at most 200Mbit/s of payload\n", a.engineURL(), network, b.engineURL())
		if !strings.Contains(said, want) {
			t.Errorf("it did not say %q: %s", want, said)
		}
		a.clean(t)
		b.clean(t)
	}
	measured(1)

	wire(t, a, b, 2)
	refused(run(through), exitFailure, "reach each other over several networks, by 198.18.1.1 and 198.18.1.2 (lan1, lan1), or by 198.18.2.1 and 198.18.2.2 (lan2, lan2); name one with --address "+a.engineURL()+"=198.18.1.1")
	measured(2, "--address", b.engineURL()+"=198.18.2.2")
	refused(run(through, "--address", a.engineURL()+"=198.19.240.1"), exitFailure, "that is not an address of "+a.engineURL()+" alone") // of both bridges
	a.untouched(t)
	if _, err := os.Stat(filepath.Join(dir, "no.ndjson")); err == nil {
		t.Error("there is a run file")
	}
}
