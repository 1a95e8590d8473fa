// Package redisbench drives a Redis server with redis-benchmark, which comes with it
// (https://redis.io/docs/latest/operate/oss_and_stack/management/optimization/benchmarks/).
// All clients read one value, of 3 bytes if nothing is said, over and over, without
// pipelining.
//
// Each client is a redis-benchmark of its own with as many connections as there are
// streams, one if nothing is said, each with one request at a time. It has one
// thread, as the server has.
//
// redis-benchmark is bounded by requests and not by time. So it is run for a moment, or
// the warm-up, to find its rate, and then with as many requests as last a little
// longer than the window; should it be faster now, it is run again until the window is
// over. Rate and latencies are of these whole runs; CPU time is of the window, in which
// they begin at about the same time.
//
// It tells p50, p95, p99 and maximum, in steps of 8 µs. It cannot tell its connections
// apart, so that a client is one flow. Payload is the values that were read.
package redisbench

import (
	"cmp"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"time"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
)

// saysVersion takes "redis-benchmark 7.0.15" and "Redis server v=7.0.15 sha=…".
var saysVersion = regexp.MustCompile(`(?:^|\s)(?:v=)?(\d+\.\S+)`)

// Tool is redis-benchmark with redis-server.
var Tool = program.Tool{
	Name: "redis-benchmark",
	Programs: []program.Program{
		{Name: "redis-benchmark", Package: "redis-tools", Flag: "--version", Says: saysVersion},
		{Name: "redis-server", Package: "redis-server", Flag: "--version", Says: saysVersion},
	},
	Drives: []workload.Drive{{Workload: record.Redis, Options: []string{"streams", "response-size"}}},
	Serves: program.Endpoint,
	Times:  times,
	Server: server,
	Client: client,
	Result: program.Each(parse, together),
}

const (
	// defaultValue is the size of the value that is read, in bytes: redis-benchmark's own.
	defaultValue = 3
	// search is how long a client looks for its rate, at least.
	search = 300 * time.Millisecond
	// firstTry is how many requests each stream makes to begin with, so that they end
	// soon on slow networks, too.
	firstTry = 50
)

// valueSize is the size of the value that is read, in bytes.
func valueSize(job workload.Job) int { return cmp.Or(job.Options.ResponseSize, defaultValue) }

func times(job workload.Job, t *program.Trial) error {
	t.Lead, t.Window = job.Warmup+search, job.Duration
	t.Tail = 2 * (t.Lead + t.Window) // it can become much slower than it was
	return nil
}

// server keeps nothing on the disk, and lets in who knows the password, which is against whoever
// comes over the network: redis-benchmark has it among its arguments, which users of its machine
// can see.
func server(p program.Pair) program.Server {
	return program.Server{
		Command: program.Command{
			Args: []string{"-"},
			Stdin: fmt.Sprintf(`bind %s
port %d
requirepass %s
save ""
appendonly no
daemonize no
databases 1
maxclients %d
loglevel warning
logfile ""
`, p.Joined(" "), p.Port, p.Password, p.Flows+100),
		},
		Place: program.Place{Nobody: true},
	}
}

func client(p program.Pair) program.Client {
	return program.Client{
		Command: program.Command{Args: []string{
			"-h", p.Addr.String(), "-p", strconv.Itoa(p.Port), "-a", p.Password,
			"-c", strconv.Itoa(p.Streams), "-t", "get", "--csv",
		}},
		Procedure: procedure,
		Params: request{
			To: netip.AddrPortFrom(p.Addr, uint16(p.Port)), Password: p.Password, Size: valueSize(p.Job),
			Streams: p.Streams, Lead: p.Lead, Window: p.Window,
		},
	}
}
