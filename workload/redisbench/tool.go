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
	"context"
	"crypto/rand"
	"fmt"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
)

// Name is the tool's name and the client program's.
const Name = "redis-benchmark"

const (
	redisServer   = "redis-server"
	serverPackage = "redis-server"
	clientPackage = "redis-tools"
)

// Tool implements workload.Tool with the programs.
type Tool struct{ paths program.Paths }

// New returns the tool.
func New(paths program.Paths) Tool { return Tool{paths} }

var (
	_ workload.Tool   = Tool{}
	_ workload.Prober = Tool{}
	_ workload.Packer = Tool{}
)

// Pack implements workload.Packer.
func (tool Tool) Pack() (workload.Pack, error) {
	p, err := tool.find()
	return workload.Pack{Programs: []string{p.bench, p.server}}, err
}

// Name implements workload.Tool.
func (Tool) Name() string { return Name }

// Drives implements workload.Tool.
func (Tool) Drives() []workload.Drive {
	return []workload.Drive{{Workload: record.Redis, Options: []string{"streams", "response-size"}}}
}

// programs is where the programs are.
type programs struct{ bench, server string }

func (tool Tool) find() (p programs, err error) {
	for _, f := range []struct {
		name, debianPackage string
		path                *string
	}{{Name, clientPackage, &p.bench}, {redisServer, serverPackage, &p.server}} {
		if *f.path, err = tool.paths.Find(f.name, f.debianPackage); err != nil {
			return p, err
		}
	}
	return p, nil
}

// Probe implements workload.Prober.
func (tool Tool) Probe(ctx context.Context) error {
	_, err := tool.Version(ctx)
	return err
}

// Version implements workload.Tool. It names the server's, where it is another.
func (tool Tool) Version(ctx context.Context) (string, error) {
	p, err := tool.find()
	if err != nil {
		return "", err
	}
	var versions []string
	for _, path := range []string{p.bench, p.server} {
		said, err := program.Say(ctx, path, "--version")
		if err != nil {
			return "", err
		}
		v, err := version(said, path)
		if err != nil {
			return "", err
		}
		versions = append(versions, v)
	}
	if versions[0] != versions[1] {
		return versions[0] + "+redis-server-" + versions[1], nil
	}
	return versions[0], nil
}

// Run implements workload.Tool.
func (tool Tool) Run(ctx context.Context, job workload.Job) (workload.Result, error) {
	p, err := tool.find()
	if err != nil {
		return workload.Result{}, err
	}
	t := program.Trial{Lead: job.Warmup + search, Window: job.Duration}
	t.Tail = 2 * (t.Lead + t.Window) // it can become much slower than it was
	password := rand.Text()
	for i := range job.Pairs {
		t.Servers = append(t.Servers, server(p.server, job, i, password))
		t.Clients = append(t.Clients, client(p.bench, job, i, password, t.Lead, t.Window))
	}
	o, err := program.Run(ctx, job, t)
	if err != nil {
		return workload.Result{}, fmt.Errorf("redis-benchmark: %w", err)
	}
	clients := make([]done, len(o.Clients))
	for i, c := range o.Clients {
		n, runs, err := parse(c.Stdout, valueSize(job))
		if err != nil {
			return workload.Result{}, fmt.Errorf("redis-benchmark: client %s: %w", job.Pairs[i].Client.Name(), err)
		}
		clients[i] = sum(n, runs)
	}
	return result(job, t.Window, o, clients), nil
}
