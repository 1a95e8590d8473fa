package wrk

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload/workloadtest"
)

func TestClient(t *testing.T) {
	plain := workloadtest.Job(record.HTTP, record.Options{})
	fractions := workloadtest.Warm(workloadtest.Job(record.HTTP, record.Options{}, workloadtest.Pair("c", "s", "2001:2::1")), 1)
	fractions.Duration = 1500 * time.Millisecond
	options := workloadtest.Job(record.HTTP, record.Options{Streams: 6, NoKeepAlive: true})
	options.CPUs.Client = []int{0, 1, 2, 3}
	const server = "-p ./ -e stderr -c nginx.conf"
	workloadtest.Arguments(t, Tool, []workloadtest.Commands{
		{"plain", plain, server, "-t 1 -c 1 --timeout 10s http://198.18.0.1:20001/body"},
		{"times are whole seconds", fractions, server, "-t 1 -c 1 --timeout 10s http://[2001:2::1]:20001/body"},
		{"options", options, server, "-t 3 -c 6 --timeout 10s -H Connection: close http://198.18.0.1:20001/body"},
	})
	if _, c := workloadtest.Started(t, Tool, fractions, 0); c.Params != (request{time.Second, 2 * time.Second}) {
		t.Errorf("%+v", c.Params)
	}
	if _, c := workloadtest.Started(t, Tool, options, 0); c.Params != (request{0, time.Second}) || !slices.Equal(c.Command.CPUs, []int{0, 1, 2, 3}) {
		t.Errorf("%+v on CPUs %v", c.Params, c.Command.CPUs)
	}
}

func TestServer(t *testing.T) {
	job := workloadtest.Job(record.HTTP, record.Options{ResponseSize: 77},
		workloadtest.Pair("c", "a", "198.18.0.1"), workloadtest.Pair("d", "a", "2001:2::1"), workloadtest.Pair("e", "b", "198.18.0.2"))
	job.CPUs.Server = []int{2, 3}
	server := func(n int) program.Server { s, _ := workloadtest.Started(t, Tool, job, n); return s }
	first, second, third := server(0), server(1), server(2)
	if !reflect.DeepEqual(first, second) || first.Place.Files["body"].Size != 77 {
		t.Errorf("two servers where there is one: %+v, %+v", first, second)
	}
	text := func(s program.Server) string { return s.Place.Files["nginx.conf"].Text }
	for _, want := range []string{"listen 198.18.0.2:20001;", "listen [2001:2::2]:20001;", "worker_processes 2;", "worker_connections 1028;"} {
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
	if s := server(0); !strings.Contains(text(s), "worker_processes auto;") {
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

func TestVersions(t *testing.T) {
	workloadtest.Versions(t, Tool, map[string]string{
		"wrk debian/4.1.0-3+b2 [epoll] Copyright (C) 2012 Will Glozer\nUsage: wrk <options> <url>": "4.1.0",
		"wrk 4.2.0 [epoll] Copyright (C) 2012 Will Glozer":                                         "4.2.0",
		"nginx version: nginx/1.22.1":                                                              "1.22.1",
		"nginx version: nginx/1.24.0 (Ubuntu)":                                                     "1.24.0",
		"Usage: wrk <options> <url>":                                                               "",
		"":                                                                                         "",
	})
}
