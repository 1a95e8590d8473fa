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
	// knownField is what nuttcp prints when asked for all. "stats" is the rest of its
	// line, which is for people.
	knownField = regexp.MustCompile(`^(buflen|nstream|port|mode|host|time_limit|connect|accept|mss|rtt_ms|` +
		`(send|receive)_window_(size|avail)|rate_limit|rate_unit|rate_mode|pps_rate|reporting_interval|` +
		`megabytes|real_sec|real_seconds|rate_KBps|rate_Mbps|cpu_seconds|KB_per_cpu_second|retrans|` +
		`io_calls|msec_per_call|calls_per_sec|drop|pkt|data_loss|stats)$`)
)

// output is the fields KEY=VALUE that one nuttcp printed of itself and of the other end.
type output struct {
	transmitter, receiver map[string]string
	reports               []map[string]string // of the receiver, one a second
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

// megabyte is nuttcp's, in bytes.
const megabyte = 1 << 20

// figures is what one nuttcp measured, in base units.
type figures struct {
	seconds        float64
	bytes          uint64 // payload received in the window
	all            uint64 // payload received in its life
	packets, drops uint64 // datagrams in the window, those that are missing among them
	retransmits    float64
	roundTrip      float64 // when it connected, in seconds
	mss            uint64
}

// parse reads the output of one nuttcp. The window begins after so many reports of
// the receiver as the lead has seconds.
func parse(job workload.Job, text, _ string) (m figures, err error) {
	before, length := program.Window(job)
	lead, window := int(before/time.Second), int(length/time.Second)
	o, err := read(text)
	if err != nil {
		return m, err
	}
	mode := "tcp"
	if datagrams(job) {
		mode = "udp"
	}
	// As bytes, the largest number of megabytes is less than 2^63.
	r := &program.Reader{Program: "nuttcp", Known: "version " + known + " is known to work", Most: 1 << 43, Fields: o.receiver}
	r.Is("mode", mode)
	r.Is("nstream", "1")
	m.all = uint64(r.Number("megabytes") * megabyte)
	r.Fields = o.transmitter
	if n := sizeOf(job); n > 0 {
		r.Is("buflen", strconv.Itoa(n))
	}
	if len(o.reports) < lead+window {
		r.Fail("reported %d seconds, %d are wanted", len(o.reports), lead+window)
	}
	if r.Err != nil {
		return m, r.Err
	}
	for _, report := range o.reports[lead : lead+window] {
		r.Fields = report
		m.add(r, job)
	}
	if m.bytes == 0 || m.bytes > m.all+megabyte {
		r.Fail("received %d bytes in the window, and %d in all", m.bytes, m.all)
	}
	m.all = max(m.all, m.bytes) // which is rounded
	if !datagrams(job) {
		m.connection(r, o)
	}
	return m, r.Err
}

// add adds a report of the receiver. The rate has more digits than the time.
func (m *figures) add(r *program.Reader, job workload.Job) {
	seconds, size, rate := r.Number("real_sec"), r.Number("megabytes"), r.Number("rate_Mbps")
	bits := size * megabyte * 8
	if math.Abs(bits-rate*1e6*seconds) > 0.05*bits+1e4 {
		r.Fail("says %v Mbit/s, but received %v MiB in %v s", rate, size, seconds)
	}
	if rate > 0 {
		seconds = bits / rate / 1e6
	}
	m.seconds += seconds
	if !datagrams(job) {
		m.bytes += uint64(size * megabyte)
		return
	}
	packets, drops := r.Count("pkt"), r.Count("drop")
	if drops > packets {
		r.Fail("says that %d of %d datagrams are missing", drops, packets)
	}
	m.packets += packets
	m.drops += drops
	m.bytes += (packets - drops) * uint64(sizeOf(job))
}

// connection reads what is told of the TCP connection: the round trip time by the
// end that connects, the rest by the one that transmits.
func (m *figures) connection(r *program.Reader, o output) {
	r.Fields = o.transmitter
	m.retransmits = r.Number("retrans")
	m.mss = r.Count("mss")
	if _, connects := o.transmitter["connect"]; !connects {
		r.Fields = o.receiver
	}
	m.roundTrip = r.Number("rtt_ms") / 1e3
}

// together puts the figures of all clients together.
func together(job workload.Job, o program.Outcome, all []figures) workload.Result {
	var clients []program.Figures
	offered := 0.0
	for _, m := range all {
		f := program.Figures{
			Flows: []record.Flow{{Bytes: m.bytes}}, Crossed: workload.Crossed{Bytes: m.all, Conns: 1}, Bytes: m.bytes,
			Sums: map[string]float64{record.Throughput: float64(m.bytes) * 8 / m.seconds},
			Sent: float64(m.packets), Lost: float64(m.drops),
		}
		if datagrams(job) {
			f.Sums[record.PacketRate] = float64(m.packets-m.drops) / m.seconds
		} else {
			f.Sums[record.Retransmits] = m.retransmits
			f.Flows[0].TCP = &record.TCPInfo{Retransmits: uint32(m.retransmits), RTT: uint32(m.roundTrip * 1e6), SndMSS: uint32(m.mss)}
		}
		offered += float64(m.packets) * float64(sizeOf(job)) * 8 / m.seconds
		clients = append(clients, f)
	}
	r := program.Together(job, o, clients)
	asked := float64(job.Options.Bandwidth * len(all))
	r.Warnings = append(r.Warnings, program.Pace(asked, offered, fmt.Sprintf("%.4g bit/s of payload", asked))...)
	return r
}
