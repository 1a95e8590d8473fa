package wrk

import (
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"nettoll/internal/program"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/workload"
)

type endpoint struct {
	platform.Endpoint
	name string
}

func (e *endpoint) Name() string { return e.name }

func pair(server platform.Endpoint, addr string) workload.Pair {
	a := netip.MustParseAddr(addr)
	return workload.Pair{Server: server, Addr: a, Listen: a.Next(), Port: 5201}
}

func TestClient(t *testing.T) {
	s := &endpoint{}
	for _, c := range []struct {
		name string
		job  workload.Job
		warm time.Duration
		want string // the command line
	}{
		{"plain", workload.Job{Duration: time.Second, Pairs: []workload.Pair{pair(s, "198.18.0.1")}},
			0, "/bin/wrk -t 1 -c 1 --timeout 10s http://198.18.0.1:5201/body"},
		{"times are whole seconds", workload.Job{Warmup: 1, Duration: 1500 * time.Millisecond, Pairs: []workload.Pair{pair(s, "2001:2::1")}},
			time.Second, "/bin/wrk -t 1 -c 1 --timeout 10s http://[2001:2::1]:5201/body"},
		{"options", workload.Job{
			Duration: time.Second, Pairs: []workload.Pair{pair(s, "198.18.0.1")},
			Options: record.Options{Streams: 6, NoKeepAlive: true}, CPUs: workload.CPUs{Client: []int{0, 1, 2, 3}},
		}, 0, "/bin/wrk -t 3 -c 6 --timeout 10s -H Connection: close http://198.18.0.1:5201/body"},
	} {
		got := client("/bin/wrk", c.job, 0)
		_, window := program.Window(c.job)
		if got.Command.String() != c.want || got.Params != (request{c.warm, window}) {
			t.Errorf("%s: %s, %+v", c.name, got.Command, got.Params)
		}
		if !slices.Equal(got.Command.CPUs, c.job.CPUs.Client) {
			t.Errorf("%s: on CPUs %v", c.name, got.Command.CPUs)
		}
	}
}

func TestServer(t *testing.T) {
	a, b := &endpoint{name: "a"}, &endpoint{name: "b"}
	job := workload.Job{
		Pairs:   []workload.Pair{pair(a, "198.18.0.1"), pair(a, "2001:2::1"), pair(b, "198.18.0.2")},
		Options: record.Options{ResponseSize: 77},
		CPUs:    workload.CPUs{Server: []int{2, 3}},
	}
	first, second, third := serverOf("/sbin/nginx", job, 0), serverOf("/sbin/nginx", job, 1), serverOf("/sbin/nginx", job, 2)
	if !reflect.DeepEqual(first, second) || first.Place.Files["body"].Size != 77 {
		t.Errorf("two servers where there is one: %+v, %+v", first, second)
	}
	text := func(s program.Server) string { return s.Place.Files["nginx.conf"].Text }
	for _, want := range []string{"listen 198.18.0.2:5201;", "listen [2001:2::2]:5201;", "worker_processes 2;", "worker_connections 1028;"} {
		if !strings.Contains(text(first), want) {
			t.Errorf("no %q in %s", want, text(first))
		}
	}
	if !slices.Equal(first.Command.CPUs, []int{2, 3}) || !slices.Equal(third.Command.CPUs, []int{3}) {
		t.Errorf("on CPUs %v and %v", first.Command.CPUs, third.Command.CPUs)
	}
	if !strings.Contains(text(third), "worker_processes 1;") || strings.Contains(text(third), "[") {
		t.Errorf("for one flow over IPv4: %s", text(third))
	}
	job.CPUs.Server = nil
	if s := serverOf("/sbin/nginx", job, 0); !strings.Contains(text(s), "worker_processes auto;") {
		t.Errorf("anywhere: %s", text(s))
	}
}

func TestThreads(t *testing.T) {
	for _, c := range []struct{ connections, cpus, want int }{
		{1, 0, 1}, {1, 4, 1}, {4, 2, 2}, {5, 2, 1}, {5, 4, 1}, {6, 4, 3}, {100, 16, 10}, {2, 8, 2},
	} {
		if got := threads(c.connections, c.cpus); got != c.want {
			t.Errorf("%d connections on %d CPUs: %d threads, want %d", c.connections, c.cpus, got, c.want)
		}
	}
}

func TestVersion(t *testing.T) {
	for said, want := range map[string]string{
		"wrk debian/4.1.0-3+b2 [epoll] Copyright (C) 2012 Will Glozer\nUsage: wrk <options> <url>": "4.1.0",
		"wrk 4.2.0 [epoll] Copyright (C) 2012 Will Glozer":                                         "4.2.0",
		"nginx version: nginx/1.22.1":                                                              "1.22.1",
		"nginx version: nginx/1.24.0 (Ubuntu)":                                                     "1.24.0",
		"Usage: wrk <options> <url>":                                                               "",
		"":                                                                                         "",
	} {
		got, err := version(said, "it")
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", said, got, err)
		}
	}
}
