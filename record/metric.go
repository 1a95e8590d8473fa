package record

// Metric is one figure of a trial in its base unit.
type Metric struct {
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

// Direction says which way a metric is better.
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

// MarshalText writes a direction as reports for programs have it.
func (d Direction) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// Names of metrics.
const (
	Throughput          = "throughput"            // payload bits a second, counted at the receiver; of tcp_bidir both ways together
	ThroughputPerClient = "throughput_per_client" // the same, for the average client process
	PacketRate          = "packet_rate"           // datagrams a second, counted at the receiver
	TransactionRate     = "transaction_rate"      // transactions a second; of tcp_crr connections a second
	LatencyMean         = "latency_mean"          // round trip of a transaction
	LatencyP50          = "latency_p50"
	LatencyP90          = "latency_p90"
	LatencyP99          = "latency_p99"
	LatencyP999         = "latency_p999"
	LatencyP99ByTime    = "latency_p99_by_time"  // of the time, not of the transactions, 99 % is spent in such as take no longer
	LatencyP999ByTime   = "latency_p999_by_time" // computed by the analysis, from the latencies of closed loops
	LatencyMax          = "latency_max"
	LatencyAdded        = "latency_added" // p50 under load less p50 without
	ConnectP50          = "connect_p50"   // making a connection
	ConnectP99          = "connect_p99"
	Loss                = "loss"                // datagrams lost on the way, as a share of those sent
	ReceiverDrops       = "receiver_drops"      // datagrams that arrived and found the socket full, as a share of those sent
	Reordering          = "reordering"          // datagrams that arrived after a later one, as a share of those received
	Duplicates          = "duplicates"          // datagrams that arrived again, as a share of those received
	Jitter              = "jitter"              // interarrival jitter of RFC 3550, mean of all flows
	Fairness            = "fairness"            // Jain's index of the flows' shares, 1 is equal
	CPUPerGB            = "cpu_per_gb"          // CPU seconds of the machine over idle, for 1e9 payload bytes
	CPUPerTransaction   = "cpu_per_transaction" // CPU seconds of the machine over idle, for a transaction
	Retransmits         = "retransmits"         // segments, all flows
)

// Kind describes a metric: its base unit and its direction.
type Kind struct {
	Name   string    `json:"metric"`
	Title  string    `json:"-"`    // for people
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
	for _, k := range Kinds() {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}

// Primary names the metrics that answer for a workload: the first that a tool
// measures is the one that networks are ranked by and precision is asked of.
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

// Mixed reports whether a workload is transactions and streams at once, whose shares of
// the network cannot be compared, and whose shares of CPU time nobody knows.
func Mixed(workload string) bool { return workload == LatencyUnderLoad }

// Signed reports whether a metric can be less than nothing: what load adds to latency can,
// where there is next to none.
func Signed(metric string) bool { return metric == LatencyAdded }

// Measured is a figure of a metric in its base unit.
func Measured(name string, value float64) Metric {
	kind, _ := KindOf(name)
	return Metric{Value: value, Unit: kind.Unit}
}
