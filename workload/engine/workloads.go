package engine

import (
	"cmp"
	"fmt"
	"slices"
	"syscall"
	"time"

	"nettoll/internal/wrap"
	"nettoll/record"
)

// role is an end of a flow.
type role string

const (
	client role = "client"
	server role = "server"
)

// unit is the unit that a flow counts.
type unit int

const (
	payloadBytes unit = iota + 1
	transactions
)

// step makes one system call for a flow and returns how much it finished: payload bytes or
// transactions. Where the flow is measured it also sets flow.now. Steps are nosplit; see the
// package comment.
type step func(*flow) (int64, syscall.Errno)

// kind defines the work of the two ends of a flow.
type kind struct {
	measured role // the end that counts and cuts the window
	counts   unit
	informs  role                                      // the end whose TCP_INFO is recorded; none if there is no lasting connection
	stream   bool                                      // TCP in one direction: those of one CPU share a thread, see poller.go
	noDelay  bool                                      // TCP_NODELAY at both ends
	waits    bool                                      // blocks without a timeout, and is woken by halt; see unattended
	late     bool                                      // begins half way through the warm-up
	open     bool                                      // transactions begin when they are due, not when the one before has ended
	client   func(*flow, record.Options) (step, error) // gives the flow its buffers
	server   func(*flow, record.Options) (step, error)
}

// traffic is a workload: the flows of a client, and how they are made.
type traffic struct {
	name    string
	meeting meeting
	honours []string                    // options, by the names of their flags
	options func(*record.Options) error // checks them and adds defaults
	flows   func(record.Options) []kind // of each client
	rests   time.Duration               // until flows rest after the window of a turn; 0: they cannot
	// exchanged is the payload of a transaction in both directions, in bytes.
	exchanged func(record.Options) int
}

// workloads returns all workloads that the engine can drive.
func workloads() []traffic {
	return []traffic{
		tcpStream(), tcpBidir(), tcpRR(), pacedRR(), latencyUnderLoad(), tcpCRR(),
		udpStream(), udpRR(), webRequests(),
	}
}

// each returns as many flows of a kind as there are streams.
func each(k kind) func(record.Options) []kind {
	return func(o record.Options) []kind { return slices.Repeat([]kind{k}, o.Streams) }
}

// requestAndResponse returns the payload of a transaction that has both.
func requestAndResponse(o record.Options) int { return o.RequestSize + o.ResponseSize }

// trafficOf finds a workload and fills its defaults into the options. An option that would have no
// effect is refused, because a cell that names it would be recorded as something that was not
// measured.
func trafficOf(name string, o record.Options) (traffic, record.Options, error) {
	w, known := record.First(workloads(), func(w traffic) bool { return w.name == name })
	if !known {
		return w, o, fmt.Errorf("unknown workload %q", name)
	}
	err := cmp.Or(w.refuse(o), checkSizes(o))
	if err == nil {
		o.Streams = max(o.Streams, 1)
		err = w.options(&o)
	}
	return w, o, wrap.Error(err, "%s", name)
}

// refuse returns an error that names an option that is set but not honoured by the workload.
func (w traffic) refuse(o record.Options) error {
	for _, d := range record.Dimensions(record.Option) {
		if d.IsSet(record.Cell{Options: o}) && !slices.Contains(w.honours, d.Name) {
			return fmt.Errorf("%s has no effect", d.Name)
		}
	}
	return nil
}

func checkSizes(o record.Options) error {
	for _, d := range record.Dimensions(record.Option) {
		if n, ok := d.Raw(record.Cell{Options: o}); ok && (n < 0 || n > d.Most) {
			return fmt.Errorf("%s is %d: it must be between 1 and %d", d.Name, n, d.Most)
		}
	}
	return nil
}

// atLeast sets a size that is not given to its default, and refuses one that is too small for its
// required contents, or too large.
func atLeast(size *int, least, most, otherwise int, name string) error {
	*size = cmp.Or(*size, otherwise)
	if *size < least || *size > most {
		return fmt.Errorf("%s is %d: it must be between %d and %d", name, *size, least, most)
	}
	return nil
}

// payload returns the bytes to send: 1 to 251, repeated. None is 0, by which a request would end the
// turn (see bye). A link that compresses data would compress these.
func payload(size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(i%251) + 1
	}
	return b
}
