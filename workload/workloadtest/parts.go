package workloadtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nettoll/internal/program"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/workload"
)

// Endpoint is one that nothing is started in, by its name.
type Endpoint string

// Name implements platform.Endpoint.
func (e Endpoint) Name() string { return string(e) }

// OnHost implements platform.Endpoint.
func (Endpoint) OnHost() string { return "h1" }

// Facts implements platform.Endpoint.
func (Endpoint) Facts() platform.Facts { return platform.Facts{} }

// Start implements platform.Endpoint.
func (Endpoint) Start(context.Context, platform.Command) (platform.Process, error) { return nil, nil }

// Pair is a client and a server that is reached at an address, and listens at the next one.
func Pair(client, server, addr string) workload.Pair {
	a := netip.MustParseAddr(addr)
	return workload.Pair{Client: Endpoint(client), Server: Endpoint(server), Addr: a, Listen: a.Next(), Port: 20001, Own: [2]int{20002, 20003}}
}

// Job is one of a second, between c and s unless pairs are given.
func Job(load string, o record.Options, pairs ...workload.Pair) workload.Job {
	if len(pairs) == 0 {
		pairs = []workload.Pair{Pair("c", "s", "198.18.0.1")}
	}
	return workload.Job{Workload: load, Options: o, Duration: time.Second, Pairs: pairs}
}

// Warm is the job with a warm-up.
func Warm(job workload.Job, warmup time.Duration) workload.Job {
	job.Warmup = warmup
	return job
}

// Started is what a tool starts for the n-th pair of a job; its programs are in /bin.
func Started(t *testing.T, tool program.Tool, job workload.Job, n int) (program.Server, program.Client) {
	t.Helper()
	found := program.Paths{}
	for _, name := range tool.Names() {
		found[name] = "/bin/" + name
	}
	trial, err := tool.Trial(job, found)
	if err != nil {
		t.Fatal(err)
	}
	return trial.Servers[n], trial.Clients[n]
}

// Commands is a job and the arguments of the programs that it takes.
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
		t.Error("it drives a workload that there is not")
	}
}

// Transcript is a file below testdata.
func Transcript(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Refusal is output of which nothing may be recorded: a transcript, or one of a client and one of
// its server with a blank between, in which something is replaced wherever it stands.
type Refusal = struct {
	Name           string
	Job            workload.Job
	File, Old, New string
	Want           string // in the error
}

// Refuses wants an error for each output that says why. Transcripts are below testdata, with the
// names that the format makes of theirs.
func Refuses(t *testing.T, tool program.Tool, format string, cases []Refusal) {
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			file, server, counts := strings.Cut(c.File, " ")
			text := Transcript(t, fmt.Sprintf(format, file))
			if counts {
				server = Transcript(t, fmt.Sprintf(format, server))
			}
			if c.Old != "" {
				text = Altered(t, text, c.Old, c.New)
			}
			r, err := tool.Result(c.Job, said(text, server))
			if err == nil || !strings.Contains(err.Error(), c.Want) {
				t.Errorf("%+v, error %v\ndoes not say %s", r, err, c.Want)
			}
		})
	}
}

// Altered is text in which something is replaced wherever it stands; it must be there.
func Altered(t *testing.T, text, old, new string) string {
	t.Helper()
	if !strings.Contains(text, old) {
		t.Fatalf("no %q to be replaced in %.200q", old, text)
	}
	return strings.ReplaceAll(text, old, new)
}

// said is the outcome of a trial of one client.
func said(client, server string) program.Outcome {
	return program.Outcome{
		Clients: []program.Output{{Stdout: client}}, Servers: []program.Output{{Stdout: server}},
		ServerOf: []int{0}, Window: time.Second,
	}
}

// Fuzz wants figures that can be recorded, or an error, whatever a client and its server print.
// The seeds are pairs of a client's output and its server's.
func Fuzz(f *testing.F, tool program.Tool, seeds ...[2]string) {
	for i := range tool.Drives {
		for _, s := range seeds {
			f.Add(uint8(i), s[0], s[1])
		}
	}
	percentiles := []string{record.LatencyP50, record.LatencyP90, record.LatencyP99, record.LatencyP999, record.LatencyMax}
	f.Fuzz(func(t *testing.T, drive uint8, client, server string) {
		d := tool.Drives[int(drive)%len(tool.Drives)]
		r, err := tool.Result(Job(d.Workload, record.Options{}), said(client, server))
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

// Versions checks what a tool takes for its version when its programs say something, which is
// nothing where it must refuse them.
func Versions(t *testing.T, tool program.Tool, says map[string]string) {
	for text, want := range says {
		paths := program.Paths{}
		for _, name := range tool.Names() {
			paths[name] = filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(paths[name], []byte("#!/bin/sh\ncat >&2 <<'END'\n"+text+"\nEND\nexit 1\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		got, err := tool.At(paths).Version(t.Context())
		if got != want || (want == "") != (err != nil) || err != nil && tool.Programs[0].Oldest != "" && !errors.Is(err, platform.ErrUnsupported) {
			t.Errorf("%q: version %q, %v; want %q", text, got, err, want)
		}
	}
}

// Codes are those of a result's warnings.
func Codes(r workload.Result) string {
	var all []string
	for _, w := range r.Warnings {
		all = append(all, w.Code)
	}
	return strings.Join(all, " ")
}
