// Package redisbench drives a Redis server with redis-benchmark, which comes with it
// (https://redis.io/docs/latest/operate/oss_and_stack/management/optimization/benchmarks/). All
// clients read one value, of 3 bytes by default, over and over, without pipelining.
//
// Each client is a separate redis-benchmark with as many connections as there are streams, one by
// default, each with one request at a time. It has one thread, as the server has.
//
// redis-benchmark is bounded by requests and not by time. So it first runs for the warm-up and a
// moment longer, to find its rate and how long it takes to start, and then, so early that it has
// started when the window begins, with as many requests as last longer than the window; if it turns
// out to be faster, it is run again until the window is over. Rate and latencies are those of these
// whole runs. CPU time is that of the window.
//
// It reports p50, p95, p99 and maximum, in steps of 8 µs. It does not distinguish its connections,
// so a client is one flow. Payload is the values that were read.
package redisbench

import (
	"bufio"
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"time"

	"nettoll/agent"
	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
)

// saysVersion matches "redis-benchmark 7.0.15" and "Redis server v=7.0.15 sha=…".
var saysVersion = regexp.MustCompile(`(?:^|\s)(?:v=)?(\d+\.\S+)`)

// Tool is redis-benchmark with redis-server.
var Tool = program.Tool{
	Name: "redis-benchmark",
	Programs: []program.Program{
		{Name: "redis-benchmark", Package: "redis-tools", Flag: "--version", Says: saysVersion, Oldest: "6.2", Tested: "7.0.15"},
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
	// defaultValue is the size of the value that is read, in bytes: redis-benchmark's default.
	defaultValue = 3
	// search is how long a client looks for its rate and starts, at least.
	search = 400 * time.Millisecond
	// longer is by which factor requests for a window last longer than that.
	longer = 1.25
	// firstTry is how many requests each stream makes to begin with: few enough that they end soon
	// on slow networks, too.
	firstTry = 10
)

// valueSize returns the size of the value that is read, in bytes.
func valueSize(job workload.Job) int { return cmp.Or(job.Options.ResponseSize, defaultValue) }

func times(job workload.Job, t *program.Trial) {
	t.Lead, t.Window = job.Warmup+search, job.Duration
	t.Tail = 2 * (t.Lead + t.Window) // it can become much slower than during the search
}

// server stores nothing on the disk, and requires the password. This protects against clients on
// the network only: redis-benchmark has the password among its arguments, which users of its
// machine can see.
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

// procedure is the name under which agents serve the work of a client.
const procedure = "redisbench.request"

// request is the work of a client.
type request struct {
	To       netip.AddrPort
	Password string
	Size     int // of the value, in bytes
	Streams  int
	Lead     time.Duration // before the window
	Window   time.Duration
}

// Handlers returns the agent's half.
func Handlers() map[string]agent.Handler {
	return map[string]agent.Handler{procedure: program.Procedure[request](read).Handler()}
}

// read stores the value and prints its size. Then it reads the value, for about 100 ms at a time,
// until there is no more time for that before the window. Each run after that has as many requests as
// last longer than the window; it prints this number, and repeats such runs until the window is over.
func read(ctx context.Context, c *program.Course, r request) (program.Output, error) {
	began := time.Now()
	stored, err := r.store(ctx)
	if err != nil {
		return program.Output{}, fmt.Errorf("store a value on %v: %w", r.To, err)
	}
	get := func(count int) (program.Output, error) {
		command := c.Command
		command.Args = append(command.Args[:len(command.Args):len(command.Args)], "-n", strconv.Itoa(count))
		return c.Run(ctx, command)
	}
	tries := max(1, min(firstTry, int(r.Lead/time.Since(began)))) // storing takes a few round trips
	perSecond, count := 0.0, tries*r.Streams
	longest := time.Duration(0) // of a run, with what the program takes to start and to end
	for first := true; first || time.Since(c.Started)+2*longest < r.Lead; first = false {
		began = time.Now()
		o, err := get(count)
		if err != nil {
			return o, err
		}
		if perSecond, err = rate(o.Stdout, count); err != nil {
			return o, err
		}
		count = requests(perSecond*inSearch.Seconds(), r.Streams)
		longest = max(longest, time.Since(began), inSearch)
	}
	wanted := max(0, r.Lead-time.Since(c.Started)) + r.Window
	count = requests(perSecond*longer*wanted.Seconds(), r.Streams)
	said := fmt.Sprintf("%d\n%d\n", stored, count)
	for begun := false; !begun || time.Since(c.Started) < r.Lead+r.Window; begun = true {
		o, err := get(count)
		if err != nil {
			return o, err
		}
		said += o.Stdout
	}
	return program.Output{Stdout: said}, nil
}

// inSearch is for how long each run of the search is to last.
const inSearch = 100 * time.Millisecond

// requests returns how many requests a run has, from how many there is time for: at least one on each stream.
func requests(most float64, streams int) int {
	return max(streams, int(min(math.MaxInt32, most)))
}

// rate returns the requests per second in the output of a run of the search with that many.
func rate(text string, count int) (perSecond float64, err error) {
	const column = 1
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return 0, fmt.Errorf("%w; %s is known to work", err, known)
	}
	if len(lines) != 2 || len(lines[1]) <= column {
		return 0, fmt.Errorf("%d lines of output; %s is known to work", len(lines), known)
	}
	if lines[1][column] == "inf" { // it took less than a millisecond: the next run has ten times as many
		return float64(count) * 10 / inSearch.Seconds(), nil
	}
	perSecond, err = strconv.ParseFloat(lines[1][column], 64)
	if err != nil || math.IsNaN(perSecond) || perSecond < 0 {
		return 0, fmt.Errorf("%q requests per second; %s is known to work", lines[1][column], known)
	}
	return perSecond, nil
}

// storeTime bounds the storing of the value.
const storeTime = 10 * time.Second

// store stores the value, and returns the size that the server reports. It uses Redis' protocol
// (RESP2): a command is an array of strings, an answer one line.
func (r request) store(ctx context.Context) (size int, err error) {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", r.To.String())
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	answers := bufio.NewReader(conn)
	ask := func(words ...string) (string, error) {
		command := fmt.Sprintf("*%d\r\n", len(words))
		for _, w := range words {
			command += fmt.Sprintf("$%d\r\n%s\r\n", len(w), w)
		}
		if _, err := conn.Write([]byte(command)); err != nil {
			return "", err
		}
		line, err := answers.ReadString('\n')
		line = strings.TrimRight(line, "\r\n")
		if failed, bad := strings.CutPrefix(line, "-"); bad && err == nil {
			err = fmt.Errorf("the server answered %q", failed)
		}
		return line, err
	}
	if _, err := ask("AUTH", r.Password); err != nil {
		return 0, err
	}
	// The key that redis-benchmark reads by default.
	line, err := ask("SETRANGE", "key:__rand_int__", strconv.Itoa(r.Size-1), "x")
	if err != nil {
		return 0, err
	}
	number, ok := strings.CutPrefix(line, ":")
	if size, err = strconv.Atoi(number); !ok || err != nil {
		return 0, fmt.Errorf("the server answered %q", line)
	}
	return size, nil
}
