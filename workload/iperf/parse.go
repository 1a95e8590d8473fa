package iperf

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

// report is the output of a client or server.
type report struct {
	flows []flow // by number
}

// flow is a connection, or one client of a datagram socket.
type flow struct {
	id          int
	local, peer netip.AddrPort
	mss         uint32
	// Intervals by the unit they count, in order.
	reads, writes, datagrams []interval
}

// interval is a line of a flow. Fields that a kind of line does not have are zero.
type interval struct {
	start, end float64 // seconds since the flow began
	bytes      uint64

	retransmits uint64 // of writes
	cwnd        uint64 // KiB
	rtt, rttVar uint32 // µs

	lost, sent, received uint64  // of datagrams
	jitter               float64 // ms
}

var (
	connected = regexp.MustCompile(`^\[ *(\d+)\] local ([0-9a-fA-F.:]+)(?:%\S+)? port (\d+) connected with ([0-9a-fA-F.:]+)(?:%\S+)? port (\d+)(.*)$`)
	mss       = regexp.MustCompile(`icwnd/mss/irtt=\d+/(\d+)/`)
	// Lines of one flow: the star marks data that a client receives from its server, or that a
	// server sends in addition to receiving.
	measured = regexp.MustCompile(`^\[ *\*?(\d+)\] +(\d+\.\d{4})-(\d+\.\d{4}) sec +(\d+|0\.000) Bytes +(?:\d+|0\.000) Bytes/sec +(.*?) *$`)
	isFlow   = regexp.MustCompile(`^\[ *\*?\w+\].* sec `)
	isSum    = regexp.MustCompile(`^\[(SUM|FD| CT)`)
	// The text after the rate.
	reads     = regexp.MustCompile(`^\d+=[\d:]+$`)
	writes    = regexp.MustCompile(`^\d+/\d+ +(\d+) +(?:\d+K\(\d+\)/)?(\d+)K(?:\(\d+\))?/(\d+)\((\d+)\) us(?: +[\d.]+)?$`)
	sent      = regexp.MustCompile(`^\d+/\d+(?:/\d+)? +\d+ pps$`)
	datagrams = regexp.MustCompile(`^(\d+\.\d+) ms +(\d+)/(\d+) \([0-9.e+-]+%\) .* pps +(\d+)(?:/\d+\(\d+\) pkts\b.*|/\d+/\d+ +[\d.]+)$`)
	stalled   = regexp.MustCompile(`^0\.000 ms +0/0 \(0%\) .* 0 pps(?: +0/\d+/\d+)?$`) // datagrams, none
	disorder  = regexp.MustCompile(`sec +\d+ datagrams received out-of-order$`)
)

// nothing is how the program prints the bytes of an interval without any.
const nothing = "0.000"

// parse reads the enhanced text of a client or server.
func parse(text string) (report, error) {
	var r report
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		var err error
		if m := connected.FindStringSubmatch(line); m != nil {
			err = r.connect(m)
		} else if isFlow.MatchString(line) && !isSum.MatchString(line) && !disorder.MatchString(line) {
			err = r.measure(line)
		}
		if err != nil {
			return report{}, fmt.Errorf("%w: %q", err, line)
		}
	}
	return r, nil
}

func (r *report) find(id int) *flow {
	for i := range r.flows {
		if r.flows[i].id == id {
			return &r.flows[i]
		}
	}
	return nil
}

func (r *report) connect(m []string) error {
	id, err := strconv.Atoi(m[1])
	if err != nil {
		return err
	}
	if r.find(id) != nil {
		return fmt.Errorf("a second flow %d", id)
	}
	f := flow{id: id}
	for i, to := range []*netip.AddrPort{&f.local, &f.peer} {
		if *to, err = netip.ParseAddrPort(fmt.Sprintf("[%s]:%s", m[2+2*i], m[3+2*i])); err != nil {
			*to, err = netip.ParseAddrPort(m[2+2*i] + ":" + m[3+2*i])
		}
		if err != nil {
			return err
		}
		*to = netip.AddrPortFrom(to.Addr().Unmap(), to.Port())
	}
	if s := mss.FindStringSubmatch(m[6]); s != nil {
		n, err := strconv.ParseUint(s[1], 10, 32)
		if err != nil {
			return err
		}
		f.mss = uint32(n)
	}
	r.flows = append(r.flows, f)
	return nil
}

// measure reads a line of figures.
func (r *report) measure(line string) error {
	m := measured.FindStringSubmatch(line)
	if m == nil {
		return errors.New("not the text of a flow")
	}
	id, err := strconv.Atoi(m[1])
	if err != nil {
		return err
	}
	f := r.find(id)
	if f == nil {
		return fmt.Errorf("no flow %d", id)
	}
	n := numbers{}
	v := interval{start: n.float(m[2]), end: n.float(m[3])}
	if m[4] != nothing {
		v.bytes = n.whole(m[4], 63)
	}
	to := &f.reads
	switch rest := m[5]; {
	case reads.MatchString(rest):
	case sent.MatchString(rest):
		to = &f.writes
	case writes.MatchString(rest):
		to = &f.writes
		s := writes.FindStringSubmatch(rest)
		v.retransmits, v.cwnd = n.whole(s[1], 32), n.whole(s[2], 32)
		v.rtt, v.rttVar = uint32(n.whole(s[3], 32)), uint32(n.whole(s[4], 32))
	case datagrams.MatchString(rest):
		to = &f.datagrams
		s := datagrams.FindStringSubmatch(rest)
		v.jitter, v.lost, v.sent, v.received = n.float(s[1]), n.whole(s[2], 53), n.whole(s[3], 53), n.whole(s[4], 53)
	case stalled.MatchString(rest) && v.bytes == 0:
		to = &f.datagrams
	default:
		return errors.New("unknown columns")
	}
	*to = append(*to, v)
	return n.err
}

// numbers keeps the first error.
type numbers struct{ err error }

func (n *numbers) float(s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	if n.err == nil {
		n.err = err
	}
	return v
}

func (n *numbers) whole(s string, bits int) uint64 {
	v, err := strconv.ParseUint(s, 10, bits)
	if n.err == nil {
		n.err = err
	}
	return v
}

// benign matches complaints that affect no figure.
var benign = regexp.MustCompile(`WARNING|^Waiting for server threads`)

// complaint returns the program's message about a failure that its exit status does not show.
func complaint(stderr string) error {
	for line := range strings.Lines(stderr) {
		line = strings.TrimSpace(line)
		lower := strings.ToLower(line)
		if (strings.Contains(lower, "fail") || strings.Contains(lower, "error")) && !benign.MatchString(line) {
			return errors.New(line)
		}
	}
	return nil
}
