package program

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"nettoll/internal/oneline"
	"nettoll/record"
	"nettoll/workload"
)

// Figures are the results of one client, in base units. A tool that needs more data about a client
// embeds it.
type Figures struct {
	Flows   []record.Flow // in the order of its streams, without the names of their ends
	Crossed workload.Crossed
	Bytes   uint64 // payload received in the window, both directions
	// Window is the client's own window. If zero, it is the time needed for its bytes, or its
	// transactions, at the rate that it reports.
	Window time.Duration
	// Sums are metrics that add up over clients, such as rates. A metric that not all clients
	// report is left out.
	Sums map[string]float64
	// Sent and Lost count datagrams, in any one unit. Lost is negative if duplicates outnumber
	// losses.
	Sent, Lost float64
	// Offered is the rate at which the client sent, in the unit of the requested rate.
	Offered float64
	// Latency is that of the transactions, by metric; or Histogram is set, for a client that
	// reports every latency.
	Transactions float64
	Latency      map[string]float64
	Histogram    Histogram
}

// Each returns the Result of a tool whose clients are read one by one: parse extracts the figures
// of a client from its output and that of its server, and together combines those of all clients.
func Each[F any](
	parse func(job workload.Job, client, server string) (F, error),
	together func(workload.Job, Outcome, []F) workload.Result,
) func(workload.Job, Outcome) (workload.Result, error) {
	return func(job workload.Job, o Outcome) (workload.Result, error) {
		all := make([]F, len(job.Pairs))
		for i, p := range job.Pairs {
			var err error
			if all[i], err = parse(job, o.Clients[i].Stdout, o.Servers[o.ServerOf[i]].Stdout); err != nil {
				return workload.Result{}, fmt.Errorf("client %s: %w", p.Client.Name(), err)
			}
		}
		return together(job, o, all), nil
	}
}

// Heard returns result with a verdict on flows that received nothing in the window: if it can be that they share the path with many
// others, it is a warning, and otherwise the error of the trial.
func Heard(result func(workload.Job, Outcome) (workload.Result, error)) func(workload.Job, Outcome) (workload.Result, error) {
	return func(job workload.Job, o Outcome) (workload.Result, error) {
		r, err := result(job, o)
		if err != nil {
			return r, err
		}
		silent := record.Those(r.Flows, func(f record.Flow) bool { return f.Bytes == 0 && f.Transactions == 0 })
		n := len(silent)
		if n > 0 && !workload.Crowded(n, len(r.Flows), r.Window) {
			return r, fmt.Errorf("client %s: flow %d: nothing was received", silent[0].Client, silent[0].Stream)
		}
		r.Warnings = append(r.Warnings, workload.Starved(n, len(r.Flows))...)
		return r, nil
	}
}

// Paced returns a warning if the clients together did not offer streams at the requested rate. Each flow is allowed the message that
// it was about to send at an edge of the window.
func Paced(job workload.Job, all []Figures) []record.Warning {
	var flows, offered, within float64
	for _, f := range all {
		offered += f.Offered
		for _, flow := range f.Flows {
			flows++
			within += float64(cmp.Or(max(flow.Message, job.Options.MessageSize), record.Datagram)) * 8 / cmp.Or(f.Window.Seconds(), job.Duration.Seconds())
		}
	}
	const mega = 1e6
	asked := flows * float64(job.Options.Bandwidth) / mega
	return workload.Pace(asked, offered/mega, within/mega, oneline.Number(asked, 4)+" Mbit/s of payload")
}

// client is a type that has Figures.
type client interface{ figures() Figures }

func (f Figures) figures() Figures { return f }

// Together combines the figures of all clients of a trial. CPU time was watched over the window of
// the trial; where clients measured over a window of their own, whether they report its length or it
// follows from their rates, it is scaled to that, as is the CPU time of the machine.
func Together[F client](job workload.Job, o Outcome, all []F) workload.Result {
	clients := record.Each(all, func(c F) Figures { return c.figures() })
	r := workload.Result{Metrics: map[string]record.Metric{}, Client: o.Client, Server: o.Server, Warnings: o.Warnings}
	var sent, lost, transactions float64
	for i, f := range clients {
		p := job.Pairs[i]
		for stream, flow := range f.Flows {
			flow.Client, flow.Server, flow.Stream = p.Client.Name(), p.Server.Name(), stream
			r.Flows = append(r.Flows, flow)
		}
		r.Crossed = append(r.Crossed, f.Crossed)
		r.Bytes += f.Bytes
		sent, lost, transactions = sent+f.Sent, lost+f.Lost, transactions+f.Transactions
	}
	metrics := map[string]float64{}
	maps.Copy(metrics, sums(clients))
	maps.Copy(metrics, latencies(clients, transactions))
	if sent > 0 {
		metrics[record.Loss] = max(0, lost/sent)
	}
	for name, v := range metrics {
		r.Metrics[name] = record.Measured(name, v)
	}
	r.Window = spanOf(clients)
	scale := r.Window.Seconds() / o.Window.Seconds()
	for _, used := range []*record.ProcessCPU{&r.Client, &r.Server} {
		used.User *= scale
		used.System *= scale
	}
	return r
}

// spanOf returns the time in which all clients together, each at the rate of its own window, have exchanged what they count.
// The longest window would charge payload with CPU time after it: clients with shorter ones exchanged less.
func spanOf(clients []Figures) time.Duration {
	var all, perSecond float64
	for _, f := range clients {
		units, rate := float64(f.Bytes)*8, f.Sums[record.Throughput]
		if rate == 0 {
			units, rate = f.Transactions, f.Sums[record.TransactionRate]
		}
		if f.Window > 0 {
			rate = units / f.Window.Seconds()
		}
		all, perSecond = all+units, perSecond+rate
	}
	if perSecond == 0 { // nothing was exchanged; see Heard
		return clients[0].Window
	}
	return time.Duration(all / perSecond * float64(time.Second))
}

// sums adds up the metrics that all clients report.
func sums(clients []Figures) map[string]float64 {
	all := maps.Clone(clients[0].Sums)
	for _, f := range clients[1:] {
		for name, v := range all {
			more, told := f.Sums[name]
			if all[name] = v + more; !told {
				delete(all, name)
			}
		}
	}
	return all
}

// latencies returns the latencies of all clients, by metric. Percentiles of several clients cannot
// be combined unless all latencies are known.
func latencies(clients []Figures, transactions float64) map[string]float64 {
	all, merged, known := map[string]float64{}, Histogram{}, true
	for _, f := range clients {
		known = known && f.Histogram != nil
		for us, n := range f.Histogram {
			merged[us] += n
		}
		if mean, told := f.Latency[record.LatencyMean]; told {
			all[record.LatencyMean] += mean * f.Transactions
		}
		if longest, told := f.Latency[record.LatencyMax]; told {
			all[record.LatencyMax] = max(all[record.LatencyMax], longest)
		}
	}
	if known {
		return merged.Summary()
	}
	if len(clients) == 1 {
		return clients[0].Latency
	}
	if _, told := all[record.LatencyMean]; told {
		all[record.LatencyMean] /= transactions
	}
	return all
}

// Histogram is how often each latency occurred, in microseconds.
type Histogram map[int64]uint64

// Count returns the number of latencies.
func (h Histogram) Count() (n uint64) {
	for _, v := range h {
		n += v
	}
	return n
}

// Summary returns the mean and percentiles of the latencies, in seconds, by metric. A percentile is
// the smallest latency that at least its share of them did not exceed.
func (h Histogram) Summary() map[string]float64 {
	const second = 1e6 // in microseconds
	total, s, sum, seen := h.Count(), map[string]float64{}, 0.0, uint64(0)
	percentiles := []struct {
		name  string
		share float64
	}{
		{record.LatencyP50, 0.5}, {record.LatencyP90, 0.9}, {record.LatencyP99, 0.99},
		{record.LatencyP999, 0.999}, {record.LatencyMax, 1},
	}
	for _, us := range slices.Sorted(maps.Keys(h)) {
		seen += h[us]
		sum += float64(us) * float64(h[us])
		for len(percentiles) > 0 && float64(seen) >= math.Ceil(percentiles[0].share*float64(total)) {
			s[percentiles[0].name] = float64(us) / second
			percentiles = percentiles[1:]
		}
	}
	s[record.LatencyMean] = sum / float64(total) / second
	return s
}

// Reader reads figures from the fields that a program printed, by name. It keeps the first error,
// and returns zeros from then on, so that one figure can be read after the other without checks.
type Reader struct {
	Program string
	Known   string  // appended to the error where a field is missing or has an unexpected value: the version known to work
	Most    float64 // figures are below this; 0 is no bound
	Fields  map[string]string
	Err     error
}

// Fail records an error, unless there is one already. The text follows the program's name.
func (r *Reader) Fail(format string, args ...any) {
	if r.Err == nil {
		r.Err = errors.New(r.Program + " " + fmt.Sprintf(format, args...))
	}
}

// Text returns a field, which must be present.
func (r *Reader) Text(name string) string {
	v, ok := r.Fields[name]
	if !ok {
		r.Fail("did not print %s; %s", name, r.Known)
	}
	return v
}

// Is checks a field that must have a certain value, such as the unit of another.
func (r *Reader) Is(name, want string) {
	if v := r.Text(name); v != want {
		r.Fail("reported %s=%.80s, not %s; %s", name, v, want, r.Known)
	}
}

// Number returns a finite number, zero or above.
func (r *Reader) Number(name string) float64 {
	v := r.Text(name)
	n, err := strconv.ParseFloat(v, 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) || n < 0 || r.beyond(n) {
		r.Fail("reported %s=%.80s, which is not a number", name, v)
		return 0
	}
	return n
}

// Positive returns a number that is not zero if there was traffic.
func (r *Reader) Positive(name string) float64 {
	n := r.Number(name)
	if n == 0 {
		r.Fail("reported %s=0: nothing was measured", name)
	}
	return n
}

// Count returns a whole number, zero or above.
func (r *Reader) Count(name string) uint64 {
	v := r.Text(name)
	n, err := strconv.ParseUint(v, 10, 63)
	if err != nil || r.beyond(float64(n)) {
		r.Fail("reported %s=%.80s, which is not a count", name, v)
		return 0
	}
	return n
}

// Signed returns a whole number.
func (r *Reader) Signed(name string) int64 {
	v := r.Text(name)
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || r.beyond(math.Abs(float64(n))) {
		r.Fail("reported %s=%.80s, which is not a whole number", name, v)
		return 0
	}
	return n
}

func (r *Reader) beyond(n float64) bool { return r.Most > 0 && n >= r.Most }
