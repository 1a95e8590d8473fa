package record

// Metric is one figure of a trial in its base unit.
type Metric struct {
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

// Direction is the direction in which a metric is better.
type Direction int

const (
	HigherIsBetter Direction = iota + 1
	LowerIsBetter
)

func (d Direction) String() string {
	if d == HigherIsBetter {
		return "higher"
	}
	return "lower"
}

// MarshalText writes a direction as machine-readable reports name it.
func (d Direction) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// Names of metrics.
const (
	Throughput          = "throughput"            // payload bits per second, counted at the receiver; for tcp_bidir both ways together
	ThroughputPerClient = "throughput_per_client" // the same, for the average client process
	PacketRate          = "packet_rate"           // datagrams per second, counted at the receiver
	TransactionRate     = "transaction_rate"      // transactions per second; for tcp_crr connections per second
	LatencyMean         = "latency_mean"          // round trip of a transaction
	LatencyP50          = "latency_p50"
	LatencyP90          = "latency_p90"
	LatencyP99          = "latency_p99"
	LatencyP999         = "latency_p999"
	LatencyP99ByTime    = "latency_p99_by_time"  // 99 % of the time, not of the transactions, is spent in transactions that take no longer
	LatencyP999ByTime   = "latency_p999_by_time" // computed by the analysis, from the latencies of closed loops
	LatencyMax          = "latency_max"
	LatencyAdded        = "latency_added" // p50 under load less p50 without
	ConnectP50          = "connect_p50"   // making a connection
	ConnectP99          = "connect_p99"
	Loss                = "loss"                // datagrams lost on the way, as a share of those sent
	ReceiverDrops       = "receiver_drops"      // datagrams that arrived when the socket was full, as a share of those sent
	Reordering          = "reordering"          // datagrams that arrived after a later one, as a share of those received
	Duplicates          = "duplicates"          // datagrams that arrived again, as a share of those received
	Jitter              = "jitter"              // interarrival jitter of RFC 3550, mean of the flows that have one
	Fairness            = "fairness"            // Jain's index of the flows' shares, 1 is equal
	CPUPerGB            = "cpu_per_gb"          // CPU seconds of the machine over idle, per 1e9 payload bytes
	CPUPerTransaction   = "cpu_per_transaction" // CPU seconds of the machine over idle, per transaction
	Retransmits         = "retransmits"         // segments, all flows
)

// Kind describes a metric: its base unit and its direction.
type Kind struct {
	Name   string    `json:"metric"`
	Title  string    `json:"-"`    // for display
	Unit   string    `json:"unit"` // base unit, as stored
	Better Direction `json:"better"`
}

// Kinds lists every metric in the order in which reports show them.
func Kinds() []Kind {
	return []Kind{
		{Throughput, "throughput", "bit/s", HigherIsBetter},
		{ThroughputPerClient, "throughput per client", "bit/s", HigherIsBetter},
		{PacketRate, "packets", "1/s", HigherIsBetter},
		{TransactionRate, "transactions", "1/s", HigherIsBetter},
		{LatencyMean, "latency mean", "s", LowerIsBetter},
		{LatencyP50, "latency p50", "s", LowerIsBetter},
		{LatencyP90, "latency p90", "s", LowerIsBetter},
		{LatencyP99, "latency p99", "s", LowerIsBetter},
		{LatencyP99ByTime, "latency p99 by time", "s", LowerIsBetter},
		{LatencyP999, "latency p99.9", "s", LowerIsBetter},
		{LatencyP999ByTime, "latency p99.9 by time", "s", LowerIsBetter},
		{LatencyMax, "latency max", "s", LowerIsBetter},
		{LatencyAdded, "latency added by load", "s", LowerIsBetter},
		{ConnectP50, "connect p50", "s", LowerIsBetter},
		{ConnectP99, "connect p99", "s", LowerIsBetter},
		{Loss, "loss", "ratio", LowerIsBetter},
		{ReceiverDrops, "receiver drops", "ratio", LowerIsBetter},
		{Reordering, "reordering", "ratio", LowerIsBetter},
		{Duplicates, "duplicates", "ratio", LowerIsBetter},
		{Jitter, "jitter", "s", LowerIsBetter},
		{Fairness, "fairness", "ratio", HigherIsBetter},
		{CPUPerGB, "CPU per GB", "cpu-s/GB", LowerIsBetter},
		{CPUPerTransaction, "CPU per transaction", "cpu-s", LowerIsBetter},
		{Retransmits, "retransmits", "segments", LowerIsBetter},
	}
}

// KindOf finds a metric by name.
func KindOf(name string) (Kind, bool) {
	return First(Kinds(), func(k Kind) bool { return k.Name == name })
}

// Primary names the metrics that answer for a workload: the first that a tool measures
// is the one that networks are ranked by and that precision is requested for.
func Primary(workload string) []string {
	switch workload {
	case TCPRR, UDPRR:
		return []string{LatencyP50, TransactionRate, LatencyP99, LatencyP99ByTime, CPUPerTransaction}
	case PacedRR:
		return []string{LatencyP50, LatencyP99, LatencyP999, LatencyMean, CPUPerTransaction}
	case LatencyUnderLoad:
		return []string{LatencyP50, LatencyAdded, LatencyP99, LatencyP99ByTime, Throughput}
	case TCPCRR, HTTP, Redis, Postgres:
		return []string{TransactionRate, LatencyP50, LatencyP99, LatencyP99ByTime, CPUPerTransaction}
	case UDPStream:
		return []string{PacketRate, Throughput, Loss, Jitter, CPUPerGB}
	default:
		return []string{Throughput, CPUPerGB}
	}
}

// Ranked names the metrics of a workload of which the first that a cell has ranks it. Tools differ in what they measure: qperf gives
// the mean of latencies and no percentile.
func Ranked(workload string) []string { return append(Primary(workload), LatencyMean) }

// Mixed reports whether a workload combines transactions and streams, whose shares
// of the network cannot be compared, and whose shares of CPU time are unknown.
func Mixed(workload string) bool { return workload == LatencyUnderLoad }

// Signed reports whether a metric can be negative: the latency added by load can, if there is almost none.
func Signed(metric string) bool { return metric == LatencyAdded }

// Measured returns a figure of a metric in its base unit.
func Measured(name string, value float64) Metric {
	kind, _ := KindOf(name)
	return Metric{Value: value, Unit: kind.Unit}
}

// Jain returns how evenly flows share a network: the squared sum over n times the sum of squares (Jain,
// Chiu and Hawe, DEC-TR-301, 1984), 1 if all are equal and 1/n if one has everything. If there are streams
// the index is of their bytes, otherwise of transactions. A single flow has no index.
func Jain(flows []Flow) (index float64, ok bool) {
	of := func(f Flow) float64 { return float64(f.Transactions) }
	for _, f := range flows {
		if f.Bytes > 0 {
			of = func(f Flow) float64 { return float64(f.Bytes) }
		}
	}
	var n, sum, squares float64
	for _, f := range flows {
		x := of(f)
		if x == 0 && f.Bytes+f.Transactions > 0 {
			continue // counts the other quantity
		}
		n++
		sum += x
		squares += x * x
	}
	if n < 2 || squares == 0 {
		return 0, false
	}
	return sum * sum / (n * squares), true
}
