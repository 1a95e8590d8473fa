package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"nettoll/record"
)

// reports writes a report of a run of thousands of trials, and beside that reads the same file with
// encoding/json alone, every trial as a whole and kept, as whoever computes with all of them would. A report
// that was made of whole trials, one line after the other, took seven times that time, and nearly three times
// that memory.
func reports(ctx context.Context, w *work) error {
	file := filepath.Join(w.dir, "big.ndjson")
	const rounds = 50
	if err := writeBigRun(file, rounds); err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	fmt.Printf("a run of %d trials, %d MB\n", rounds*len(bigRun(rounds).Cells), info.Size()/1e6)
	for _, format := range []struct {
		name string
		time float64 // that it may take at most, of that of reading
	}{{"text", 1.5}, {"html", 2}} {
		var times, memories ratios
		for range 3 {
			plain, err := spent(ctx, self, readsAll, file)
			if err != nil {
				return err
			}
			report, err := spent(ctx, w.program, "report", file, "--format", format.name)
			if err != nil {
				return err
			}
			fmt.Printf("report as %s: nettoll %.2f s and %.0f MB, encoding/json %.2f s and %.0f MB\n", format.name, report.seconds, report.megabytes, plain.seconds, plain.megabytes)
			times, memories = append(times, report.seconds/plain.seconds), append(memories, report.megabytes/plain.megabytes)
		}
		times.show("report as "+format.name+" ÷ reading all, time", false, format.time)
		memories.show("report as "+format.name+" ÷ reading all, peak memory", false, 0.67)
	}
	return nil
}

// spending is what a program took from its beginning to its end.
type spending struct{ seconds, megabytes float64 }

func spent(ctx context.Context, program string, args ...string) (spending, error) {
	cmd := interruptible(ctx, program, args...)
	cmd.Stderr = os.Stderr
	begin := time.Now()
	if err := cmd.Run(); err != nil {
		return spending{}, fmt.Errorf("%s %s: %w", program, args[0], err)
	}
	s := spending{seconds: time.Since(begin).Seconds()}
	if use, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		s.megabytes = float64(use.Maxrss) / 1e3 // of kB
	}
	return s, nil
}

// readsAll is the argument of a process that reads a run file and does nothing else.
const readsAll = "reads-all"

func readAll(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var trials []*record.Trial
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		t := &record.Trial{}
		if err := json.Unmarshal(lines.Bytes(), t); err != nil {
			return err
		}
		trials = append(trials, t)
	}
	runtime.KeepAlive(trials)
	return lines.Err()
}

// What the trials of a big run are of: four pairs of containers on a machine of 16 CPUs. So one is
// about 20 kB, as those of a suite with several clients are.
const (
	pairsOfRun = 4
	cpusOfRun  = 16
)

var (
	networksOfRun  = []string{"native", "bridge", "macvlan", "ipvlan", "vxlan", "geneve", "gre", "wireguard", "ovs", "routed"}
	workloadsOfRun = []string{record.TCPStream, record.TCPRR, record.UDPStream, record.HTTP}
)

// writeBigRun writes a run file of so many rounds of 80 trials, the same each time. It is not
// written by a record.Writer, which waits for the disk after every line.
func writeBigRun(path string, rounds int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	buffer := bufio.NewWriterSize(f, 1<<20)
	line := json.NewEncoder(buffer)
	run := bigRun(rounds)
	if err := line.Encode(run); err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(6000, 121))
	for round := 1; round <= rounds; round++ {
		for order, cell := range run.Cells {
			t, err := bigTrial(cell, round, order+1, r)
			if err != nil {
				return err
			}
			t.Started = run.Started.Add(time.Duration(len(run.Cells)*round+order) * time.Second)
			if err := line.Encode(t); err != nil {
				return err
			}
		}
	}
	end := record.End{Type: record.TypeEnd, Finished: run.Started.Add(time.Hour), Reason: record.EndMaxRounds, Rounds: rounds, Elapsed: 3600}
	return cmp.Or(line.Encode(end), buffer.Flush(), f.Close())
}

func bigRun(rounds int) record.Run {
	run := record.Run{
		Type: record.TypeRun, SchemaVersion: record.SchemaVersion, ID: "6000", Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Suite: "big",
		Machine:  record.Machine{OS: "Debian GNU/Linux 13 (trixie)", Kernel: "6.12.0", Arch: "amd64", CPUModel: "invented", MemoryB: 64 << 30},
		Settings: record.Settings{Duration: 0.25, Precision: 0.05, Confidence: 0.95, MinRounds: 6, MaxRounds: rounds, Seed: 1, Turns: true},
	}
	for cpu := range cpusOfRun {
		run.Machine.CPUs = append(run.Machine.CPUs, record.CPU{ID: cpu, Core: cpu})
	}
	for _, family := range []int{4, 6} {
		for _, workload := range workloadsOfRun {
			for _, network := range networksOfRun {
				run.Cells = append(run.Cells, record.Cell{Network: network, Hosts: 2, Family: family, Servers: pairsOfRun, Clients: pairsOfRun, Tool: "engine",
					Workload: workload, Options: record.Options{Streams: 1}, Placement: record.PlacementDistinct})
			}
		}
	}
	return run
}

// bigTrial is a trial with all that the engine's have.
func bigTrial(c record.Cell, round, order int, r *rand.Rand) (record.Trial, error) {
	around := func(v float64) float64 { return v * math.Exp(0.05*r.NormFloat64()) }
	t := record.Trial{
		Type: record.TypeTrial, Cell: c, Round: round, Order: order,
		Elapsed: around(1), Status: record.OK, Window: 0.25, Metrics: map[string]record.Metric{}, Counters: map[string]uint64{}, Covered: around(0.9),
		Course: &record.Course{},
	}
	set := func(name string, v float64) { t.Metrics[name] = record.Measured(name, around(v)) }
	streams := c.Workload == record.TCPStream || c.Workload == record.UDPStream
	bytes, transactions := uint64(around(4e8)), uint64(around(9000))
	if streams {
		for _, name := range []string{record.Throughput, record.ThroughputPerClient, record.Retransmits} {
			set(name, 1e10)
		}
		set(record.CPUPerGB, 0.5)
		transactions, t.Covered = 0, 0
	} else {
		for _, name := range []string{record.LatencyMean, record.LatencyP50, record.LatencyP90, record.LatencyP99, record.LatencyP999, record.LatencyMax} {
			set(name, 50e-6)
		}
		set(record.TransactionRate, 36000)
		set(record.CPUPerTransaction, 30e-6)
		bytes = 0
		var err error
		if t.Latency, err = bigLatency(r); err != nil {
			return t, err
		}
	}
	set(record.Fairness, 0.9)
	for part := range 10 {
		if streams {
			t.Course.Bytes = append(t.Course.Bytes, uint64(around(4e7)))
		} else {
			t.Course.Transactions = append(t.Course.Transactions, around(900))
		}
		t.Slices = append(t.Slices, record.Slice{At: around(float64(part) + 1), Window: 0.025, Bytes: bytes / 10, Transactions: transactions / 10})
	}
	t.CPU = &record.CPUUse{Machine: record.MachineCPU{Busy: around(1), Clock: "timer_list", Softirq: around(0.1)}, Idle: around(0.02), Watched: 0.75}
	for _, p := range []*record.ProcessCPU{&t.CPU.Client, &t.CPU.Server} {
		p.User, p.System, p.CPUs = around(0.02), around(0.3), []int{0, 1, 2, 3}
	}
	for cpu := range cpusOfRun {
		t.CPU.Machine.PerCPU = append(t.CPU.Machine.PerCPU, record.CPUSample{CPU: cpu, User: around(0.02), System: around(0.05), Softirq: around(0.03), Idle: around(0.15)})
	}
	for pair := range pairsOfRun {
		client, server := fmt.Sprintf("h1c%d", pair+1), fmt.Sprintf("h2c%d", pair+1)
		t.Flows = append(t.Flows, record.Flow{Client: client, Server: server, Bytes: bytes / pairsOfRun, Transactions: transactions / pairsOfRun,
			TCP: &record.TCPInfo{RTT: uint32(around(900)), RTTVar: uint32(around(300)), Cwnd: 10, SndMSS: 1448, RcvMSS: 536, PMTU: 1500, Congestion: "cubic", Busy: uint64(around(8e5))}})
		for _, name := range []string{client, server} {
			bigEndpoint(&t, name, c, uint64(around(3e8)))
		}
	}
	return t, nil
}

// bigEndpoint adds one end, with its counters and its hop.
func bigEndpoint(t *record.Trial, name string, c record.Cell, bytes uint64) {
	for i, counter := range []string{"IpInDelivers", "IpInNoECTPkts", "IpInOctets", "IpInReceives", "IpOutOctets", "IpOutRequests", "IpOutTransmits", "TcpEstabResets",
		"TcpExtDelayedACKs", "TcpExtTCPDelivered", "TcpExtTCPHPAcks", "TcpExtTCPHPHits", "TcpExtTCPOrigDataSent", "TcpExtTCPPureAcks", "TcpInSegs", "TcpOutSegs",
		"eth0.rx_bytes", "eth0.rx_packets", "eth0.tx_bytes", "eth0.tx_packets", "softnet.processed"} {
		t.Counters[name+"/"+counter] = bytes / uint64(i+1)
	}
	role := map[byte]string{'1': "client", '2': "server"}[name[1]]
	t.Endpoints = append(t.Endpoints, record.Endpoint{
		Name: name, Role: role, Host: name[:2], Address: "10.0." + name[1:2] + "." + name[3:], Device: "eth0", Driver: c.Network, MTU: 1500, Qdisc: "noqueue", CPUs: []int{0, 1, 2, 3},
		Offloads: map[string]bool{"gro": true, "gso": true, "rx-checksum": true, "tso": true, "tx-checksum": true, "lro": false, "rx-gro-hw": false, "tx-udp-segmentation": true},
		Sysctls: map[string]string{"net.ipv4.tcp_congestion_control": "cubic", "net.ipv4.tcp_rmem": "4096\t131072\t33554432", "net.ipv4.tcp_wmem": "4096\t16384\t4194304",
			"net.core.rmem_max": "212992", "net.core.wmem_max": "212992", "net.core.default_qdisc": "fq_codel"},
	})
	for _, device := range []string{name + "/eth0", name[:2] + "/veth" + name[3:]} {
		t.Path = append(t.Path, record.Hop{Name: device, Kind: "device", Packets: bytes / 1500, Bytes: bytes, Need: bytes / 2, Unit: "bytes", OK: true})
	}
}

// bigLatency is what the engine keeps of 9,000 transactions.
func bigLatency(r *rand.Rand) (*record.Histogram, error) {
	h := hdrhistogram.New(1, int64(time.Hour), 3)
	for range 3000 {
		if err := h.RecordValues(int64(40e3*math.Exp(0.4*r.NormFloat64()+0.1*math.Abs(r.NormFloat64()))), 3); err != nil {
			return nil, err
		}
	}
	if err := h.RecordValue(int64(4e6 * (1 + r.Float64()))); err != nil {
		return nil, err
	}
	text, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	return &record.Histogram{Encoded: string(text), Count: h.TotalCount(), Min: h.Min(), P50: h.ValueAtQuantile(50), Max: h.Max()}, err
}
