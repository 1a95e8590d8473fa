package redisbench

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"nettoll/internal/program"
	"nettoll/workload"
)

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
func valueSize(job workload.Job) int {
	if n := job.Options.ResponseSize; n > 0 {
		return n
	}
	return defaultValue
}

// server is the server of a pair and of all others with the same one. It keeps nothing on
// the disk, and lets in who knows the password, which is against whoever comes over the network:
// redis-benchmark has it among its arguments, which users of its machine can see.
func server(path string, job workload.Job, pair int, password string) program.Server {
	p, shared := job.Pairs[pair], program.SharedBy(job, pair)
	var addresses []string
	for _, a := range shared.Listen {
		addresses = append(addresses, a.String())
	}
	return program.Server{
		Endpoint: p.Server,
		Command: program.Command{
			Path: path, Args: []string{"-"}, CPUs: program.CPUs(job.CPUs.Server, shared.Order, shared.Flows),
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
`, strings.Join(addresses, " "), p.Port, password, shared.Flows+100),
		},
		Place:  program.Place{Nobody: true},
		Listen: program.Ports("tcp", shared.Listen, p.Port),
	}
}

// client is what a pair's client does, with the time before the window and the window's
// length.
func client(bench string, job workload.Job, pair int, password string, lead, window time.Duration) program.Client {
	to, streams := job.Pairs[pair], max(job.Options.Streams, 1)
	return program.Client{
		Endpoint: to.Client,
		Command: program.Command{
			Path: bench, CPUs: program.CPUs(job.CPUs.Client, pair, streams),
			Args: []string{
				"-h", to.Addr.String(), "-p", strconv.Itoa(to.Port), "-a", password,
				"-c", strconv.Itoa(streams), "-t", "get", "--csv",
			},
		},
		Procedure: procedure,
		Params: request{
			To: netip.AddrPortFrom(to.Addr, uint16(to.Port)), Password: password, Size: valueSize(job),
			Streams: streams, Lead: lead, Window: window,
		},
	}
}

// version finds the version in what a program says: "redis-benchmark 7.0.15",
// "Redis server v=7.0.15 sha=…".
func version(said, path string) (string, error) {
	for _, field := range strings.Fields(said) {
		v := strings.TrimPrefix(field, "v=")
		if major, rest, ok := strings.Cut(v, "."); ok && rest != "" {
			if _, err := strconv.ParseUint(major, 10, 16); err == nil {
				return v, nil
			}
		}
	}
	return "", fmt.Errorf("%s: no version in %q", path, said)
}
