// Package wrk drives the web server nginx with wrk (https://github.com/wg/wrk), which requests one
// file again and again. Both are the distribution's: this is a real application, with a real file,
// and with the settings of a server that is meant to be fast.
//
// Each client is a separate wrk with as many connections as there are streams, one by default, each
// with one request at a time: a closed loop, in which a server that stalls receives no requests
// meanwhile, and its stall counts as one late response. wrk 4 makes up for this by adding latencies
// that it has not measured. These are removed again, so that a latency is the time a request took,
// as it is for the other tools. Where each request has a connection of its own, wrk's latencies do
// not include making it, and are left out.
//
// wrk runs for about 100 ms longer than requested, and has no warm-up: to have one, it is run
// twice. It does not distinguish its connections, so a client is one flow. Payload is the bodies of
// responses.
package wrk

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"time"

	"nettoll/agent"
	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
)

// saysVersion matches "wrk debian/4.1.0-3+b2 [epoll]" and "nginx version: nginx/1.22.1".
var saysVersion = regexp.MustCompile(`(?:^|\s)(?:[^\s/]*/)?(\d+\.\d[^\s-]*)`)

// Tool is wrk with the server nginx. Users who do not have the folder of administrators' programs
// in their PATH can use nginx, too.
var Tool = program.Tool{
	Name: "wrk",
	Programs: []program.Program{
		{Name: "wrk", Package: "wrk", Flag: "-v", Says: saysVersion},
		{Name: "nginx", Package: "nginx-light", Else: "/usr/sbin/nginx", Flag: "-v", Says: saysVersion},
	},
	Drives: []workload.Drive{{Workload: record.HTTP, Options: []string{"streams", "response-size", "no-keep-alive"}}},
	Serves: program.Endpoint,
	Times:  times,
	Server: server,
	Client: client,
	Result: program.Each(parse, together),
}

const (
	// defaultBody is the size of a response's body in bytes.
	defaultBody = 1 << 10
	// timeout is after how many seconds wrk counts a response as missing.
	timeout = 10
)

// done is a script that makes wrk print exact figures.
//
//go:embed done.lua
var done string

// bodySize returns the size of a response's body in bytes.
func bodySize(job workload.Job) int { return cmp.Or(job.Options.ResponseSize, defaultBody) }

// lateness is by how much a preceding warm-up delays the window.
const lateness = 100 * time.Millisecond

func times(_ workload.Job, t *program.Trial) {
	if t.Lead > 0 {
		t.Lead += lateness
	}
}

// server is nginx with its files in memory.
func server(p program.Pair) program.Server {
	return program.Server{
		Command: program.Command{Args: []string{"-p", "./", "-e", "stderr", "-c", "nginx.conf"}},
		Place: program.Place{Nobody: true, Files: map[string]program.File{
			"nginx.conf": {Text: config(p.Ports("tcp"), len(p.ServerCPUs), p.Flows)}, "body": {Size: bodySize(p.Job)},
		}},
	}
}

// config returns nginx's configuration. More workers than CPUs would only cause context switches;
// if no CPUs are given, nginx starts a worker for each CPU of the machine.
func config(ports []program.Port, workers, flows int) string {
	count, listen := "auto", ""
	if workers > 0 {
		count = strconv.Itoa(workers)
	}
	for _, p := range ports {
		listen += fmt.Sprintf("listen %v; ", p.At)
	}
	return fmt.Sprintf(`daemon off;
pid nginx.pid;
error_log stderr;
worker_processes %s;
events { worker_connections %d; }
http {
  access_log off;
  log_not_found off;
  default_type application/octet-stream;
  client_body_temp_path client; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  sendfile on;
  tcp_nopush on;
  keepalive_requests 1000000000;
  keepalive_timeout 1h;
  server { %sroot .; }
}
`, count, 2*flows+1024, listen)
}

func client(p program.Pair) program.Client {
	lead, window := program.Window(p.Job)
	args := []string{
		"-t", strconv.Itoa(threads(p.Streams, len(p.ClientCPUs))), "-c", strconv.Itoa(p.Streams),
		"--timeout", strconv.Itoa(timeout) + "s",
	}
	if p.Job.Options.NoKeepAlive {
		args = append(args, "-H", "Connection: close")
	}
	url := "http://" + net.JoinHostPort(p.Addr.String(), strconv.Itoa(p.Port)) + "/body"
	return program.Client{
		Command:   program.Command{Args: append(args, url)},
		Procedure: procedure, Params: request{Warmup: lead, Window: window},
	}
}

// threads returns how many threads wrk gets: one for each CPU that it may use, but no more than
// connections, and a number that divides the connections evenly, since wrk leaves out the
// remainder.
func threads(connections, cpus int) int {
	for t := min(connections, cpus); t > 1; t-- {
		if connections%t == 0 {
			return t
		}
	}
	return 1
}

// procedure is the name under which agents serve the work of a client.
const procedure = "wrk.request"

// request is how long a client runs, in whole seconds.
type request struct{ Warmup, Window time.Duration }

// Handlers returns the agent's half.
func Handlers() map[string]agent.Handler {
	return map[string]agent.Handler{procedure: program.Procedure[request](ask).Handler()}
}

// ask runs wrk twice, the first time for the warm-up, which does not count.
func ask(ctx context.Context, c *program.Course, r request) (program.Output, error) {
	run := func(d time.Duration, command program.Command, more ...string) (program.Output, error) {
		command.Args = slices.Concat([]string{"-d", strconv.Itoa(int(d/time.Second)) + "s"}, more, command.Args)
		return c.Run(ctx, command)
	}
	if r.Warmup > 0 {
		if o, err := run(r.Warmup, c.Command); err != nil {
			return o, err
		}
	}
	command := c.Command
	command.Stdin = done
	return run(r.Window, command, "-s", "/dev/stdin") // each thread reads the script itself
}
