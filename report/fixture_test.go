package report

import (
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"nettoll/analysis"
	"nettoll/record"
)

// specimen is one invented network and what it costs.
type specimen struct {
	name       string
	gbits      float64
	p50, p99   float64 // µs
	perGB      float64 // CPU seconds
	perTrans   float64 // CPU µs
	spread     float64 // relative
	status     record.Status
	reason     string
	remedy     string
	devices    []string
	mtu        int
	warnings   []record.Warning
	failedRuns int
}

// steal is a doubt that the trials of a specimen carry.
var steal = record.Warning{Code: "steal", Text: "the hypervisor took 3.1% of the CPU time away"}

func oneHost() []specimen {
	return []specimen{
		{name: "host", gbits: 20.1, p50: 20.4, p99: 31.2, perGB: 0.352, perTrans: 11.2, spread: 0.012, mtu: 65536, devices: []string{"h1/lo"}},
		{name: "veth", gbits: 13.4, p50: 23.1, p99: 36.8, perGB: 0.498, perTrans: 13.0, spread: 0.014, mtu: 1500, devices: []string{"c1/eth0", "c2/eth0"}},
		{name: "macvlan", gbits: 13.5, p50: 22.7, p99: 35.5, perGB: 0.491, perTrans: 12.6, spread: 0.018, mtu: 1500, devices: []string{"c1/eth0", "h1/mv-parent", "c2/eth0"}},
		{name: "bridge", gbits: 11.8, p50: 26.5, p99: 41.9, perGB: 0.574, perTrans: 15.1, spread: 0.016, mtu: 1500,
			devices: []string{"c1/eth0", "h1/veth1a2b", "h1/br0", "h1/veth9f3c", "c2/eth0"}, warnings: []record.Warning{steal}},
		{name: "published", gbits: 10.0, p50: 31.9, p99: 52.6, perGB: 0.683, perTrans: 18.9, spread: 0.025, mtu: 1500,
			devices: []string{"h1/lo", "h1/nat DNAT :5201", "h1/br0", "c2/eth0"}, warnings: []record.Warning{steal}},
		{name: "proxy", gbits: 8.7, p50: 47.8, p99: 88.4, perGB: 1.21, perTrans: 34.5, spread: 0.031, mtu: 1500,
			devices: []string{"h1/lo", "h1/nettoll-proxy", "h1/br0", "c2/eth0"}, failedRuns: 2},
		{name: "ovs", status: record.Skipped, reason: "ovs-vswitchd is not on PATH", remedy: "install openvswitch-switch (Debian: apt-get install openvswitch-switch)"},
	}
}

func twoHosts() []specimen {
	return []specimen{
		{name: "native", gbits: 12.4, p50: 25.2, p99: 40.1, perGB: 0.521, perTrans: 14.0, spread: 0.015, mtu: 1500, devices: []string{"h1/eth0", "h2/eth0"}},
		{name: "macvlan", gbits: 12.3, p50: 25.4, p99: 40.6, perGB: 0.533, perTrans: 14.1, spread: 0.02, mtu: 1500, devices: []string{"c1/eth0", "h1/eth0", "h2/eth0", "c2/eth0"}},
		{name: "vxlan", gbits: 8.1, p50: 38.9, p99: 66.0, perGB: 0.842, perTrans: 21.7, spread: 0.02, mtu: 1450,
			devices: []string{"c1/eth0", "h1/br0", "h1/vxlan42", "h1/eth0", "h2/eth0", "h2/vxlan42", "h2/br0", "c2/eth0"}},
		{name: "wireguard", gbits: 2.1, p50: 79.3, p99: 171, perGB: 3.94, perTrans: 46.1, spread: 0.04, mtu: 1420,
			devices: []string{"c1/eth0", "h1/wg0", "h1/eth0", "h2/eth0", "h2/wg0", "c2/eth0"}, warnings: []record.Warning{steal}},
		{name: "weave", gbits: 0.18, p50: 263, p99: 912, perGB: 14.2, perTrans: 131, spread: 0.045, mtu: 1376,
			devices: []string{"c1/eth0", "h1/weave", "h1/weaver", "h1/eth0", "h2/eth0", "h2/weaver", "h2/weave", "c2/eth0"}},
		{name: "flannel", status: record.Failed, reason: "flannel: start flanneld on h2: exit status 1: operation not supported"},
		{name: "overlay-encrypted", status: record.Invalid, reason: "0 B of 6.2 GB crossed h1/esp: the payload took another way"},
	}
}

// specimenFile is a run file as an ordinary run writes it.
func specimenFile() *record.File {
	start := time.Date(2026, 3, 14, 21, 7, 0, 0, time.UTC)
	f := &record.File{
		Run: record.Run{
			Type: record.TypeRun, SchemaVersion: record.SchemaVersion,
			ID: "5f3a9c01", Started: start, Version: "0.1.0", Suite: "default", Note: "new switch, before the upgrade",
			Machine: record.Machine{OS: "Debian GNU/Linux 12", Kernel: "6.1.0-18", Arch: "amd64", CPUModel: "AMD EPYC 7713",
				CPUs: []record.CPU{{ID: 0}, {ID: 1, Core: 1}}, MemoryB: 24 << 30, Virtual: "yes", Root: true, Features: []string{"veth", "bridge", "vxlan"}},
			Settings: record.Settings{Duration: 5, Warmup: 1, Precision: 0.05, Confidence: 0.95, MinRounds: 6, MaxRounds: 30, Seed: 1, EqualWithin: 0.05},
		},
		Spent: 1862,
	}
	for i, hosts := range [][]specimen{oneHost(), twoHosts()} {
		for _, workload := range []string{record.TCPStream, record.TCPRR} {
			invent(f, hosts, i+1, workload)
		}
	}
	f.Ends = []record.End{{Type: record.TypeEnd, Finished: start.Add(31 * time.Minute), Reason: record.EndPrecision, Rounds: inventedRounds, Elapsed: f.Spent}}
	return f
}

// specimenResult is a result as an ordinary run gives it.
func specimenResult() (analysis.Result, Options) {
	f := specimenFile()
	return analysis.Analyze(f), Options{Trials: f.Trials}
}

const inventedRounds = 12

// invent adds the trials of a scenario.
func invent(f *record.File, specimens []specimen, hosts int, workload string) {
	cell := record.Cell{Hosts: hosts, Family: 4, Servers: 1, Clients: 1, Tool: "engine", Workload: workload,
		Placement: record.PlacementDistinct, Options: record.Options{Streams: 1}}
	if workload == record.TCPRR {
		cell.Options.RequestSize, cell.Options.ResponseSize = 1, 1
	} else {
		cell.Options.MessageSize = 128 << 10
	}
	for i, sp := range specimens {
		cell.Network = sp.name
		f.Run.Cells = append(f.Run.Cells, cell)
		for j, t := range sp.trials(cell) {
			t.Order = 1 + (i+j)%len(specimens)
			t.Started = f.Run.Started.Add(time.Duration(j*len(specimens)+i) * 6 * time.Second)
			f.Trials = append(f.Trials, t)
		}
	}
}

func (sp specimen) values(workload string) map[string]float64 {
	if workload == record.TCPStream {
		return map[string]float64{record.Throughput: sp.gbits * 1e9, record.CPUPerGB: sp.perGB, record.Retransmits: math.Round(sp.perGB * 10)}
	}
	return map[string]float64{record.TransactionRate: 1e6 / (sp.p50 * 1.04), record.LatencyP50: sp.p50 / 1e6, record.LatencyP90: sp.p50 * 1.3 / 1e6,
		record.LatencyP99: sp.p99 / 1e6, record.LatencyP99ByTime: sp.p99 * 1.6 / 1e6, record.LatencyP999: sp.p99 * 2.1 / 1e6, record.LatencyMax: sp.p99 * 9 / 1e6, record.CPUPerTransaction: sp.perTrans / 1e6}
}

// histogram invents a long-tailed distribution with about the wanted percentiles, for one trial.
func (sp specimen) histogram(round int) *record.Histogram {
	h := hdrhistogram.New(1, 10_000_000_000, 2)
	r := rand.New(rand.NewPCG(uint64(round), uint64(sp.p50*1000)))
	sigma := math.Log(sp.p99/sp.p50) / 2.326
	const values = 800
	for range values {
		z := r.NormFloat64()
		us := sp.p50 * math.Exp(math.Max(sigma*z, -0.12+0.02*z))
		if r.Float64() < 0.002 {
			us *= 2 + 6*r.Float64()
		}
		if err := h.RecordValue(int64(us * 1e3)); err != nil {
			panic(err)
		}
	}
	text, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		panic(err)
	}
	return &record.Histogram{Encoded: string(text), Count: values, Min: h.Min(), P50: h.ValueAtQuantile(50), P90: h.ValueAtQuantile(90),
		P99: h.ValueAtQuantile(99), P999: h.ValueAtQuantile(99.9), Max: h.Max()}
}

func (sp specimen) path() []record.Hop {
	var path []record.Hop
	for _, d := range sp.devices {
		h := record.Hop{Name: d, Kind: "device", Packets: 5_213_771, Bytes: 7_402_118_442, Need: 7_375_000_000, Unit: "bytes", OK: true}
		switch d {
		case "h1/nat DNAT :5201":
			h.Kind, h.Unit, h.Packets, h.Bytes, h.Need = "rule", "packets", 2, 0, 1
		case "h1/nettoll-proxy", "h1/weaver", "h2/weaver":
			h.Kind = "process"
		}
		path = append(path, h)
	}
	if sp.name == "macvlan" {
		path = append(path, record.Hop{Name: "h1/br0", Kind: "device", Packets: 4, Bytes: 310, Need: 64_000, Unit: "bytes", Absent: true, OK: true})
	}
	return path
}

func (sp specimen) endpoints() []record.Endpoint {
	var ends []record.Endpoint
	for i, role := range []string{"client", "server"} {
		ends = append(ends, record.Endpoint{Name: []string{"c1", "c2"}[i], Role: role, Address: []string{"198.18.0.2", "198.18.0.3"}[i], Device: "eth0", Driver: "veth",
			MTU: sp.mtu, Qdisc: "noqueue", CPUs: []int{i},
			Offloads: map[string]bool{"tso": sp.name != "weave", "gso": true, "gro": true, "tx-checksum": sp.name != "weave"},
			Sysctls:  map[string]string{"net.ipv4.tcp_congestion_control": "bbr", "net.ipv4.tcp_rmem": "4096 131072 6291456"}})
	}
	return ends
}

// rounded keeps six digits, so that processors which multiply and add in one
// step make the same golden files.
func rounded(v float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	if err != nil {
		panic(err)
	}
	return r
}

// trials are those of a specimen in one cell. What one moves more it takes less CPU for.
func (sp specimen) trials(cell record.Cell) []record.Trial {
	var trials []record.Trial
	if sp.status != "" {
		tries := 1
		if sp.status != record.Skipped {
			tries = record.GiveUp
		}
		for round := range tries {
			trials = append(trials, record.Trial{Type: record.TypeTrial, Cell: cell, Round: round + 1, Status: sp.status, Reason: sp.reason, Remedy: sp.remedy, Elapsed: 0.2})
		}
		return trials
	}
	values := sp.values(cell.Workload)
	for round := range inventedRounds {
		t := record.Trial{Type: record.TypeTrial, Cell: cell, Round: round + 1, Status: record.OK, Elapsed: 6.3, Window: 5, Warnings: sp.warnings}
		if round == inventedRounds-1 { // reports show those of the last
			t.Path, t.Endpoints = sp.path(), sp.endpoints()
		}
		if round < sp.failedRuns && cell.Workload == record.TCPStream {
			t.Status, t.Reason = record.Failed, "engine: dial 198.18.0.1:5201: connection refused"
			trials = append(trials, t)
			continue
		}
		t.Metrics = map[string]record.Metric{}
		for i, k := range record.Kinds() {
			v, ok := values[k.Name]
			if !ok {
				continue
			}
			// A fixed ripple stands for noise; that of CPU cost is the inverse of what was moved.
			ripple := 1 + sp.spread*math.Sin(float64(3*round)+sp.gbits*7+float64(i%2))
			if k.Name == record.CPUPerGB {
				ripple = 1 / ripple
			}
			t.Metrics[k.Name] = record.Metric{Value: rounded(v * ripple), Unit: k.Unit}
		}
		if m, ok := t.Metrics[record.Retransmits]; ok {
			m.Value = math.Round(m.Value)
			t.Metrics[record.Retransmits] = m
		}
		if cell.Workload == record.TCPRR {
			t.Latency = sp.histogram(round)
		}
		busy := sp.gbits / 8 * sp.perGB
		t.CPU = &record.CPUUse{Client: record.ProcessCPU{System: rounded(busy * 0.4 * t.Window)}, Server: record.ProcessCPU{System: rounded(busy * 0.45 * t.Window)},
			Machine: record.MachineCPU{Busy: rounded(busy * t.Window)}}
		trials = append(trials, t)
	}
	return trials
}
