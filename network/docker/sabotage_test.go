package docker_test

import (
	"os/exec"
	"strings"
	"testing"

	dockerd "nettoll/docker/engine"
	"nettoll/network/networktest"
	platforms "nettoll/platform/docker"
	"nettoll/platform/lab"
	"nettoll/platform/platformtest"
	"nettoll/record"
	"nettoll/runner/runnertest"
)

// TestSabotage changes networks right after they were built, so that the payload meets no rules, or gets past docker-proxy.
func TestSabotage(t *testing.T) {
	platformtest.Require(t, "dockerd", dockerd.Available())
	_, err := exec.LookPath("nft")
	platformtest.Require(t, "nft", err)
	p := engines(t, platforms.Options{Lab: lab.New()})
	for _, c := range []struct{ name, network, script, workload, reason string }{
		{"as it is", "bridge", "true", record.TCPRR, ""},
		{"rules for routed packets alone", "bridge", "echo 0 >/proc/sys/net/bridge/bridge-nf-call-iptables", record.TCPRR,
			"whether packets that cross a bridge meet the engine's rules (net.bridge.bridge-nf-call-iptables) has changed since the network was built"},
		{"no rules", "bridge", "iptables -F FORWARD; iptables -P FORWARD ACCEPT", record.TCPRR, " rules for docker0 are gone since the network was built"},
		{"as it is", "bridge-nftables", "true", record.TCPRR, ""},
		{"no rules", "bridge-nftables", "nft flush chain ip docker-bridges filter-FORWARD", record.TCPRR, " rules for docker0 are gone since the network was built"},
		{"as it is", "published-proxy", "true", record.TCPCRR, ""},
		{"three of four connections past docker-proxy", "published-proxy", `
			nft add table ip t
			nft "add chain ip t o { type nat hook output priority -100; }"
			nft "add rule ip t o tcp dport 20000-29999 ip daddr != $server_address numgen inc mod 4 < 3 dnat to $server_address"`,
			record.TCPCRR, "wrong path: "},
	} {
		t.Run(c.network+"/"+c.name, func(t *testing.T) {
			if strings.HasSuffix(c.network, "-nftables") {
				platformtest.Require(t, "dockerd-nftables", dockerd.Settings{NFTables: true}.Supported(t.Context()))
			}
			cells := []record.Cell{{
				Network: "docker:" + c.network, Hosts: 1, Family: 4, Servers: 1, Clients: 1, Tool: "engine", Workload: c.workload, Placement: record.PlacementFree,
			}}
			want := record.Invalid
			if c.reason == "" {
				want = record.OK
			}
			for _, trial := range networktest.Measure(t, p, runnertest.Sabotaged(byName(t, c.network), c.script), cells) {
				if trial.Status != want || !strings.Contains(trial.Reason, c.reason) {
					t.Errorf("%s with reason %q, want %s with %q (%+v)", trial.Status, trial.Reason, want, c.reason, trial.Path)
				}
			}
		})
	}
}
