package nuttcp

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

var (
	saysEnd   = regexp.MustCompile(`^nuttcp-([tr]): (.*)$`) // of the transmitter or receiver
	saysStart = regexp.MustCompile(`^v(\d\S*): socket$`)
	// knownField matches the fields that nuttcp prints in full verbosity. "stats" is the rest of
	// its line, which is meant for people.
	knownField = regexp.MustCompile(`^(buflen|nstream|port|mode|host|time_limit|connect|accept|mss|rtt_ms|` +
		`(send|receive)_window_(size|avail)|rate_limit|rate_unit|rate_mode|pps_rate|reporting_interval|` +
		`megabytes|real_sec|real_seconds|rate_KBps|rate_Mbps|cpu_seconds|KB_per_cpu_second|retrans|` +
		`io_calls|msec_per_call|calls_per_sec|drop|pkt|data_loss|stats|` +
		`af|cwnd|initial_congestion_window_(kb|pkt))$`) // since version 8
)

// output is the fields KEY=VALUE that one nuttcp printed about itself and about the other end.
type output struct {
	transmitter, receiver map[string]string
	reports               []map[string]string // of the receiver, one per second
}

func read(text string) (output, error) {
	o := output{transmitter: map[string]string{}, receiver: map[string]string{}}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \r\n")
		into, rest := map[string]string{}, line
		m := saysEnd.FindStringSubmatch(line)
		switch {
		case line == "":
			continue
		case m == nil:
			o.reports = append(o.reports, into)
		case saysStart.MatchString(m[2]):
			continue
		case m[1] == "t":
			into, rest = o.transmitter, m[2]
		default:
			into, rest = o.receiver, m[2]
		}
		for _, f := range strings.Fields(rest) {
			key, value, ok := strings.Cut(f, "=")
			if !ok || !knownField.MatchString(key) {
				return o, fmt.Errorf("nuttcp printed %.80q, which is unknown; version %s is known to work", line, known)
			}
			into[key] = value
			if key == "stats" {
				break
			}
		}
	}
	return o, nil
}

// megabyte is nuttcp's unit, in bytes.
const megabyte = 1 << 20

// parse reads the output of one nuttcp. The window begins after as many reports of the receiver as
// the lead has seconds.
func parse(job workload.Job, text, _ string) (f program.Figures, err error) {
	before, length := program.Window(job)
	lead, window := int(before/time.Second), int(length/time.Second)
	o, err := read(text)
	if err != nil {
		return f, err
	}
	mode := "tcp"
	if datagrams(job) {
		mode = "udp"
	}
	// As bytes, the largest number of megabytes is less than 2^63.
	r := &program.Reader{Program: "nuttcp", Known: "version " + known + " is known to work", Most: 1 << 43, Fields: o.receiver}
	r.Is("mode", mode)
	r.Is("nstream", "1")
	all := uint64(r.Number("megabytes") * megabyte)
	r.Fields = o.transmitter
	if n := sizeOf(job); n > 0 {
		r.Is("buflen", strconv.Itoa(n))
	}
	if len(o.reports) < lead+window {
		r.Fail("reported %d seconds instead of %d", len(o.reports), lead+window)
	}
	if r.Err != nil {
		return f, r.Err
	}
	seconds := 0.0
	for _, report := range o.reports[lead : lead+window] {
		r.Fields = report
		seconds += add(&f, r, job)
	}
	if f.Bytes > all+megabyte {
		r.Fail("received %d bytes in the window, and %d in all", f.Bytes, all)
	}
	f.Crossed = workload.Crossed{Bytes: max(all, f.Bytes), Conns: 1} // all is rounded
	f.Flows = []record.Flow{{Bytes: f.Bytes}}
	f.Sums = map[string]float64{record.Throughput: float64(f.Bytes) * 8 / seconds}
	if datagrams(job) {
		f.Sums[record.PacketRate] = (f.Sent - f.Lost) / seconds
		f.Offered = f.Sent * float64(sizeOf(job)) * 8 / seconds
	} else {
		connection(&f, r, o)
	}
	return f, r.Err
}

// add adds a report of the receiver, and returns its seconds. The rate has more digits than the
// time.
func add(f *program.Figures, r *program.Reader, job workload.Job) float64 {
	seconds, size, rate := r.Number("real_sec"), r.Number("megabytes"), r.Number("rate_Mbps")
	bits := size * megabyte * 8
	if math.Abs(bits-rate*1e6*seconds) > 0.05*bits+1e4 {
		r.Fail("reported %v Mbit/s, but received %v MiB in %v s", rate, size, seconds)
	}
	if rate > 0 {
		seconds = bits / rate / 1e6
	}
	if !datagrams(job) {
		f.Bytes += uint64(size * megabyte)
		return seconds
	}
	// The packets include the missing ones. Those that arrive a second too late, or twice, are missing less than none.
	packets, drops := int64(r.Count("pkt")), r.Signed("drop")
	if drops > packets {
		r.Fail("reported %d of %d datagrams as missing", drops, packets)
		return seconds
	}
	f.Sent, f.Lost = f.Sent+float64(packets), f.Lost+float64(drops)
	f.Bytes += uint64(packets-drops) * uint64(sizeOf(job))
	return seconds
}

// connection reads the values of the TCP connection: the round-trip time is measured during the
// connect and reported by the end that connects, the rest by the end that transmits.
func connection(f *program.Figures, r *program.Reader, o output) {
	r.Fields = o.transmitter
	retransmits, mss := r.Number("retrans"), r.Count("mss")
	if _, connects := o.transmitter["connect"]; !connects {
		r.Fields = o.receiver
	}
	roundTrip := math.Round(r.Number("rtt_ms") * 1e3) // µs
	f.Sums[record.Retransmits] = retransmits
	f.Flows[0].TCP = &record.TCPInfo{Retransmits: uint32(retransmits), RTT: uint32(roundTrip), SndMSS: uint32(mss)}
}

// together combines the figures of all clients.
func together(job workload.Job, o program.Outcome, all []program.Figures) workload.Result {
	r := program.Together(job, o, all)
	r.Warnings = append(r.Warnings, program.Paced(job, all)...)
	r.Spins = datagrams(job) && job.Options.Bandwidth > 0
	return r
}
