package plan

import (
	"errors"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"nettoll/internal/testutil/iferr"
	"nettoll/record"
)

// loaded returns the suite of a valid text.
func loaded(t *testing.T, text string) Suite {
	t.Helper()
	s, err := Load("x.yaml", strings.NewReader(text))
	iferr.Fatal(t, err)
	return s
}

// embedded returns one of the embedded suites.
func embedded(t *testing.T, name string) Suite {
	t.Helper()
	s, err := Embedded(name)
	iferr.Fatal(t, err)
	return s
}

func TestLoad(t *testing.T) {
	const text = `---
# everything that a suite can say
name: mine
about: >
  what people
  meet
networks: [all, "docker:bridge"]
hosts: [1, 2]
families: [4, 6]
workloads:
  - tcp_stream
  - {name: tcp_rr, request_size: 64, response_size: 1K, streams: 2, tools: [qperf]}
  - {name: udp_stream, bandwidth: 1.5G, gso: true}
  - {name: paced_rr, rate: 1000}
  - {name: http, no_keep_alive: true}
  - name: tcp_stream
    message_size: 128K
    window: 1m
    congestion: cubic
    zero_copy: true
    skip_rx_copy: true
    reverse: true
tools: [engine, qperf]
placements: [same, free]
servers: 2
clients: [3, 4]
processes: 16
underlay: rate=1.5gbit,delay=1ms
mtu: [1500, 9000]
rules: 10
services: [0, 5]
cni: [bridge, flannel]
policies: [0, 3]
neighbours: [0, 1000]
offload: [on, off]
normalize: true
duration: 300ms
warmup: 0s
turns: false
precision: 2.5%
confidence: 0.99
equal_within: 2%
min_rounds: 3
max_rounds: 7
time_budget: 1m30s
seed: 18446744073709551615
note: 'a: b'
instance: m4.large
price: 0.139
source: icc-2014
skips:
  - {network: ovs, reason: not yet}
  - underlay: D1
    reason: unknown
as_published:
  duration: 5s
  rounds: 10
  tools: [iperf]
  workloads: [tcp_rr, {name: tcp_stream, streams: 10}]
...
`
	want := Suite{
		Name: "mine", About: "what people meet\n", Networks: []string{"all", "docker:bridge"},
		Hosts: []int{1, 2}, Families: []int{4, 6},
		Workloads: []Workload{
			{Name: "tcp_stream"},
			{Name: "tcp_rr", Options: record.Options{RequestSize: 64, ResponseSize: 1024, Streams: 2}, Tools: []string{"qperf"}},
			{Name: "udp_stream", Options: record.Options{Bandwidth: 1.5e9, GSO: true}},
			{Name: "paced_rr", Options: record.Options{Rate: 1000}},
			{Name: "http", Options: record.Options{NoKeepAlive: true}},
			{Name: "tcp_stream", Options: record.Options{MessageSize: 131072, Window: 1048576, Congestion: "cubic", ZeroCopy: true, SkipRxCopy: true, Reverse: true}},
		},
		Tools: []string{"engine", "qperf"}, Placements: []string{"same", "free"}, Servers: []int{2}, Clients: []int{3, 4}, Processes: []int{16},
		Underlay: []Underlay{{Rate: 1_500_000_000, Delay: time.Millisecond}},
		Conditions: Conditions{
			"mtu": {1500, 9000}, "rules": {10}, "services": {0, 5}, "cni": {"bridge", "flannel"}, "policies": {0, 3}, "neighbours": {0, 1000}, "offload": {"on", "off"}, "normalize": {true},
		},
		Duration: 300 * time.Millisecond, Precision: 0.025, Confidence: 0.99, EqualWithin: 0.02,
		MinRounds: 3, MaxRounds: 7, TimeBudget: 90 * time.Second, Seed: 1<<64 - 1, Note: "a: b",
		Instance: "m4.large", Price: 0.139, Source: "icc-2014",
		Skips: []Skip{{Network: "ovs", Reason: "not yet"}, {Underlay: "D1", Reason: "unknown"}},
		AsPublished: &Published{
			Duration: 5 * time.Second, Rounds: 10, Tools: []string{"iperf"},
			Workloads: []Workload{{Name: "tcp_rr"}, {Name: "tcp_stream", Options: record.Options{Streams: 10}}},
		},
	}
	for name, text := range map[string]string{
		"lf": text, "crlf": strings.ReplaceAll(text, "\n", "\r\n"), "byte order mark": "\ufeff" + text,
	} {
		t.Run(name, func(t *testing.T) {
			got := loaded(t, text)
			if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Suite{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLoadDefaults(t *testing.T) {
	got, err := Load("dir/mine.yaml", strings.NewReader("networks: [bridge]"))
	iferr.Fatal(t, err)
	want := Default()
	want.Name, want.Networks = "mine", []string{"bridge"}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Suite{})); diff != "" {
		t.Error(diff)
	}
}

func TestLoadErrors(t *testing.T) {
	const head = "networks: [bridge]\n"
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", `x.yaml:1:1: the file is empty; name at least networks, such as networks: [bridge]`},
		{"comment only", "# nothing\n", `x.yaml:1:1: the file is empty; name at least networks, such as networks: [bridge]`},
		{"no networks", "seed: 1\n", `x.yaml:1:1: networks: nothing is to be measured; name networks, such as bridge, or all`},
		{"scalar", "bridge\n", `x.yaml:1:1: a suite is a mapping, this is the text "bridge"; write for example networks: [bridge]`},
		{"list", "- bridge\n", `x.yaml:1:1: a suite is a mapping, this is a list; write for example networks: [bridge]`},
		{"unknown key", "netwroks: [bridge]\n", `x.yaml:1:1: unknown key "netwroks"; did you mean "networks"?`},
		{"hyphen", head + "time-budget: 1s\n", `x.yaml:2:1: unknown key "time-budget"; did you mean "time_budget"?`},
		{"strange key", "zebra: 1\n", `x.yaml:1:1: unknown key "zebra"; the keys are name, about, networks, platform, baseline, hosts, families, workloads, equal_load, tools, placements, servers, clients, processes, topologies, underlay, duration, warmup, turns, together, precision, confidence, equal_within, min_rounds, max_rounds, time_budget, seed, note, instance, price, source, skips, as_published, neighbours, rules, services, mtu, offload, normalize, cni, policies`},
		{"number as key", "1: 2\n", `x.yaml:1:1: the number 1 is not a key; the keys are name, about, networks, platform, baseline, hosts, families, workloads, equal_load, tools, placements, servers, clients, processes, topologies, underlay, duration, warmup, turns, together, precision, confidence, equal_within, min_rounds, max_rounds, time_budget, seed, note, instance, price, source, skips, as_published, neighbours, rules, services, mtu, offload, normalize, cni, policies`},
		{"unknown option", head + "workloads:\n  - name: tcp_stream\n    mesage_size: 1\n", `x.yaml:4:5: workloads[0]: unknown key "mesage_size"; did you mean "message_size"?`},
		{"no name", head + "workloads: [{streams: 2}]\n", `x.yaml:2:13: workloads[0]: has no name; write for example name: tcp_rr`},
		{"workload is a list", head + "workloads: [[tcp_rr]]\n", `x.yaml:2:13: workloads[0]: must be a name or a mapping, is a list; write for example tcp_rr or {name: tcp_rr, streams: 4}`},
		{"workload is a number", head + "workloads: [1]\n", `x.yaml:2:13: workloads[0]: must be a name or a mapping, is the number 1; write for example tcp_rr or {name: tcp_rr, streams: 4}`},
		{"no workload", head + "workloads: ['']\n", `x.yaml:2:13: workloads[0]: "" is not a workload; write a name such as tcp_stream`},
		{"twice", head + "seed: 1\nnetworks: [veth]\n", `x.yaml:3:1: key "networks" is given twice, first in line 1; delete one`},
		{"option twice", head + "workloads:\n- name: tcp_rr\n  name: tcp_rr\n", `x.yaml:4:3: workloads[0]: key "name" is given twice, first in line 3; delete one`},
		{"no value", "networks:\n", `x.yaml:1:1: networks: has no value; write one or delete the key`},
		{"null", "networks: [bridge]\nname: null\n", `x.yaml:2:1: name: has no value; write one or delete the key`},
		{"null in list", "networks: [bridge, ~]\n", `x.yaml:1:20: networks[1]: must be text, is nothing; write one text`},
		{"scalar for list", "networks: bridge\n", `x.yaml:1:11: networks: must be a list, is the text "bridge"; write networks: [bridge]`},
		{"mapping for list", "networks: {a: b}\n", `x.yaml:1:11: networks: must be a list, is a mapping; write its items in brackets`},
		{"empty list", "networks: []\n", `x.yaml:1:11: networks: is an empty list; name at least one or delete the key`},
		{"empty hosts", head + "hosts: []\n", `x.yaml:2:8: hosts: is an empty list; name at least one or delete the key`},
		{"number for text", head + "note: 12\n", `x.yaml:2:7: note: must be text, is the number 12; put it in quotes`},
		{"list for text", head + "note: [a]\n", `x.yaml:2:7: note: must be text, is a list; write one text`},
		{"truth for text", head + "note: true\n", `x.yaml:2:7: note: must be text, is the truth value true; put it in quotes`},
		{"text for number", head + "servers: \"2\"\n", `x.yaml:2:10: servers: must be a whole number, is the text "2"; write digits only`},
		{"words for number", head + "servers: two\n", `x.yaml:2:10: servers: must be a whole number, is the text "two"; write digits only`},
		{"fraction for number", head + "servers: 1.5\n", `x.yaml:2:10: servers: must be a whole number, is the number 1.5; write digits only`},
		{"octal", head + "servers: 0o7\n", `x.yaml:2:10: servers: must be a whole number, is the number 0o7; write digits only`},
		{"underscore", head + "servers: 1_0\n", `x.yaml:2:10: servers: must be a whole number, is the number 1_0; write digits only`},
		{"huge", head + "servers: 99999999999999999999\n", `x.yaml:2:10: servers: must be a whole number, is the text "99999999999999999999"; write digits only`},
		{"text for a condition", head + "mtu: [1500, \"9000\"]\n", `x.yaml:2:13: mtu[1]: must be a whole number, is the text "9000"; write digits only`},
		{"unit of a condition", head + "mtu: 9K\n", `x.yaml:2:6: mtu: must be a whole number, is the text "9K"; write digits only`},
		{"value of a condition", head + "cni: [bridge, weave]\n", `x.yaml:2:15: cni[1]: "weave" is not possible; write bridge, flannel or calico`},
		{"value of a switch", head + "normalize: [true, 1]\n", `x.yaml:2:19: normalize[1]: the number 1 is not a truth value; write true or false`},
		{"negative seed", head + "seed: -1\n", `x.yaml:2:7: seed: must be a whole number from 0 to 2^64-1, is the number -1; write digits only`},
		{"text for truth", head + "workloads: [{name: tcp_stream, zero_copy: yes}]\n", `x.yaml:2:43: workloads[0].zero_copy: the text "yes" is not a truth value; write true or false`},
		{"bad size", head + "workloads: [{name: tcp_stream, window: 1X}]\n", `x.yaml:2:40: workloads[0].window: "1X" is not a size; write bytes such as 1460, 128K or 1M`},
		{"list for size", head + "workloads: [{name: tcp_stream, window: [1]}]\n", `x.yaml:2:40: workloads[0].window: must be one value, is a list; write it as one text`},
		{"zero streams", head + "workloads: [{name: tcp_stream, streams: 0}]\n", `x.yaml:2:41: workloads[0].streams: 0 is not possible; write a number from 1 to 10000, or leave it out`},
		{"negative streams", head + "workloads: [{name: tcp_stream, streams: -1}]\n", `x.yaml:2:41: workloads[0].streams: -1 is not possible; write a number from 1 to 10000, or leave it out`},
		{"large message", head + "workloads: [{name: tcp_stream, message_size: 1G}]\n", `x.yaml:2:46: workloads[0].message_size: 1G is not possible; write a number from 1 to 64M, or leave it out`},
		{"useless option", head + "workloads:\n  - tcp_rr\n  - name: tcp_rr\n    message_size: 1K\n", `x.yaml:5:19: workloads[1].message_size: has no effect on tcp_rr; leave it out`},
		{"useless request", head + "workloads: [{name: tcp_stream, request_size: 1}]\n", `x.yaml:2:46: workloads[0].request_size: has no effect on tcp_stream; leave it out`},
		{"congestion", head + "workloads: [{name: tcp_stream, congestion: 'a b'}]\n", `x.yaml:2:44: workloads[0].congestion: "a b" is not a congestion control; write a name such as cubic`},
		{"network", "networks: [bridge, 'a b']\n", `x.yaml:1:20: networks[1]: "a b" is not a network; name each for itself: a b`},
		{"platform", "networks: ['docker:']\n", `x.yaml:1:12: networks[0]: "docker:" is not a network; write a network such as bridge, or platform:name`},
		{"hosts", head + "hosts: [1, 17]\n", `x.yaml:2:12: hosts[1]: 17 hosts are not possible; write a number from 1 to 15`},
		{"family", head + "families: [4, 5]\n", `x.yaml:2:15: families[1]: 5 is not an IP version; write 4 or 6`},
		{"placement", head + "placements: [distnct]\n", `x.yaml:2:14: placements[0]: unknown placement "distnct"; did you mean "distinct"?`},
		{"strange placement", head + "placements: [anywhere]\n", `x.yaml:2:14: placements[0]: unknown placement "anywhere"; write same, distinct or free`},
		{"no servers", head + "servers: 0\n", `x.yaml:2:10: servers: 0 servers are not possible; write a number from 1 to 1595`},
		{"many servers", head + "servers: 1596\nclients: 1600\n", `x.yaml:2:10: servers: 1596 servers are not possible; write a number from 1 to 1595`},
		{"idle servers", head + "servers: 3\nclients: 2\n", `x.yaml:2:10: servers: 1 of 3 servers would have no client; write at least as many clients as servers`},
		{"negative duration", head + "duration: -1s\n", `x.yaml:2:11: duration: must be above zero, is -1s; write a length of time such as 300ms`},
		{"zero duration", head + "duration: 0\n", `x.yaml:2:11: duration: must be above zero, is 0s; write a length of time such as 300ms`},
		{"short duration", head + "duration: 1ms\n", `x.yaml:2:11: duration: 1ms is too short to measure CPU time; write at least 10ms`},
		{"long duration", head + "duration: 2h\n", `x.yaml:2:11: duration: 2h0m0s is too long; write at most 1h0m0s`},
		{"duration without unit", head + "duration: 10\n", `x.yaml:2:11: duration: the number 10 is not a length of time; write a number and its unit such as 300ms, 1s or 2m`},
		{"list for duration", head + "duration: [1s]\n", `x.yaml:2:11: duration: a list is not a length of time; write a number and its unit such as 300ms, 1s or 2m`},
		{"negative warmup", head + "warmup: -1ms\n", `x.yaml:2:9: warmup: must not be negative, is -1ms; write 0s for none`},
		{"small budget", head + "time_budget: 300ms\n", `x.yaml:2:14: time_budget: 300ms is less than one round of 4 cells takes, about 2s; write more, or measure less`},
		{"together without turns", head + "turns: false\ntogether: 3\n", `x.yaml:3:11: together: networks stand at once only to take turns, and whole trials were asked for (turns: false); leave one of the two out`},
		{"rounds", head + "min_rounds: 8\nmax_rounds: 7\n", `x.yaml:2:13: min_rounds: at least 8 and at most 7 rounds contradict each other; lower min_rounds or raise max_rounds`},
		{"fewer than the default", head + "max_rounds: 3\n", `x.yaml:2:13: max_rounds: at least 6 and at most 3 rounds contradict each other; lower min_rounds or raise max_rounds`},
		{"no rounds", head + "min_rounds: 0\n", `x.yaml:2:13: min_rounds: 0 rounds are not possible; write a number from 1 to 10000`},
		{"precision of 5", head + "precision: 5\n", `x.yaml:2:12: precision: 500% is not possible; did you mean 5%? write a share above 0% and up to 100%, such as 5%`},
		{"precision of text", head + "precision: good\n", `x.yaml:2:12: precision: "good" is not a share; write for example 5% or 0.05`},
		{"no precision", head + "precision: 0%\n", `x.yaml:2:12: precision: 0% is not possible; write a share above 0% and up to 100%, such as 5%`},
		{"no number", head + "precision: .nan\n", `x.yaml:2:12: precision: ".nan" is not a share; write for example 5% or 0.05`},
		{"equal within nothing", head + "equal_within: 0%\n", `x.yaml:2:15: equal_within: 0% is not possible; write a share above 0% and below 100%, such as 5%`},
		{"equal within everything", head + "equal_within: 100%\n", `x.yaml:2:15: equal_within: 100% is not possible; write a share above 0% and below 100%, such as 5%`},
		{"confidence", head + "confidence: 100%\n", `x.yaml:2:13: confidence: 100% is not possible; write a share from 50% to below 100%, such as 95%`},
		{"underlay", head + "underlay: rate=1\n", `x.yaml:2:11: underlay: rate is 1bit; between 10kbit and 400gbit is possible`},
		{"one of several", head + "clients: [1, x]\n", `x.yaml:2:14: clients[1]: must be a whole number, is the text "x"; write digits only`},
		{"0 of one", head + "clients: 0\n", `x.yaml:2:10: clients: 0 clients are not possible; write a number from 1 to 4092`},
		{"0 of several", head + "clients: [1, 0]\n", `x.yaml:2:14: clients[1]: 0 clients are not possible; write a number from 1 to 4092`},
		{"no value of several", head + "mtu: []\n", `x.yaml:2:6: mtu: is an empty list; name at least one or delete the key`},
		{"MTU as text", head + "mtu: jumbo\n", `x.yaml:2:6: mtu: must be a whole number, is the text "jumbo"; write digits only`},
		{"offload as truth value", head + "offload: true\n", `x.yaml:2:10: offload: must be text, is the truth value true; put it in quotes`},
		{"topology", head + "topologies: [1x1, 2by2]\n", `x.yaml:2:19: topologies[1]: "2by2" is not a topology; write SERVERSxCLIENTS or SERVERSxCLIENTSxPROCESSES, such as 2x8 or 1x4x16`},
		{"hexadecimal topology", head + "topologies: 0x10\n", `x.yaml:2:13: topologies: 0 servers are not possible; write a number from 1 to 1595`},
		{"topologies and processes", head + "processes: 4\ntopologies: [1x1]\n", `x.yaml:3:13: topologies: processes and topologies contradict each other; leave one out`},
		{"ports", head + "processes: [1, 4000]\nclients: 2\n", `x.yaml:2:12: processes: the servers of 1x2x4000 need 16008 ports, there are 12767 from 20001 on; write fewer clients or processes`},
		{"shape in brackets", head + "underlay: [rate=1gbit, 1ms]\n", `x.yaml:2:24: underlay[1]: "1ms" is not part of a shape; write for example rate=1G,delay=1ms`},
		{"bandwidth", head + "workloads: [{name: udp_stream, bandwidth: fast}]\n", `x.yaml:2:43: workloads[0].bandwidth: "fast" is not a bandwidth; write bit/s such as 100M or 1G`},
		{"too much bandwidth", head + "workloads: [{name: udp_stream, bandwidth: -1}]\n", `x.yaml:2:43: workloads[0].bandwidth: "-1" is not a bandwidth; write bit/s such as 100M or 1G`},
		{"no streams", head + "workloads: [{name: udp_stream, streams: 0}]\n", `x.yaml:2:41: workloads[0].streams: 0 is not possible; write a number from 1 to 10000, or leave it out`},
		{"bandwidth both ways", head + "workloads: [{name: tcp_bidir, bandwidth: 1G}]\n", `x.yaml:2:42: workloads[0].bandwidth: has no effect on tcp_bidir; leave it out`},
		{"no rate", head + "workloads: [{name: paced_rr, rate: 0}]\n", `x.yaml:2:36: workloads[0].rate: 0 is not possible; write a number from 1 to 10000000, or leave it out`},
		{"reverse transactions", head + "workloads: [{name: tcp_rr, reverse: true}]\n", `x.yaml:2:37: workloads[0].reverse: has no effect on tcp_rr; leave it out`},
		{"price", head + "price: cheap\n", `x.yaml:2:8: price: must be a number from 0 up, is the text "cheap"; write for example 0.139`},
		{"price of nothing", head + "price: 1\n", `x.yaml:2:8: price: needs the type of the machine that costs it; name the instance, such as m4.large`},
		{"infinite price", head + "instance: x\nprice: .inf\n", `x.yaml:3:8: price: must be a number from 0 up, is the number .inf; write for example 0.139`},
		{"skip as text", head + "skips: [ovs]\n", `x.yaml:2:9: skips[0]: must be a mapping, is the text "ovs"; write for example {network: ovs, reason: it is not a network yet}`},
		{"skip of nothing", head + "skips: [{reason: x}]\n", `x.yaml:2:9: skips[0]: says neither network nor underlay; write which one is skipped`},
		{"skip without a reason", head + "skips: [{network: x}]\n", `x.yaml:2:9: skips[0]: gives no reason; write for example reason: it is not a network yet`},
		{"published duration", head + "as_published: {duration: 1ms}\nduration: 1s\n", `x.yaml:2:26: as_published.duration: 1ms is too short to measure CPU time; write at least 10ms`},
		{"no published rounds", head + "as_published: {rounds: 0}\n", `x.yaml:2:24: as_published.rounds: must be above zero; leave it out for what the suite says`},
		{"published rounds", head + "as_published:\n  rounds: -1\n", `x.yaml:3:11: as_published.rounds: -1 rounds are not possible; write a number from 1 to 10000`},
		{"published workload", head + "workloads: [tcp_rr]\nas_published: {workloads: [{name: tcp_rr, gso: true}]}\n", `x.yaml:3:48: as_published.workloads[0].gso: has no effect on tcp_rr; leave it out`},
		{"published as text", head + "as_published: 5s\n", `x.yaml:2:15: as_published: must be a mapping, is the text "5s"; write for example {duration: 5s, rounds: 10}`},
		{"unknown key of published", head + "as_published: {round: 5}\n", `x.yaml:2:16: as_published: unknown key "round"; did you mean "rounds"?`},
		{"underlay mapping", head + "underlay: {rate: 1gbit}\n", `x.yaml:2:11: underlay: must be one value, is a mapping; write it as one text`},
		{"name of two lines", head + "name: \"a\\nb\"\n", `x.yaml:2:7: name: must be one line; leave out line breaks and control characters`},
		{"baseline: unknown", head + "baseline: brigde\n", `x.yaml:2:11: baseline: unknown network "brigde"; did you mean "bridge"? nettoll list networks shows all`},
		{"baseline: unknown platform", head + "baseline: dcker:bridge\n", `x.yaml:2:11: baseline: unknown platform "dcker"; did you mean "docker"? nettoll list platforms shows all`},
		{"baseline: of another platform", head + "baseline: pod\n", `x.yaml:2:11: baseline: lab has no network "pod", kube has: did you mean "kube:pod"? nettoll list networks shows all`},
		{"baseline: several", head + "baseline: docker:all\n", `x.yaml:2:11: baseline: "docker:all" is not one network; write a network such as veth, or platform:name`},
		{"baseline: no name", head + "baseline: a b\n", `x.yaml:2:11: baseline: "a b" is not one network; write a network such as veth, or platform:name`},
		{"baseline: other hosts", head + "baseline: vxlan\n", `x.yaml:2:11: baseline: vxlan makes sense on 2 or more hosts, bridge is measured on 1; change the number of hosts, or name another baseline`},
		{"baseline: some other hosts", "networks: [macvlan]\nbaseline: veth\n", `x.yaml:2:11: baseline: veth makes sense on 1 host, macvlan is measured on 2; change the number of hosts, or name another baseline`},
		{"baseline: other family", "networks: [vxlan]\nbaseline: four\nfamilies: [4, 6]\n", `x.yaml:2:11: baseline: four carries IPv4 only, vxlan is measured over IPv6 too; change families, or name another baseline`},
		{"baseline: too many", "networks: [veth]\nclients: 2000\nbaseline: bridge\n", `x.yaml:2:10: clients: one host would hold 2001 servers and clients, bridge takes 1023 there; write fewer, or leave bridge out`},
		{"baseline: a platform without one on so many hosts", "networks: ['swarm:overlay']\n", `x.yaml:1:1: baseline: swarm has no native on 2 hosts to compare swarm:overlay with; change the number of hosts, or name a baseline`},
		{"baseline: platform", head + "platform: dokcer\n", `x.yaml:2:11: platform: unknown platform "dokcer"; did you mean "docker"? nettoll list platforms shows all`},
		{"baseline: platform of no name", head + "platform: a:b\n", `x.yaml:2:11: platform: "a:b" is not a platform; write a name such as lab`},
		{"baseline: what the platform has not", "networks: [bridge, vxlan]\nplatform: docker\n", `x.yaml:1:20: networks[1]: docker has no network "vxlan", lab has: did you mean "lab:vxlan"? nettoll list networks shows all`},
		{"baseline: baseline as a list", head + "baseline: [veth]\n", `x.yaml:2:11: baseline: must be text, is a list; write one text`},
		{"what only Expand can find", "networks:\n- veth\n- brigde\n", `x.yaml:3:3: networks[1]: unknown network "brigde"; did you mean "bridge"? nettoll list networks shows all`},
		{"second document", head + "---\nnetworks: [veth]\n", `x.yaml:2:1: a second document begins here; write each suite in a file of its own`},
		{"document after its end", head + "...\nseed: 1\n", `x.yaml:3:1: a second document begins here; write each suite in a file of its own`},
		{"anchor", "networks: &n [bridge]\n", `x.yaml:1:11: anchors and aliases are not read; write the value out`},
		{"bomb", "a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\n", `x.yaml:1:4: anchors and aliases are not read; write the value out`},
		{"alias", head + "hosts: *n\n", `x.yaml:2:8: anchors and aliases are not read; write the value out`},
		{"merge", "<<: {networks: [bridge]}\n", `x.yaml:1:1: anchors and aliases are not read; write the value out`},
		{"tag", "networks: !!seq [bridge]\n", `x.yaml:1:11: tags are not read; write the value without !!seq`},
		{"directive", "%YAML 1.2\n---\n" + head, `x.yaml:1:1: directives are not read; delete the line`},
		{"question mark", "? networks\n: [bridge]\n", `x.yaml:1:1: keys with a question mark are not read; write key: value`},
		{"not UTF-8", head + "note: caf\xe9\n", `x.yaml:2:10: not UTF-8; save the file in that encoding`},
		{"UTF-16", "\xff\xfen\x00", `x.yaml:1:1: not UTF-8; save the file in that encoding`},
		{"tab", "networks:\n\t- bridge\n", `x.yaml:2:1: not YAML: found character '\t' that cannot start any token; check indentation (spaces, no tabs), colons, brackets and quotes here`},
		{"open list", "networks: [bridge\n", `x.yaml:1:11: not YAML: sequence end token ']' not found; check indentation (spaces, no tabs), colons, brackets and quotes here`},
		{"open quote", "networks: [\"bridge]\n", `x.yaml:1:12: not YAML: could not find end character of double-quoted text; check indentation (spaces, no tabs), colons, brackets and quotes here`},
		{"indentation", head + "  seed: 1\n", `x.yaml:2:3: not YAML: value is not allowed in this context; check indentation (spaces, no tabs), colons, brackets and quotes here`},
		{"deep", "networks:\n " + strings.Repeat("- ", 19_000) + "x\n", `x.yaml:2:4: networks[0]: must be text, is a list; write one text`},
		{"many lines", "networks: [bridge]\nnote: |\n  a\n" + strings.Repeat("\n", 100_000), `x.yaml:5001:1: more than 5000 lines; a suite file is shorter`},
		{"many words", "networks: [" + strings.Repeat("a,", 10_000) + "]\n", `x.yaml:1:20009: more than 20000 words and signs; a suite file is shorter`},
		{"large", "#" + strings.Repeat(" ", 1<<20), `x.yaml:1:1: the file is longer than 1048576 bytes; a suite file is shorter`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := Load("x.yaml", strings.NewReader(c.text))
			if err == nil {
				_, err = Expand(s, drivers())
			}
			if message(err) != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			var field *FieldError
			if !errors.As(err, &field) {
				t.Errorf("%T is not a FieldError", err)
			}
		})
	}
}

// TestControlCharacters checks that none that a terminal acts on is left in what a dry run prints, among them the single
// character that begins a control sequence.
func TestControlCharacters(t *testing.T) {
	for _, c := range []string{"\x1b", "\x7f", "\u009b"} {
		name, reason := Default(), Default()
		name.Networks, name.Name = []string{"bridge"}, c+"[2J"
		reason.Networks, reason.Skips = []string{"bridge"}, []Skip{{Network: "ovs", Reason: c + "[2J"}}
		for _, s := range []Suite{name, reason} {
			if err := s.Validate(); err == nil || !strings.Contains(err.Error(), "must be one line") {
				t.Errorf("%q: %v", c, err)
			}
		}
	}
}

func TestLoadReadError(t *testing.T) {
	broken := errors.New("the disk is gone")
	_, err := Load("x.yaml", iotest.ErrReader(broken))
	if !errors.Is(err, broken) || err.Error() != "read suite x.yaml: the disk is gone" {
		t.Errorf("got %v", err)
	}
}

// TestYAML reads back every embedded suite as YAML writes it, and one with every field set.
func TestYAML(t *testing.T) {
	all := Default()
	all.Name, all.About, all.Networks = "all: of it", "says \"much\"", []string{"bridge", "docker:bridge"}
	all.Workloads = []Workload{
		{Name: record.TCPStream, Options: record.Options{Streams: 4, MessageSize: 128 << 10, Congestion: "cubic", ZeroCopy: true}, Tools: []string{"engine", "iperf3"}},
		{Name: record.PacedRR, Options: record.Options{Rate: 1000}},
	}
	all.Underlay = []Underlay{{}, {Rate: 1e9, Delay: time.Millisecond}}
	all.Topologies = []Topology{{1, 4, 16}, {2, 2, 1}}
	all.Turns, all.Precision, all.TimeBudget = false, 0.025, 90*time.Second
	all.Conditions = Conditions{"offload": {"on", "off"}, "mtu": {1500, 9000}, "rules": {7}, "normalize": {false, true}}
	cold := all
	cold.Warmup = 0
	unlimited, err := Load("x.yaml", strings.NewReader("name: unlimited\nnetworks: [bridge]\ntime_budget: 0s\n"))
	iferr.Fatal(t, err)
	exact := all
	exact.Confidence, exact.Precision, exact.EqualWithin = 0.999999999, 0.000_000_001, 0.000_000_04
	suites := []Suite{all, cold, unlimited, exact}
	for _, name := range Names() {
		s := embedded(t, name)
		suites = append(suites, s)
	}
	for _, s := range suites {
		text, err := s.YAML()
		iferr.Fatal(t, err)
		again, err := Load("x.yaml", strings.NewReader(text))
		if err != nil {
			t.Errorf("%s: %v in\n%s", s.Name, err, text)
			continue
		}
		if diff := cmp.Diff(s, again, cmpopts.IgnoreUnexported(Suite{})); diff != "" {
			t.Errorf("%s: %s in\n%s", s.Name, diff, text)
		}
		if s.Budgeted() && !again.Budgeted() {
			t.Errorf("%s: it has the usual time budget now:\n%s", s.Name, text)
		}
	}
}
