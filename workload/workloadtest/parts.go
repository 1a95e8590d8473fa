package workloadtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nettoll/internal/program"
	"nettoll/internal/testutil/iferr"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/workload"
)

// Endpoint is an endpoint in which nothing is started, given by its name.
type Endpoint string

// Name implements platform.Endpoint.
func (e Endpoint) Name() string { return string(e) }

// OnHost implements platform.Endpoint.
func (Endpoint) OnHost() string { return "h1" }

// Facts implements platform.Endpoint.
func (Endpoint) Facts() platform.Facts { return platform.Facts{} }

// Start implements platform.Endpoint.
func (Endpoint) Start(context.Context, platform.Command) (platform.Process, error) { return nil, nil }

// Pair returns a client and a server that is reached at an address, and listens on the next one.
func Pair(client, server, addr string) workload.Pair {
	a := netip.MustParseAddr(addr)
	return workload.Pair{Client: Endpoint(client), Server: Endpoint(server), Addr: a, Listen: a.Next(), Port: 20001, Own: [2]int{20002, 20003}}
}

// Job returns a job of one second, between c and s unless pairs are given.
func Job(load string, o record.Options, pairs ...workload.Pair) workload.Job {
	if len(pairs) == 0 {
		pairs = []workload.Pair{Pair("c", "s", "198.18.0.1")}
	}
	return workload.Job{Workload: load, Options: o, Duration: time.Second, Pairs: pairs}
}

// Warm returns the job with a warm-up.
func Warm(job workload.Job, warmup time.Duration) workload.Job {
	job.Warmup = warmup
	return job
}

// Started returns the programs that a tool starts for the n-th pair of a job; they are in /bin.
func Started(t *testing.T, tool program.Tool, job workload.Job, n int) (program.Server, program.Client) {
	t.Helper()
	found := program.Paths{}
	for _, name := range tool.Names() {
		found[name] = "/bin/" + name
	}
	trial, err := tool.Trial(job, found)
	iferr.Fatal(t, err)
	return trial.Servers[n], trial.Clients[n]
}

// Commands is a job and the expected arguments of its programs.
type Commands = struct {
	Name           string
	Job            workload.Job
	Server, Client string
}

// Arguments checks the arguments of a tool's programs, for the last pair of each job.
func Arguments(t *testing.T, tool program.Tool, cases []Commands) {
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			server, client := Started(t, tool, c.Job, len(c.Job.Pairs)-1)
			if got := strings.Join(client.Command.Args, " "); got != c.Client {
				t.Errorf("client %s\nwant   %s", got, c.Client)
			}
			if got := strings.Join(server.Command.Args, " "); got != c.Server {
				t.Errorf("server %s\nwant   %s", got, c.Server)
			}
		})
	}
	if _, err := tool.Trial(Job("carrier pigeons", record.Options{}), nil); err == nil {
		t.Error("it drives a workload that does not exist")
	}
}

// Transcript returns the contents of a file below testdata.
func Transcript(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	iferr.Fatal(t, err)
	return string(b)
}

// Case is the output of a trial: transcripts of its clients, separated by +, and of their server
// after a blank. In those of the clients every occurrence of Old is replaced by New.
type Case = struct {
	Name           string
	Job            workload.Job
	File, Old, New string
	Want           string // in the form of Told, or a part of the error
}

// transcripts returns those that the File of a Case names. They are below testdata, at the paths that
// format makes of their names.
func transcripts(t testing.TB, format, file string) (clients []string, server string) {
	t.Helper()
	names, of, counts := strings.Cut(file, " ")
	if counts {
		server = Transcript(t, fmt.Sprintf(format, of))
	}
	for name := range strings.SplitSeq(names, "+") {
		clients = append(clients, Transcript(t, fmt.Sprintf(format, name)))
	}
	return clients, server
}

// result returns the result of a tool for a case.
func result(t *testing.T, tool program.Tool, format string, c Case) (workload.Result, error) {
	t.Helper()
	clients, server := transcripts(t, format, c.File)
	for i := range clients {
		if c.Old != "" {
			clients[i] = Altered(t, clients[i], c.Old, c.New)
		}
	}
	return tool.Result(c.Job, said(server, clients...))
}

// Measures checks the result of each case.
func Measures(t *testing.T, tool program.Tool, format string, cases []Case) {
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			r, err := result(t, tool, format, c)
			if got := Told(r); err != nil || got != c.Want {
				t.Errorf("%v\n%s\nwant\n%s", err, got, c.Want)
			}
		})
	}
}

// Told formats a result: its window, the payload in it and the traffic that crossed in total, its
// metrics, the flows' bytes, transactions and TCP information, and its warnings.
func Told(r workload.Result) string {
	all := []string{fmt.Sprint(r.Window), fmt.Sprintf("%d B", r.Bytes), fmt.Sprint(record.Each(r.Crossed, crossed))}
	for _, name := range slices.Sorted(maps.Keys(r.Metrics)) {
		all = append(all, fmt.Sprintf("%s=%.7g", name, r.Metrics[name].Value))
	}
	for _, f := range r.Flows {
		all = append(all, fmt.Sprintf("%d B/%d", f.Bytes, f.Transactions))
		if f.Message > 0 {
			all = append(all, fmt.Sprintf("by %d B", f.Message))
		}
		if tcp := f.TCP; tcp != nil {
			all = append(all, fmt.Sprintf("(%d RTX %d µs %d %s)", tcp.Retransmits, tcp.RTT, tcp.SndMSS, tcp.Congestion))
		}
	}
	for _, w := range r.Warnings {
		all = append(all, fmt.Sprintf("%s: %.50s", w.Code, w.Text))
	}
	return strings.Join(all, " ")
}

// crossed formats the payload and the connections of a pair, and its transactions, if they are known.
func crossed(c workload.Crossed) string {
	all := fmt.Sprintf("%d %d", c.Bytes, c.Conns)
	if c.Transactions > 0 {
		all += fmt.Sprintf(" %d", c.Transactions)
	}
	return "{" + all + "}"
}

// Clients returns a job of one second for n clients of one server, named c, d, e and so on.
func Clients(load string, o record.Options, n int) workload.Job {
	var pairs []workload.Pair
	for i := range n {
		pairs = append(pairs, Pair(string(rune('c'+i)), "s", "198.18.0.1"))
	}
	return Job(load, o, pairs...)
}

// Refuses checks that each case is an error that gives the reason, so that nothing of it is recorded.
func Refuses(t *testing.T, tool program.Tool, format string, cases []Case) {
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			r, err := result(t, tool, format, c)
			if err == nil || !strings.Contains(err.Error(), c.Want) {
				t.Errorf("%+v, error %v\ndoes not say %s", r, err, c.Want)
			}
		})
	}
}

// Altered returns text with every occurrence of old replaced; there must be one.
func Altered(t *testing.T, text, old, new string) string {
	t.Helper()
	if !strings.Contains(text, old) {
		t.Fatalf("no %q to be replaced in %.200q", old, text)
	}
	return strings.ReplaceAll(text, old, new)
}

// said returns the outcome of a trial of clients that have one server.
func said(server string, clients ...string) program.Outcome {
	o := program.Outcome{
		Servers: []program.Output{{Stdout: server}}, ServerOf: make([]int, len(clients)), Window: time.Second,
	}
	for _, text := range clients {
		o.Clients = append(o.Clients, program.Output{Stdout: text})
	}
	return o
}

// Fuzz checks that any output of a client and its server results in figures that can be recorded, or
// an error. The seeds are transcripts, each given like the File of a Case of one client, and more outputs of clients.
func Fuzz(f *testing.F, tool program.Tool, format string, files []string, more ...string) {
	add := func(client, server string) {
		for i := range tool.Drives {
			f.Add(uint8(i), client, server)
		}
	}
	for _, file := range files {
		clients, server := transcripts(f, format, file)
		add(clients[0], server)
	}
	for _, client := range more {
		add(client, "")
	}
	percentiles := []string{record.LatencyP50, record.LatencyP90, record.LatencyP99, record.LatencyP999, record.LatencyMax}
	f.Fuzz(func(t *testing.T, drive uint8, client, server string) {
		d := tool.Drives[int(drive)%len(tool.Drives)]
		r, err := tool.Result(Job(d.Workload, record.Options{}), said(server, client))
		if err != nil {
			return
		}
		for name, v := range r.Metrics {
			if math.IsNaN(v.Value) || math.IsInf(v.Value, 0) || v.Value < 0 {
				t.Errorf("%s is %v", name, v)
			}
		}
		if r.Window <= 0 || r.Bytes == 0 {
			t.Errorf("%d bytes in %v", r.Bytes, r.Window)
		}
		if _, told := r.Metrics[record.Loss]; !told && d.Workload == record.UDPStream {
			t.Errorf("datagrams without a loss: %v", r.Metrics)
		}
		last := 0.0
		for _, name := range percentiles {
			if v, told := r.Metrics[name]; told && v.Value < last {
				t.Errorf("%s is %v, and a lower one %v", name, v.Value, last)
			} else if told {
				last = v.Value
			}
		}
	})
}

// Versions checks the version that a tool derives from the output of its programs; an empty one means
// that it must refuse them.
func Versions(t *testing.T, tool program.Tool, says map[string]string) {
	for text, want := range says {
		paths := program.Paths{}
		for _, name := range tool.Names() {
			paths[name] = filepath.Join(t.TempDir(), name)
			iferr.Fatal(t, os.WriteFile(paths[name], []byte("#!/bin/sh\ncat >&2 <<'END'\n"+text+"\nEND\nexit 1\n"), 0o755))
		}
		got, err := tool.At(paths).Version(t.Context())
		if got != want || (want == "") != (err != nil) || err != nil && tool.Programs[0].Oldest != "" && !errors.Is(err, platform.ErrUnsupported) {
			t.Errorf("%q: version %q, %v; want %q", text, got, err, want)
		}
	}
}
