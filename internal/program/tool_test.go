package program

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"nettoll/internal/testutil/iferr"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/workload"
)

// TestVersion has a client and a server that print versions.
func TestVersion(t *testing.T) {
	number := regexp.MustCompile(`^v(\d\S*)$`)
	says := func(text string) string {
		path := filepath.Join(t.TempDir(), "program")
		iferr.Fatal(t, os.WriteFile(path, []byte("#!/bin/sh\n[ \"$1\" = -V ] && echo '"+text+"'\n"), 0o755))
		return path
	}
	answer := Program{Name: "answer", Flag: "-V", Says: number}
	for _, c := range []struct{ client, server, oldest, want, err string }{
		{"v3.12", "v3.12", "", "3.12", ""},
		{"v3.12", "v3.2-1", "3.7", "3.12+answer-3.2-1", ""},
		{"v3.7", "v3.7", "3.7", "3.7", ""},
		{"v3.6", "v3.6", "3.7", "", "ask: not supported here (needs ask 3.7 or later): FILE is version 3.6"},
		{"v2.99", "v2.99", "3.7", "", "FILE is version 2.99"},
		{"hello", "v3", "3.7", "", `FILE is not ask 3.7 or later: it reports its version as "hello"`},
		{"hello", "v3", "", "", `FILE -V printed "hello", which is not a version`},
		{"v3", "hello", "", "", `-V printed "hello", which is not a version`},
	} {
		client := says(c.client)
		ask := Program{Name: "ask", Package: "asking", Flag: "-V", Says: number, Oldest: c.oldest, Tested: "3.12"}
		tool := Tool{Name: "ask", Programs: []Program{ask, answer}}.At(Paths{"ask": client, "answer": says(c.server)})
		v, err := tool.Version(t.Context())
		if v != c.want || err == nil && c.err != "" || err != nil && !strings.Contains(err.Error(), strings.ReplaceAll(c.err, "FILE", client)) {
			t.Errorf("%+v: %q, %v", c, v, err)
		}
		var why *platform.Unsupported
		if c.oldest != "" && err != nil && (!errors.As(err, &why) || why.Remedy != "apt install asking, or give its path with --tool-path ask=FILE; tested with 3.12") {
			t.Errorf("%+v: %v", c, err)
		}
	}
	silent := Tool{Name: "ask", Programs: []Program{{Name: "ask", Flag: "-V", Says: number}, {Name: "answer"}}}.At(Paths{"ask": says("v1"), "answer": "/bin/true"})
	if v, err := silent.Version(t.Context()); v != "1" || err != nil {
		t.Errorf("a server that is not asked: %q, %v", v, err)
	}
}

// TestServes has clients of two endpoints, the first of which is reached at two addresses.
func TestServes(t *testing.T) {
	a, b := &endpoint{name: "a"}, &endpoint{name: "b"}
	pair := func(server *endpoint, addr string, own int) workload.Pair {
		return workload.Pair{Server: server, Listen: netip.MustParseAddr(addr), Port: 1, Own: [2]int{own, own + 1}}
	}
	job := workload.Job{
		Pairs: []workload.Pair{pair(a, "198.18.0.1", 2), pair(a, "::ffff:198.18.0.1", 4), pair(a, "198.18.0.2", 6), pair(b, "198.18.0.3", 2)},
		CPUs:  workload.CPUs{Client: []int{0, 1}, Server: []int{2, 3}},
	}
	for s, want := range map[Serves]string{
		OneClient: "[2] 1 [198.18.0.1:2] [3] 1 [198.18.0.1:4] [2] 1 [198.18.0.2:6] [3] 1 [198.18.0.3:2]",
		Address:   "[2 3] 2 [198.18.0.1:1] [2 3] 2 [198.18.0.1:1] [2] 1 [198.18.0.2:1] [3] 1 [198.18.0.3:1]",
		Endpoint:  "[2 3] 3 [198.18.0.1:1 198.18.0.2:1] [2 3] 3 [198.18.0.1:1 198.18.0.2:1] [2 3] 3 [198.18.0.1:1 198.18.0.2:1] [3] 1 [198.18.0.3:1]",
	} {
		var got []string
		for i := range job.Pairs {
			p := s.pair(job, i)
			ports := record.Each(p.Ports("tcp"), func(port Port) netip.AddrPort { return port.At })
			got = append(got, fmt.Sprint(p.ServerCPUs, p.Flows, ports))
			if len(p.ClientCPUs) != 1 || p.ClientCPUs[0] != i%2 {
				t.Errorf("client %d on CPUs %v", i, p.ClientCPUs)
			}
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%d: %s\nwant %s", s, text, want)
		}
	}
}

func TestOlder(t *testing.T) {
	for versions, want := range map[[2]string]bool{
		{"3.6", "3.7"}: true, {"3.7", "3.7"}: false, {"3.12", "3.7"}: false, {"3.7.1", "3.7"}: false,
		{"6.0.16", "6.2"}: true, {"14.11", "15"}: true, {"15.18", "15"}: false, {"18beta1", "15"}: false, {"", "15"}: true,
	} {
		if got := older(versions[0], versions[1]); got != want {
			t.Errorf("%q older than %q: %v", versions[0], versions[1], got)
		}
	}
}

// TestTrial checks that fields that a tool leaves empty are filled in.
func TestTrial(t *testing.T) {
	a := &endpoint{name: "a"}
	job := workload.Job{
		Workload: record.TCPStream, Warmup: 1, Duration: 1,
		Pairs: []workload.Pair{{Client: &endpoint{name: "c"}, Server: a, Listen: netip.MustParseAddr("198.18.0.1"), Own: [2]int{2, 3}}},
	}
	tool := Tool{
		Name: "ask", Programs: []Program{{Name: "ask"}, {Name: "answer"}}, Drives: []workload.Drive{{Workload: record.TCPStream}}, Roams: true,
		Server: func(Pair) Server { return Server{Command: Command{Args: []string{"s"}}} },
		Client: func(p Pair) Client {
			return Client{Command: Command{Args: []string{p.Lead.String(), p.Window.String()}}}
		},
	}
	found := Paths{"ask": "/bin/ask", "answer": "/bin/answer"}
	trial, err := tool.Trial(job, found)
	iferr.Fatal(t, err)
	s, c := trial.Servers[0], trial.Clients[0]
	if s.Command.String() != "/bin/answer s" || s.Endpoint != a || fmt.Sprint(s.Listen) != "[tcp port 2 of 198.18.0.1]" || fmt.Sprint(s.Place.Hold) != "[198.18.0.1]" {
		t.Errorf("server %+v", s)
	}
	if c.Command.String() != "/bin/ask 1s 1s" || c.Endpoint.Name() != "c" || trial.Lead != trial.Window {
		t.Errorf("client %+v", c)
	}
	tool.NoWarmup = true
	if trial, err := tool.Trial(job, found); err != nil || trial.Lead != 0 {
		t.Errorf("without a warm-up it begins after %v, %v", trial.Lead, err)
	}
	tool.Times = func(workload.Job, *Trial) error { return errors.New("no time") }
	if _, err := tool.Trial(job, found); err == nil {
		t.Error("an error of Times is lost")
	}
	if at := tool.At(nil); at.Roams != "answer" {
		t.Errorf("it roams, and nobody is told: %q", at.Roams)
	}
	tool.Roams = false
	if at := tool.At(nil); at.Roams != "" {
		t.Errorf("it does not roam, and is said to: %q", at.Roams)
	}
}
