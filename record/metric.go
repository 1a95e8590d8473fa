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

// Names of metrics.
const (
	Throughput        = "throughput"       // payload bits a second, counted at the receiver
	TransactionRate   = "transaction_rate" // transactions a second
	LatencyP50        = "latency_p50"      // round trip of a transaction
	LatencyP90        = "latency_p90"
	LatencyP99        = "latency_p99"
	LatencyP999       = "latency_p999"
	LatencyMax        = "latency_max"
	CPUPerGB          = "cpu_per_gb"          // CPU seconds of the machine over idle, for 1e9 payload bytes
	CPUPerTransaction = "cpu_per_transaction" // CPU seconds of the machine over idle, for a transaction
	Retransmits       = "retransmits"         // segments, all flows
)

// Kind describes a metric: its base unit and its direction.
type Kind struct {
	Name   string
	Title  string // for people
	Unit   string // base unit, as stored
	Better Direction
}

// Kinds lists every metric in the order in which reports show them.
func Kinds() []Kind {
	return []Kind{
		{Throughput, "throughput", "bit/s", HigherIsBetter},
		{TransactionRate, "transactions", "1/s", HigherIsBetter},
		{LatencyP50, "latency p50", "s", LowerIsBetter},
		{LatencyP90, "latency p90", "s", LowerIsBetter},
		{LatencyP99, "latency p99", "s", LowerIsBetter},
		{LatencyP999, "latency p99.9", "s", LowerIsBetter},
		{LatencyMax, "latency max", "s", LowerIsBetter},
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

// Primary names the metrics that answer for a workload: the first is the one
// that networks are ranked by and precision is asked of.
func Primary(workload string) []string {
	switch workload {
	case TCPRR:
		return []string{LatencyP50, TransactionRate, LatencyP99, CPUPerTransaction}
	default:
		return []string{Throughput, CPUPerGB}
	}
}
