package plan

import (
	"maps"
	"strings"

	"nettoll/record"
)

// Workload is a workload and its options. In a suite file the name alone will
// do. An option of zero is the tool's default.
type Workload struct {
	// Name of the workload, such as tcp_stream or tcp_rr.
	Name string `yaml:"name"`
	// Flows of each client (-P).
	Streams int `yaml:"streams,omitempty"`
	// Bytes of one write or read of a stream (-l).
	MessageSize Size `yaml:"message_size,omitempty"`
	// Socket buffer in bytes (-w).
	Window Size `yaml:"window,omitempty"`
	// Congestion control (-C), such as cubic.
	Congestion string `yaml:"congestion,omitempty"`
	// The sender of a stream sends a file instead of memory (-Z).
	ZeroCopy bool `yaml:"zero_copy,omitempty"`
	// The receiver of a stream lets the kernel discard what arrives.
	SkipRxCopy bool `yaml:"skip_rx_copy,omitempty"`
	// Bytes of a request.
	RequestSize Size `yaml:"request_size,omitempty"`
	// Bytes of a response.
	ResponseSize Size `yaml:"response_size,omitempty"`
	// Payload that each flow of udp_stream offers, in bit/s such as 100M or 1G (-b).
	Bandwidth BitRate `yaml:"bandwidth,omitempty"`
	// Transactions a second that each flow of paced_rr offers.
	Rate int `yaml:"rate,omitempty"`
	// The server sends and the client receives (-R).
	Reverse bool `yaml:"reverse,omitempty"`
	// A connection for each request of http.
	NoKeepAlive bool `yaml:"no_keep_alive,omitempty"`
	// Datagrams are handed to the kernel and taken from it in batches.
	GSO bool `yaml:"gso,omitempty"`
	// Tools that drive this workload, instead of those of the suite.
	Tools []string `yaml:"tools,omitempty" jsonschema:"minItems=1"`
}

// Options are the workload's options as cells carry them.
func (w Workload) Options() record.Options {
	return record.Options{
		Streams:      w.Streams,
		MessageSize:  int(w.MessageSize),
		Window:       int(w.Window),
		Congestion:   w.Congestion,
		ZeroCopy:     w.ZeroCopy,
		SkipRxCopy:   w.SkipRxCopy,
		RequestSize:  int(w.RequestSize),
		ResponseSize: int(w.ResponseSize),
		Bandwidth:    int(w.Bandwidth),
		Rate:         w.Rate,
		Reverse:      w.Reverse,
		NoKeepAlive:  w.NoKeepAlive,
		GSO:          w.GSO,
	}
}

// given are the options that are set, by the names of their flags.
func (w Workload) given() []string {
	var names []string
	for _, o := range []struct {
		name string
		set  bool
	}{
		{"streams", w.Streams != 0},
		{"message-size", w.MessageSize != 0},
		{"window", w.Window != 0},
		{"congestion", w.Congestion != ""},
		{"zero-copy", w.ZeroCopy},
		{"skip-rx-copy", w.SkipRxCopy},
		{"request-size", w.RequestSize != 0},
		{"response-size", w.ResponseSize != 0},
		{"bandwidth", w.Bandwidth != 0},
		{"rate", w.Rate != 0},
		{"reverse", w.Reverse},
		{"no-keep-alive", w.NoKeepAlive},
		{"gso", w.GSO},
	} {
		if o.set {
			names = append(names, o.name)
		}
	}
	return names
}

// SetWorkloads gives the suite other workloads than its file does. What errors say
// of them is no longer said of places in the file.
func (s *Suite) SetWorkloads(workloads []Workload) {
	s.Workloads = workloads
	s.at = maps.Clone(s.at)
	maps.DeleteFunc(s.at, func(field, _ string) bool { return strings.HasPrefix(field, "workloads[") })
}
