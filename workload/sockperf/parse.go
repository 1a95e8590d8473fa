package sockperf

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"nettoll/internal/oneline"
	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
)

// line is a line of sockperf's output that contains figures.
type line struct {
	what   string // its meaning, for error messages
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
	mean    = says("the mean round trip", `====> avg-rtt=(\S+) \(std-dev=[^)]+\)`)
	dropped = says("dropped messages", `# dropped messages = (\S+); # duplicated messages = (\S+); # out-of-order messages = (\S+)`)
	sent    = says("the number of messages sent", `Total of (\S+) messages sent in (\S+) sec`)
	handled = says("the number of messages that the server received", `Total (\S+) messages received and handled`)

	// Percentiles, in ascending order.
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

// plain returns the output without colours, or an error in sockperf's own words: its exit status is
// always 0.
func plain(text string) (string, error) {
	text = colour.ReplaceAllString(text, "")
	if m := trouble.FindStringSubmatch(text); m != nil {
		return "", fmt.Errorf("sockperf reported: %s", strings.TrimSpace(m[1]))
	}
	return text, nil
}

// find returns the figures of a line that must occur once.
func (l line) find(r *program.Reader, text string) []float64 {
	figures := make([]float64, l.format.NumSubexp())
	all := l.format.FindAllStringSubmatch(text, 2)
	if len(all) != 1 {
		r.Fail("printed %s %d times; version %s is known to work", l.what, len(all), known)
		return figures
	}
	for i, s := range all[0][1:] {
		n, err := strconv.ParseFloat(s, 64)
		if err != nil || math.IsNaN(n) || math.IsInf(n, 0) || n < 0 || n >= 1<<63 {
			r.Fail("reported %.20q as %s, which is not a number", s, l.what)
		}
		figures[i] = n
	}
	return figures
}

// figures are the results of one sockperf.
type figures struct {
	program.Figures
	sent, unanswered uint64  // messages
	asked            uint64  // messages, in its whole run; 0 for streams
	seconds          float64 // for which it had answers; 0 for streams
}

// count sets the figures from the messages received in the seconds that count, and from all
// messages of the client's run.
func (f *figures) count(job workload.Job, seconds float64, received, all uint64) {
	size, perSecond := uint64(sizeOf(job)), float64(received)/seconds
	if stream(job) {
		f.Flows = []record.Flow{{Bytes: received * size}}
		f.Sums = map[string]float64{record.PacketRate: perSecond, record.Throughput: perSecond * 8 * float64(size)}
		f.Sent, f.Lost = float64(f.sent), float64(f.sent)-float64(received)
	} else {
		size *= 2 // there and back
		f.Flows, f.Transactions = []record.Flow{{Transactions: received}}, float64(received)
		f.Sums = map[string]float64{record.TransactionRate: perSecond}
	}
	f.Bytes, f.Crossed = received*size, workload.Crossed{Bytes: all * size, Conns: 1}
	if job.Workload == record.TCPRR || job.Workload == record.UDPRR { // requests that are due can be sent several in a packet
		f.Crossed.Transactions = all
	}
	f.Offered = float64(f.sent) / seconds
}

// enough is the share of its time for which sockperf must have had answers. It ends the window with
// the last of them, so that its figures are right in any case.
const enough = 0.5

// overloaded is the share of requests without an answer above which the server cannot keep up with what is due.
const overloaded = 0.05

// answered is the share below which it has waited rather than cut off more than usual, up to a tenth. CPU time is that of the
// whole window, and scaled to the time with answers, as if traffic had gone on after them.
const answered = 0.9

// sockperf reads the time from the processor's counter, whose rate it has to determine. The time that
// it reports must equal that of the timer that ends it, within the share skew; it may be longer by
// delay, in seconds, since a busy machine notices the timer late.
const (
	skew  = 0.05
	delay = 0.5
)

// parse reads a client's output; for streams, that of its server, too.
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
	r := &program.Reader{Program: "sockperf"}
	run := total.find(r, text)
	if want := float64(seconds(job)); run[0] < (1-skew)*want || run[0] > (1+skew)*want+delay {
		r.Fail("reported that it ran for %v s instead of %v: the machine is too busy, or it reads the processor's clock wrongly", run[0], want)
	}
	counted := valid.find(r, text)
	seconds, received, all := counted[0], uint64(counted[2]), uint64(run[3])
	if seconds == 0 || received == 0 || received > all {
		r.Fail("reported %d of %d answers in %v s", received, all, seconds)
	}
	if want := window(job).Seconds(); seconds < enough*want {
		r.Fail("had answers for %.3f s of %.3f: the machine is too busy, or it waits for one that was lost", seconds, want)
	}
	f.sent, f.unanswered, f.asked = uint64(counted[1]), uint64(dropped.find(r, text)[0]), uint64(run[2])
	if float64(f.unanswered) > overloaded*float64(f.asked) {
		// Of what counts, the answers to requests from before are left out, and these are then most of those that come in time.
		seconds, received, f.sent = run[0], all, f.asked
	}
	f.count(job, seconds, received, all)
	f.seconds = seconds
	f.Latency = latency(r, text)
	return f, r.Err
}

// latency returns latencies in seconds; sockperf prints microseconds.
func latency(r *program.Reader, text string) map[string]float64 {
	us := mean.find(r, text)[0]
	if us == 0 {
		r.Fail("reported a mean round trip of 0")
	}
	all, last := map[string]float64{record.LatencyMean: us / 1e6}, 0.0
	for _, l := range latencies {
		us := l.find(r, text)[0]
		if us == 0 || us < last {
			r.Fail("reported %s as %v µs, but a lower percentile as %v µs", l.what, us, last)
		}
		last = us
		all[l.metric] = us / 1e6
	}
	return all
}

// parseThroughput reads how much the client has sent and its server received.
func parseThroughput(client, server string, job workload.Job) (f figures, err error) {
	if client, err = plain(client); err != nil {
		return f, err
	}
	if server, err = plain(server); err != nil {
		return f, fmt.Errorf("server: %w", err)
	}
	r := &program.Reader{Program: "sockperf"}
	out := sent.find(r, client)
	seconds, received := out[1], uint64(handled.find(r, server)[0])
	if f.sent = uint64(out[0]); f.sent == 0 || received == 0 || seconds == 0 {
		r.Fail("reported that %d of %d messages arrived in %v s", received, f.sent, seconds)
	}
	if want := window(job).Seconds(); seconds < enough*want {
		r.Fail("sent for %.3f s of %.3f", seconds, want)
	}
	f.count(job, seconds, received, received)
	return f, r.Err
}

// together combines the figures of all clients.
func together(job workload.Job, o program.Outcome, all []figures) workload.Result {
	var offered float64
	var asked, unanswered uint64
	least := window(job).Seconds()
	for _, m := range all {
		if offered += m.Offered; m.seconds > 0 {
			least = min(least, m.seconds)
		}
		asked, unanswered = asked+m.asked, unanswered+m.unanswered
	}
	r := program.Together(job, o, all)
	cold, _ := margins(job)
	r.Warnings = append(r.Warnings, record.Warn(job.Warmup > cold, "no-warmup",
		"sockperf leaves out only %v of the warm-up of %v", cold, job.Warmup.Round(time.Millisecond))...)
	rate, requested := rateOf(job)
	r.Spins = rate > 0
	r.Warnings = append(r.Warnings, record.Warn(math.Abs(float64(rate)-requested) > 0.02*requested, "pace-rounded",
		"sockperf sends whole numbers of messages per second: %d instead of the requested %s", rate, oneline.Number(requested, 3))...)
	r.Warnings = append(r.Warnings, workload.Pace(float64(rate), offered/float64(len(all)), 0, fmt.Sprintf("%d messages per second", rate))...)
	r.Warnings = append(r.Warnings, record.Warn(least < answered*window(job).Seconds(), record.WarnStalled,
		"a client had answers for %.3f s of %.3f: if it then waited for one that was lost, CPU time per transaction is too low, by up to %.0f %%",
		least, window(job).Seconds(), 100*(1-least/window(job).Seconds()))...)
	r.Warnings = append(r.Warnings, record.Warn(unanswered > 0, "unanswered",
		"%d of %d requests had no answer when the time was over: their latency is not counted", unanswered, asked)...)
	return r
}
