// Package wrk drives the web server nginx with wrk (https://github.com/wg/wrk),
// which asks for one file again and again. Both are the distribution's: this is a
// real application, on a real file, with the settings of a server that is meant to be
// fast.
//
// Each client is a wrk of its own with as many connections as there are streams, one
// if nothing is said, each with one request at a time: a closed loop, in which a
// server that stalls is not asked meanwhile and its stall counts as one late response.
// wrk 4 makes up for this by adding latencies that it has not measured. That is taken
// out again, so that a latency is what a request took, as it is for the other tools.
// Where each request has a connection of its own, wrk's latencies are without making
// it, and left out.
//
// wrk runs for about 100 ms longer than it is told to, and has no warm-up: for one, it
// is run twice. It cannot tell its connections apart, so that a client is one flow.
// Payload is the bodies of responses.
package wrk

import (
	"context"
	"fmt"
	"time"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
)

// Name is the tool's name, the client program's and that of its Debian package.
const Name = "wrk"

const (
	nginx        = "nginx"
	nginxPackage = "nginx-light"
	// nginxPath is where nginx is for those who do not have the programs of
	// administrators in their PATH.
	nginxPath = "/usr/sbin/nginx"
)

// lateness is by how much a window begins later for the warm-up in front of it.
const lateness = 100 * time.Millisecond

// Tool implements workload.Tool with both programs.
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
	client, server, err := tool.find()
	return workload.Pack{Programs: []string{client, server}}, err
}

// Name implements workload.Tool.
func (Tool) Name() string { return Name }

// Drives implements workload.Tool.
func (Tool) Drives() []workload.Drive {
	return []workload.Drive{{Workload: record.HTTP, Options: []string{"streams", "response-size", "no-keep-alive"}}}
}

// Probe implements workload.Prober.
func (tool Tool) Probe(ctx context.Context) error {
	_, err := tool.Version(ctx)
	return err
}

// Version implements workload.Tool. It names the server's, too.
func (tool Tool) Version(ctx context.Context) (string, error) {
	client, server, err := tool.find()
	if err != nil {
		return "", err
	}
	ofClient, err := versionOf(ctx, client, "-v")
	if err != nil {
		return "", err
	}
	ofServer, err := versionOf(ctx, server, "-v")
	if err != nil {
		return "", err
	}
	return ofClient + "+nginx-" + ofServer, nil
}

func versionOf(ctx context.Context, path, flag string) (string, error) {
	said, err := program.Say(ctx, path, flag)
	if err != nil {
		return "", err
	}
	return version(said, path)
}

// find finds the programs.
func (tool Tool) find() (client, server string, err error) {
	if client, err = tool.paths.Find(Name, Name); err != nil {
		return "", "", err
	}
	if server, err = tool.paths.Find(nginx, nginxPackage); err != nil && tool.paths[nginx] == "" {
		if path, fallback := (program.Paths{nginx: nginxPath}).Find(nginx, nginxPackage); fallback == nil {
			server, err = path, nil
		}
	}
	return client, server, err
}

// Run implements workload.Tool.
func (tool Tool) Run(ctx context.Context, job workload.Job) (workload.Result, error) {
	wrk, nginx, err := tool.find()
	if err != nil {
		return workload.Result{}, err
	}
	var t program.Trial
	t.Lead, t.Window = program.Window(job)
	if t.Lead > 0 {
		t.Lead += lateness
	}
	for i := range job.Pairs {
		t.Servers = append(t.Servers, serverOf(nginx, job, i))
		t.Clients = append(t.Clients, client(wrk, job, i))
	}
	o, err := program.Run(ctx, job, t)
	if err != nil {
		return workload.Result{}, fmt.Errorf("wrk: %w", err)
	}
	clients := make([]figures, len(o.Clients))
	for i, c := range o.Clients {
		clients[i], err = parse(c.Stdout, max(job.Options.Streams, 1))
		if err == nil && clients[i].bytes < clients[i].requests*uint64(bodySize(job)) {
			err = fmt.Errorf("%d responses were only %d bytes", clients[i].requests, clients[i].bytes)
		}
		if err != nil {
			return workload.Result{}, fmt.Errorf("wrk: client %s: %w", job.Pairs[i].Client.Name(), err)
		}
	}
	return result(job, t.Window, o, clients), nil
}
