package pgbench

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

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
	return workload.Pair{Client: &endpoint{name: "c"}, Server: server, Addr: netip.MustParseAddr(addr), Port: 5201}
}

func TestClient(t *testing.T) {
	s := &endpoint{}
	for _, c := range []struct {
		name string
		job  workload.Job
		want string // the end of the command line
	}{
		{"plain", workload.Job{Duration: time.Second, Pairs: []workload.Pair{pair(s, "198.18.0.1")}},
			"sh /bin/pgbench 0 1 0 -h 198.18.0.1 -p 5201 -U postgres -n -S -M prepared -c 1 -j 1"},
		{"times are whole seconds", workload.Job{Warmup: 1, Duration: 1500 * time.Millisecond, Pairs: []workload.Pair{pair(s, "2001:2::1")}},
			"sh /bin/pgbench 1 2 0 -h 2001:2::1 -p 5201 -U postgres -n -S -M prepared -c 1 -j 1"},
		{"many connections take their time", workload.Job{
			Duration: time.Second, Pairs: []workload.Pair{pair(s, "198.18.0.1")},
			Options: record.Options{Streams: 120}, CPUs: workload.CPUs{Client: []int{0, 1, 2, 3}},
		}, "sh /bin/pgbench 0 1 2 -h 198.18.0.1 -p 5201 -U postgres -n -S -M prepared -c 120 -j 4"},
	} {
		got := client("/bin/pgbench", c.job, 0)
		if !strings.HasSuffix(got.String(), c.want) || got.Stdin != window {
			t.Errorf("%s: %s", c.name, got)
		}
		if !slices.Equal(got.CPUs, c.job.CPUs.Client) {
			t.Errorf("%s: on CPUs %v", c.name, got.CPUs)
		}
	}
}

func TestServer(t *testing.T) {
	a, b := &endpoint{name: "a"}, &endpoint{name: "b"}
	job := workload.Job{
		Pairs:   []workload.Pair{pair(a, "198.18.0.1"), pair(a, "198.18.0.1"), pair(b, "198.18.0.2")},
		Options: record.Options{Streams: 3}, CPUs: workload.CPUs{Server: []int{2, 3}},
	}
	first, second := server("/pg/bin", job, 0), server("/pg/bin", job, 1)
	if first.String() != second.String() || !strings.HasSuffix(first.String(), "sh /pg/bin 5201 16") {
		t.Errorf("two servers where there is one: %s, %s", first, second)
	}
	job.Options.Streams = 1
	first, third := server("/pg/bin", job, 0), server("/pg/bin", job, 2)
	if !slices.Equal(first.CPUs, []int{2, 3}) || !slices.Equal(third.CPUs, []int{3}) {
		t.Errorf("on CPUs %v and %v", first.CPUs, third.CPUs)
	}
}

func TestVersion(t *testing.T) {
	for said, want := range map[string]string{
		"pgbench (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)":  "15.18",
		"postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)": "15.18",
		"postgres (PostgreSQL) 18beta1":                        "18beta1",
		"postgres (PostgreSQL) ":                               "",
		"out of coffee":                                        "",
	} {
		if got, ok := version(said); ok != (want != "") || ok && got != want {
			t.Errorf("%q: %q, %v", said, got, ok)
		}
	}
}

func TestMajor(t *testing.T) {
	for path, want := range map[string]float64{
		"/usr/lib/postgresql/15/bin/postgres":  15,
		"/usr/lib/postgresql/9.6/bin/postgres": 9.6,
		"/usr/lib/postgresql/x/bin/postgres":   0,
	} {
		if got := major(path); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}
