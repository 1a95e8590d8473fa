package sockperf

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
)

// line is a line of sockperf's output that holds figures.
type line struct {
	what   string // for people
	format *regexp.Regexp
}

func says(what, format string) line {
	return line{what, regexp.MustCompile(`(?m)^sockperf: ` + format + ` *$`)}
}

var (
	colour  = regexp.MustCompile("\x1b\\[[0-9;]*m")
	trouble = regexp.MustCompile(`(?m)^(?:.*sockperf: )?(ERROR: .*|No (?:messages were received|valid observations).*)$`)

	total = says("the total run",
		`\[Total Run\] RunTime=(\S+) sec; Warm up time=(\S+) msec; SentMessages=(\S+); ReceivedMessages=(\S+)`)
	valid   = says("the valid duration", `\[Valid Duration\] RunTime=(\S+) sec; SentMessages=(\S+); ReceivedMessages=(\S+)`)
	mean    = says("the mean round trip", `====> avg-rtt=(\S+) \(std-dev=\S+\)`)
	dropped = says("dropped messages", `# dropped messages = (\S+); # duplicated messages = (\S+); # out-of-order messages = (\S+)`)
	sent    = says("what was sent", `Total of (\S+) messages sent in (\S+) sec`)
	handled = says("what the server received", `Total (\S+) messages received and handled`)

	// Percentiles, in the order in which they ascend.
	latencies = []struct {
		metric string
		line
	}{
		{record.LatencyP50, says("the 50th percentile", `---> percentile 50\.000? += +(\S+)`)},
		{record.LatencyP90, says("the 90th percentile", `---> percentile 90\.000? += +(\S+)`)},
		{record.LatencyP99, says("the 99th percentile", `---> percentile 99\.000? += +(\S+)`)},
		{record.LatencyP999, says("the 99.9th percentile", `---> percentile 99\.900? += +(\S+)`)},
		{record.LatencyMax, says("the longest round trip", `---> <MAX> observation += +(\S+)`)},
	}
)

// plain is the output without colours, or an error in sockperf's own words: its exit
// status is 0 whatever happens.
func plain(text string) (string, error) {
	text = colour.ReplaceAllString(text, "")
	if m := trouble.FindStringSubmatch(text); m != nil {
		return "", fmt.Errorf("sockperf says %s", strings.TrimSpace(m[1]))
	}
	return text, nil
}

// find gives the figures of a line that must be there once.
func (l line) find(text string) ([]float64, error) {
	all := l.format.FindAllStringSubmatch(text, 2)
	if len(all) != 1 {
		return nil, fmt.Errorf("sockperf printed %s %d times; version %s is known to work", l.what, len(all), known)
	}
	var figures []float64
	for _, s := range all[0][1:] {
		n, err := strconv.ParseFloat(s, 64)
		if err != nil || math.IsNaN(n) || math.IsInf(n, 0) || n < 0 || n >= 1<<63 {
			return nil, fmt.Errorf("sockperf says %.20q of %s, which is no figure", s, l.what)
		}
		figures = append(figures, n)
	}
	return figures, nil
}

// figures is what one sockperf measured, in base units. Counts are of messages.
type figures struct {
	seconds    float64
	sent       uint64
	received   uint64 // of latencies: answers
	unanswered uint64
	all        uint64             // received, with those outside of the window
	latency    map[string]float64 // by metric
}

// enough is the share of its time for which sockperf must have had answers. It ends
// the window with the last of them, so that what it has is right in any case.
const enough = 0.5

// The time that sockperf reads from the processor's counter, whose rate it has to
// find out, must be that of the timer that ends it, but for the time in seconds that
// a busy machine takes to notice.
const (
	skew  = 0.05
	delay = 0.5
)

// parse reads what a client printed; of streams, what its server did, too.
func parse(job workload.Job, client, server string) (figures, error) {
	if stream(job) {
		return parseThroughput(client, server, job)
	}
	return parseLatency(client, job)
}

func parseLatency(text string, job workload.Job) (f figures, err error) {
	if text, err = plain(text); err != nil {
		return f, err
	}
	run, err := total.find(text)
	if err != nil {
		return f, err
	}
	f.all = uint64(run[3])
	if want := float64(seconds(job)); run[0] < (1-skew)*want || run[0] > (1+skew)*want+delay {
		return f, fmt.Errorf("sockperf says that it ran for %v s, and was asked for %v: the machine is too busy, or it reads the processor's clock wrongly", run[0], want)
	}
	counted, err := valid.find(text)
	if err != nil {
		return f, err
	}
	f.seconds, f.sent, f.received = counted[0], uint64(counted[1]), uint64(counted[2])
	if f.seconds == 0 || f.received == 0 || f.received > f.all {
		return f, fmt.Errorf("sockperf says that %d of %d answers came in %v s", f.received, f.all, f.seconds)
	}
	if want := window(job).Seconds(); f.seconds < enough*want {
		return f, fmt.Errorf("sockperf had answers for %.3f s of %.3f: the machine is too busy, or it waits for one that was lost", f.seconds, want)
	}
	lost, err := dropped.find(text)
	if err != nil {
		return f, err
	}
	f.unanswered = uint64(lost[0])
	f.latency, err = latency(text)
	return f, err
}

// latency is in seconds; sockperf prints microseconds.
func latency(text string) (map[string]float64, error) {
	all := map[string]float64{}
	us, err := mean.find(text)
	if err != nil {
		return nil, err
	}
	if all[record.LatencyMean] = us[0] / 1e6; us[0] == 0 {
		return nil, fmt.Errorf("sockperf says that the mean round trip is 0")
	}
	last := 0.0
	for _, l := range latencies {
		us, err := l.find(text)
		if err != nil {
			return nil, err
		}
		if us[0] == 0 || us[0] < last {
			return nil, fmt.Errorf("sockperf says that %s is %v µs, and a lower one %v", l.what, us[0], last)
		}
		last = us[0]
		all[l.metric] = us[0] / 1e6
	}
	return all, nil
}

// parseThroughput reads what the client has sent and its server received.
func parseThroughput(client, server string, job workload.Job) (f figures, err error) {
	if client, err = plain(client); err != nil {
		return f, err
	}
	if server, err = plain(server); err != nil {
		return f, fmt.Errorf("server: %w", err)
	}
	out, err := sent.find(client)
	if err != nil {
		return f, err
	}
	in, err := handled.find(server)
	if err != nil {
		return f, err
	}
	f.sent, f.seconds, f.received = uint64(out[0]), out[1], uint64(in[0])
	f.all = f.received
	if f.sent == 0 || f.received == 0 || f.seconds == 0 {
		return f, fmt.Errorf("sockperf says that %d of %d messages arrived in %v s", f.received, f.sent, f.seconds)
	}
	if want := window(job).Seconds(); f.seconds < enough*want {
		return f, fmt.Errorf("sockperf sent for %.3f s of %.3f", f.seconds, want)
	}
	return f, nil
}

// together puts the figures of all clients together.
func together(job workload.Job, o program.Outcome, all []figures) workload.Result {
	var clients []program.Figures
	var offered float64
	var sent, unanswered uint64
	size := uint64(sizeOf(job))
	if !stream(job) {
		size *= 2 // there and back
	}
	for _, m := range all {
		perSecond := float64(m.received) / m.seconds
		f := program.Figures{Crossed: workload.Crossed{Bytes: m.all * size, Conns: 1}, Bytes: m.received * size}
		if stream(job) {
			f.Flows = []record.Flow{{Bytes: f.Bytes}}
			f.Sums = map[string]float64{record.PacketRate: perSecond, record.Throughput: perSecond * 8 * float64(size)}
			f.Sent, f.Lost = float64(m.sent), float64(m.sent)-float64(m.received)
		} else {
			f.Flows = []record.Flow{{Transactions: m.received}}
			f.Sums = map[string]float64{record.TransactionRate: perSecond}
			f.Transactions, f.Latency = float64(m.received), m.latency
		}
		clients = append(clients, f)
		offered += float64(m.sent) / m.seconds
		sent, unanswered = sent+m.sent, unanswered+m.unanswered
	}
	r := program.Together(job, o, clients)
	if job.Warmup > cold(job) {
		r.Warnings = append(r.Warnings, record.Warning{Code: "no-warmup", Text: fmt.Sprintf(
			"of the warm-up of %v sockperf leaves out %v", job.Warmup.Round(time.Millisecond), cold(job))})
	}
	asked := rateOf(job)
	r.Warnings = append(r.Warnings, program.Pace(float64(asked), offered/float64(len(all)), fmt.Sprintf("%d messages a second", asked))...)
	if unanswered > 0 {
		r.Warnings = append(r.Warnings, record.Warning{Code: "unanswered", Text: fmt.Sprintf(
			"%d of %d requests had no answer when the time was over: their latency is not counted", unanswered, sent)})
	}
	return r
}
