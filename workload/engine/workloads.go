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
	honours []string // options, by the names of their flags
	sizes   []size
	options func(*record.Options)       // adds defaults that depend on others, or are no sizes; nil: there are none
	flows   func(record.Options) []kind // of each client
	rests   time.Duration               // until flows rest after the window of a turn; 0: they cannot
	// exchanged is the payload of a transaction in each direction, in bytes.
	exchanged func(record.Options) (toServer, toClient int)
}

// size is an option that is a size in bytes, and its default.
type size struct {
	record.Bounds
	otherwise int
}

// sized returns a size whose least and default value is the room that its required contents take.
func sized(option string, contents, most int) size {
	return size{record.Bounds{Option: option, Least: contents, Most: most}, contents}
}

// workloads returns all workloads that the engine can drive.
func workloads() []traffic {
	return []traffic{
		tcpStream(), tcpBidir(), tcpRR(), pacedRR(), latencyUnderLoad(), tcpCRR(),
		udpStream(), udpRR(), webRequests(),
	}
}

// warmed reports whether flows begin during the warm-up.
func (w traffic) warmed(o record.Options) bool {
	return slices.ContainsFunc(w.flows(o), func(k kind) bool { return k.late })
}

// each returns as many flows of a kind as there are streams.
func each(k kind) func(record.Options) []kind {
	return func(o record.Options) []kind { return slices.Repeat([]kind{k}, o.Streams) }
}

// requestAndResponse returns the payload of a transaction that has both.
func requestAndResponse(o record.Options) (toServer, toClient int) {
	return o.RequestSize, o.ResponseSize
}

// trafficOf finds a workload and fills its defaults into the options. An option that would have no
// effect is refused, because a cell that names it would be recorded as something that was not
// measured.
func trafficOf(name string, o record.Options) (traffic, record.Options, error) {
	w, known := record.First(workloads(), func(w traffic) bool { return w.name == name })
	if !known {
		return w, o, fmt.Errorf("unknown workload %q", name)
	}
	err := cmp.Or(w.refuse(o), checkLimits(o))
	if err == nil {
		o.Streams = max(o.Streams, 1)
		if w.options != nil {
			w.options(&o)
		}
		err = w.checkSizes(&o)
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

func checkLimits(o record.Options) error {
	for _, d := range record.Dimensions(record.Option) {
		if n, ok := d.Raw(record.Cell{Options: o}); ok && (n < 0 || n > d.Most) {
			return fmt.Errorf("%s is %d: it must be between 1 and %d", d.Name, n, d.Most)
		}
	}
	return nil
}

// checkSizes sets sizes that are not given to their defaults, and refuses those outside of their bounds.
func (w traffic) checkSizes(o *record.Options) error {
	for _, s := range w.sizes {
		d, _ := record.DimensionOf(s.Option)
		c := record.Cell{Options: *o}
		if !d.IsSet(c) {
			d.Set(&c, s.otherwise)
			*o = c.Options
		}
		if !s.Admits(*o) {
			return fmt.Errorf("%s is %s: it must be between %d and %d", d.Title, d.Text(c), s.Least, s.Most)
		}
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
