package engine

import (
	"fmt"
	"syscall"

	"nettoll/record"
)

// role is an end of a connection.
type role string

const (
	client role = "client"
	server role = "server"
)

// unit is what a flow counts.
type unit int

const (
	payloadBytes unit = iota + 1
	transactions
)

// step makes one system call on a flow's connection and returns how much it
// finished: payload bytes or transactions. Where the flow is measured it also
// sets flow.now. Steps are nosplit; see the package comment.
type step func(*flow) (int64, syscall.Errno)

// traffic is what the two ends of a connection do.
type traffic struct {
	name     string
	measured role // the end that counts and cuts the window
	counts   unit
	noDelay  bool     // TCP_NODELAY at both ends
	honours  []string // options, by the names of their flags
	options  func(*record.Options) error
	client   func(*flow, record.Options) (step, error) // gives the flow its buffers
	server   func(*flow, record.Options) (step, error)
}

// workloads is all that the engine can drive.
func workloads() []traffic {
	return []traffic{
		{name: record.TCPStream, measured: server, counts: payloadBytes, honours: []string{"streams", "message-size", "window", "congestion", "zero-copy", "skip-rx-copy"}, options: streamOptions, client: newSender, server: newReceiver},
		{name: record.TCPRR, measured: client, counts: transactions, noDelay: true, honours: []string{"streams", "window", "congestion", "request-size", "response-size"}, options: rrOptions, client: newRequester, server: newResponder},
	}
}

// trafficOf finds a workload and puts its defaults into the options. An option
// that would have no effect is refused, because a cell that names it would be
// recorded as something it was not.
func trafficOf(name string, o record.Options) (traffic, record.Options, error) {
	for _, w := range workloads() {
		if w.name != name {
			continue
		}
		if o.Streams == 0 {
			o.Streams = 1
		}
		err := w.options(&o)
		if err == nil {
			err = checkSizes(o)
		}
		if err != nil {
			return w, o, fmt.Errorf("%s: %w", name, err)
		}
		return w, o, nil
	}
	return traffic{}, o, fmt.Errorf("unknown workload %q", name)
}

// Limits of options, so that a mistyped one does not fill the memory.
const (
	maxStreams = 10_000
	maxSize    = 64 << 20 // bytes
)

func checkSizes(o record.Options) error {
	for _, c := range []struct {
		name       string
		value, max int
	}{
		{"streams", o.Streams, maxStreams},
		{"message size", o.MessageSize, maxSize},
		{"window", o.Window, 1 << 30},
		{"request size", o.RequestSize, maxSize},
		{"response size", o.ResponseSize, maxSize},
	} {
		if c.value < 0 || c.value > c.max {
			return fmt.Errorf("%s is %d: between 1 and %d is possible", c.name, c.value, c.max)
		}
	}
	return nil
}

// payload is what is sent: bytes that repeat only every 251, so that no link
// or tunnel finds them easy to compress or to skip.
func payload(size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(i%251) + 1
	}
	return b
}
