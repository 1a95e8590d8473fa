package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nettoll/record"
)

// reading is a text with the expected value and how that is written, or with the expected error.
type reading[T any] struct {
	text string
	want T
	out  string
	err  string
}

func reads[T interface {
	comparable
	fmt.Stringer
}](t *testing.T, cases []reading[T], parse func(string) (T, error)) {
	t.Helper()
	for _, c := range cases {
		got, err := parse(c.text)
		if message(err) != c.err || err == nil && got != c.want {
			t.Errorf("%q: got %+v, %q; want %+v, %q", c.text, got, message(err), c.want, c.err)
		}
		if c.err == "" && got.String() != c.out {
			t.Errorf("%q is written %q, want %q", c.text, got, c.out)
		}
	}
}

func TestParseSize(t *testing.T) {
	reads(t, []reading[Size]{
		{"1460", 1460, "1460", ""},
		{"128K", 128 << 10, "128K", ""},
		{"128k", 128 << 10, "128K", ""},
		{"1.5M", 3 << 19, "1536K", ""},
		{"2G", 2 << 30, "2G", ""},
		{"0", 0, "0", ""},
		{"", 0, "", `"" is not a size; write bytes such as 1460, 128K or 1M`},
		{"K", 0, "", `"K" is not a size; write bytes such as 1460, 128K or 1M`},
		{"-1", 0, "", `"-1" is not a size; write bytes such as 1460, 128K or 1M`},
		{"1e3", 0, "", `"1e3" is not a size; write bytes such as 1460, 128K or 1M`},
		{"0x10", 0, "", `"0x10" is not a size; write bytes such as 1460, 128K or 1M`},
		{"1.", 0, "", `"1." is not a size; write bytes such as 1460, 128K or 1M`},
		{"1.5", 0, "", `"1.5" is not a whole number of bytes; write bytes such as 1460, 128K or 1M`},
		{"9999999G", 0, "", `"9999999G" is more than any buffer; write bytes such as 1460, 128K or 1M`},
	}, ParseSize)
}

func TestParseRatio(t *testing.T) {
	reads(t, []reading[Ratio]{
		{"5%", 0.05, "5%", ""},
		{"0.05", 0.05, "5%", ""},
		{"99.9%", 0.999, "99.9%", ""},
		{"1", 1, "100%", ""},
		{"five", 0, "", `"five" is not a share; write for example 5% or 0.05`},
		{"-5%", 0, "", `"-5%" is not a share; write for example 5% or 0.05`},
		{"inf", 0, "", `"inf" is not a share; write for example 5% or 0.05`},
		{"%", 0, "", `"%" is not a share; write for example 5% or 0.05`},
	}, ParseRatio)
}

func TestParseUnderlay(t *testing.T) {
	reads(t, []reading[Underlay]{
		{"", Underlay{}, "", ""},
		{"rate=1gbit,delay=1ms", Underlay{Rate: 1e9, Delay: time.Millisecond}, "rate=1gbit,delay=1ms", ""},
		{"delay=1500us, rate=1000mbit", Underlay{Rate: 1e9, Delay: 1500 * time.Microsecond}, "rate=1gbit,delay=1500us", ""},
		{"rate=0.1Gbit", Underlay{Rate: 1e8}, "rate=100mbit", ""},
		{"rate=10mibit", Underlay{Rate: 10 << 20}, "rate=10485760bit", ""},
		{"rate=1mbps", Underlay{Rate: 8e6}, "rate=8mbit", ""},
		{"rate=1mibps", Underlay{Rate: 8 << 20}, "rate=8388608bit", ""},
		{"rate=20000bps", Underlay{Rate: 160_000}, "rate=160kbit", ""},
		{"rate=400000000kbit", Underlay{Rate: 4e11}, "rate=400gbit", ""},
		{"delay=2secs", Underlay{Delay: 2 * time.Second}, "delay=2s", ""},
		{"delay=0.5msec", Underlay{Delay: 500 * time.Microsecond}, "delay=500us", ""},
		{"none", Underlay{}, "", ""},
		{"m4.10xlarge", Underlay{Instance: "m4.10xlarge"}, "m4.10xlarge", ""},
		{"m4.10xlarge:rate=10gbit", Underlay{Instance: "m4.10xlarge", Rate: 1e10}, "m4.10xlarge:rate=10gbit", ""},
		{"A0:delay=1ms,rate=5mbit", Underlay{Instance: "A0", Rate: 5e6, Delay: time.Millisecond}, "A0:rate=5mbit,delay=1ms", ""},
		{"m4:large:rate=1gbit", Underlay{}, "", `"large:rate=1gbit" is not part of a shape; write for example rate=1G,delay=1ms`},
		{"m4.large:", Underlay{}, "", `"" is not part of a shape; write for example rate=1G,delay=1ms`},
		{":rate=1gbit", Underlay{}, "", `"" is not the name of an instance; write for example m4.large:rate=1G`},
		{"4x:rate=1gbit", Underlay{}, "", `"4x" is not the name of an instance; write for example m4.large:rate=1G`},
		{"m4.large,m4.xlarge", Underlay{}, "", `"m4.large" is not part of a shape; write for example rate=1G,delay=1ms`},
		{"delay=5000nsecs", Underlay{Delay: 5 * time.Microsecond}, "delay=5us", ""},
		{"1gbit", Underlay{}, "", `"1gbit" is not part of a shape; write for example rate=1G,delay=1ms`},
		{"loss=1%", Underlay{}, "", `"loss=1%" is not part of a shape; write for example rate=1G,delay=1ms`},
		{"rate=1gbit,", Underlay{}, "", `"" is not part of a shape; write for example rate=1G,delay=1ms`},
		{"rate=1gbit,rate=2gbit", Underlay{}, "", `rate is given twice; write it once`},
		{"delay", Underlay{}, "", `"" is not a delay; write a number and its unit such as 500us or 1ms`},
		{"rate", Underlay{}, "", `"" is not a rate; write bit/s such as 100M or 1G, or as tc has them: 100mbit, 1gbit`},
		{"rate=1000000", Underlay{Rate: 1e6}, "rate=1mbit", ""},
		{"rate=1G,delay=10ms", Underlay{Rate: 1e9, Delay: 10 * time.Millisecond}, "rate=1gbit,delay=10ms", ""},
		{"rate=2.5g", Underlay{Rate: 2.5e9}, "rate=2500mbit", ""},
		{"rate=900Mbit/s", Underlay{Rate: 9e8}, "rate=900mbit", ""},
		{"delay=0.01s", Underlay{Delay: 10 * time.Millisecond}, "delay=10ms", ""},
		{"delay=1s500ms", Underlay{Delay: 1500 * time.Millisecond}, "delay=1500ms", ""},
		{"delay=50µs", Underlay{Delay: 50 * time.Microsecond}, "delay=50us", ""},
		{"rate=1GB", Underlay{}, "", `"1GB" is not a rate; write bit/s such as 100M or 1G, or as tc has them: 100mbit, 1gbit`},
		{"delay=-1ms", Underlay{}, "", `"-1ms" is not a delay; write a number and its unit such as 500us or 1ms`},
		{"rate=-1mbit", Underlay{}, "", `"-1mbit" is not a rate; write bit/s such as 100M or 1G, or as tc has them: 100mbit, 1gbit`},
		{"rate=1.5bit", Underlay{}, "", `"1.5bit" is not a whole number of bit/s; write bit/s such as 100M or 1G`},
		{"rate=1T", Underlay{}, "", `"1T" is more than any link; write at most 400G`},
		{"rate=0mbit", Underlay{}, "", `rate must be above zero; leave it out for a link without a limit`},
		{"rate=1bit", Underlay{}, "", `rate is 1bit; between 10kbit and 400gbit is possible`},
		{"rate=1tbit", Underlay{}, "", `rate is 1000gbit; between 10kbit and 400gbit is possible`},
		{"delay=1", Underlay{}, "", `"1" is not a delay; write a number and its unit such as 500us or 1ms`},
		{"delay=0s", Underlay{}, "", `delay must be above zero; leave it out for a link without one`},
		{"delay=11s", Underlay{}, "", `delay is 11s; at most 10s is possible`},
		{"delay=1500ns", Underlay{}, "", `delay is 1500ns; the kernel counts it in whole microseconds`},
	}, ParseUnderlay)
}

func TestParseUnderlays(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
		err  string
	}{
		{"", []string{""}, ""},
		{"rate=1gbit", []string{"rate=1gbit"}, ""},
		{"rate=1gbit,delay=1ms", []string{"rate=1gbit,delay=1ms"}, ""},
		{"rate=1gbit,rate=10gbit", []string{"rate=1gbit", "rate=10gbit"}, ""},
		{"delay=1ms, rate=1gbit, delay=2ms", []string{"rate=1gbit,delay=1ms", "delay=2ms"}, ""},
		{"m4.large,none,rate=1gbit,delay=1ms,A0", []string{"m4.large", "", "rate=1gbit,delay=1ms", "A0"}, ""},
		{"m4.large:rate=1gbit,delay=1ms,m4.xlarge:delay=2ms,rate=2gbit", []string{"m4.large:rate=1gbit,delay=1ms", "m4.xlarge:rate=2gbit,delay=2ms"}, ""},
		{"m4.large,rate=1gbit", []string{"m4.large", "rate=1gbit"}, ""},
		{"rate=1gbit,", nil, `"" is not part of a shape; write for example rate=1G,delay=1ms`},
		{",rate=1gbit", nil, `"" is not part of a shape; write for example rate=1G,delay=1ms`},
		{"1gbit,2gbit", nil, `"1gbit" is not part of a shape; write for example rate=1G,delay=1ms`},
	} {
		all, err := ParseUnderlays(c.text)
		got := record.Each(all, func(u Underlay) string { return u.String() })
		if message(err) != c.err || !slices.Equal(got, c.want) {
			t.Errorf("%q: got %q, %q; want %q, %q", c.text, got, message(err), c.want, c.err)
		}
	}
}

func TestParseTopology(t *testing.T) {
	const fault = ` is not a topology; write SERVERSxCLIENTS or SERVERSxCLIENTSxPROCESSES, such as 2x8 or 1x4x16`
	reads(t, []reading[Topology]{
		{"1x1", Topology{1, 1, 1}, "1x1", ""},
		{"2x8", Topology{2, 8, 1}, "2x8", ""},
		{"1x4x16", Topology{1, 4, 16}, "1x4x16", ""},
		{"1X4×1", Topology{1, 4, 1}, "1x4", ""},
		{"0x4", Topology{0, 4, 1}, "0x4", ""}, // Validate refuses it
		{"", Topology{}, "", `""` + fault},
		{"4", Topology{}, "", `"4"` + fault},
		{"1x", Topology{}, "", `"1x"` + fault},
		{"1xx4", Topology{}, "", `"1xx4"` + fault},
		{"1x2x3x4", Topology{}, "", `"1x2x3x4"` + fault},
		{"-1x4", Topology{}, "", `"-1x4"` + fault},
		{"1 x 4", Topology{}, "", `"1 x 4"` + fault},
		{"1x99999999999999999999", Topology{}, "", `"1x99999999999999999999"` + fault},
	}, ParseTopology)
}

func TestParseBitRate(t *testing.T) {
	reads(t, []reading[BitRate]{
		{"1G", 1e9, "1G", ""},
		{"1.5g", 1.5e9, "1500M", ""},
		{"100M", 1e8, "100M", ""},
		{"64k", 64_000, "64K", ""},
		{"1234", 1234, "1234", ""},
		{"0.4T", 4e11, "400G", ""},
		{"0", 0, "0", ""},
		{"", 0, "", `"" is not a bandwidth; write bit/s such as 100M or 1G`},
		{"G", 0, "", `"G" is not a bandwidth; write bit/s such as 100M or 1G`},
		{"1Gbit", 1e9, "1G", ""},
		{"100mbit/s", 1e8, "100M", ""},
		{"5bit", 5, "5", ""},
		{"1GB", 0, "", `"1GB" is not a bandwidth; write bit/s such as 100M or 1G`},
		{"-1G", 0, "", `"-1G" is not a bandwidth; write bit/s such as 100M or 1G`},
		{"0.5", 0, "", `"0.5" is not a whole number of bit/s; write bit/s such as 100M or 1G`},
		{"1T", 0, "", `"1T" is more than any link; write at most 400G`},
	}, ParseBitRate)
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestNearest(t *testing.T) {
	known := []string{"bridge", "bridge-nonf", "veth", "vxlan", "macvlan", "ipvlan", "tcp_rr", ""}
	for _, c := range []struct{ name, want string }{
		{"brigde", "bridge"},
		{"bridge", "bridge"},
		{"vxlam", "vxlan"},
		{"ivlan", "ipvlan"},
		{"tcp-rr", "tcp_rr"},
		{"vehh", "veth"},
		{"evth", "veth"},
		{"hvet", ""},
		{"overlay", ""},
		{"v", ""},
		{"mac", "macvlan"},
		{"", ""},
		{strings.Repeat("x", 1<<20), ""},
	} {
		got, ok := Nearest(c.name, known)
		if got != c.want || ok != (c.want != "") {
			t.Errorf("%.20q: got %q, %t; want %q", c.name, got, ok, c.want)
		}
	}
}

func TestFlag(t *testing.T) {
	for field, want := range map[string]string{
		"":                          "",
		"min_rounds":                "--min-rounds",
		"networks[2]":               "--networks",
		"workloads[1]":              "--workloads",
		"workloads[1].name":         "--workloads",
		"workloads[1].message_size": "--message-size",
		"clients[3]":                "--clients",
		"workloads[1].tools[0]":     "--tools",
		"as_published.rounds":       "--as-published",
	} {
		if got := (&FieldError{Field: field}).Flag(); got != want {
			t.Errorf("%q: got %q, want %q", field, got, want)
		}
	}
}

func TestSettings(t *testing.T) {
	s := Default()
	s.TimeBudget, s.Seed, s.Together = 90*time.Second, 7, 3
	want := record.Settings{
		Duration: 0.24, Warmup: 0.2, Precision: 0.05, Confidence: 0.95,
		MinRounds: 6, MaxRounds: 40, Budget: 90, Seed: 7, EqualWithin: 0.05, Turns: true, Together: 3,
	}
	if diff := cmp.Diff(want, Settings(s)); diff != "" {
		t.Error(diff)
	}
}

func TestEstimate(t *testing.T) {
	rr := record.Cell{Network: "host", Hosts: 1, Servers: 1, Clients: 1, Workload: "tcp_rr"}
	stream, veth := rr, rr
	stream.Workload, veth.Network = "tcp_stream", "veth"
	cells := []record.Cell{rr, stream, veth}
	const round = 3*(400*time.Millisecond+TrialOverhead+PairOverhead) + 2*(VisitOverhead+2*ContainerOverhead+AgentOverhead) + IdleWatched // 1.42 s
	set := record.Settings{Duration: 0.3, Warmup: 0.1, Confidence: 0.95, MinRounds: 6, MaxRounds: 40}
	for _, c := range []struct {
		name   string
		cells  []record.Cell
		budget float64
		want   Forecast
	}{
		{"no budget", cells, 0, Forecast{3, 2, 2, 0, 0, 0, 0, 6, 40, 1, 6, round, IdleBefore + 6*round, IdleBefore + 40*round, false, 0, nil}},
		{"wide budget", cells, 1000, Forecast{3, 2, 2, 0, 0, 0, 0, 6, 40, 1, 6, round, IdleBefore + 6*round, IdleBefore + 40*round, false, 0, nil}},
		{"budget ends within a round", cells, 15, Forecast{3, 2, 2, 0, 0, 0, 0, 6, 10, 1, 6, round, IdleBefore + 6*round, IdleBefore + 10*round, true, 0, nil}},
		{"no room for watching the idle machine before ten", cells, 14.6, Forecast{3, 2, 2, 0, 0, 0, 0, 6, 9, 1, 6, round, IdleBefore + 6*round, IdleBefore + 9*round, true, 0, nil}},
		{"budget below the least", cells, 4, Forecast{3, 2, 2, 0, 0, 0, 0, 2, 2, 1, 6, round, IdleBefore + 2*round, IdleBefore + 2*round, true, 0, nil}},
		{"nothing", nil, 10, Forecast{0, 0, 0, 0, 0, 0, 0, 6, 40, 0, 0, 0, 0, 0, false, 0, nil}},
	} {
		set.Budget = c.budget
		if diff := cmp.Diff(c.want, Estimate(c.cells, set, Known{})); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	// With more comparisons it takes more rounds before one of them can be called different, and the forecast says
	// so if the limits allow fewer.
	many := cells[:1:1]
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		c := rr
		c.Network = name
		many = append(many, c)
	}
	for _, c := range []struct {
		least, most int
		rounds      float64 // that fit the budget
		min, max    int
		short       bool
	}{{6, 40, 0, 9, 40, false}, {12, 40, 0, 12, 40, false}, {6, 8, 0, 8, 8, true}, {6, 9, 0, 9, 9, false}, {6, 40, 8.5, 8, 8, true}, {6, 40, 9.5, 9, 9, false}} {
		set := record.Settings{Duration: 0.3, Confidence: 0.95, MinRounds: c.least, MaxRounds: c.most}
		set.Budget = c.rounds * Estimate(many, set, Known{}).Round.Seconds()
		if f := Estimate(many, set, Known{}); f.Comparisons != 7 || f.Verdict != 9 || f.MinRounds != c.min || f.MaxRounds != c.max || f.Short(0) != c.short {
			t.Errorf("%+v: %+v, short %v", c, f, f.Short(0))
		}
	}
	want := "assuming for each trial 15ms and 5ms per client in addition to warm-up and window; for building a network 17ms, 1.5ms per container, 10ms per client and the start of its engine and daemons; and for each round 100ms in which the idle machine is watched"
	if got := (Forecast{}).Assumes(); got != want {
		t.Errorf("got %q", got)
	}
	// A tool with a window of a second and a start of half a second, 4 clients of 8 processes, 2 servers and 100
	// neighbours.
	slow := record.Cell{Network: "veth", Hosts: 1, Servers: 2, Clients: 4, Processes: 8, Setup: record.Setup{Neighbours: 100}, Tool: "slow"}
	got := Estimate([]record.Cell{slow}, record.Settings{Duration: 0.3, Warmup: 0.1}, Known{Tools: []Tool{{Name: "slow", MinDuration: time.Second, Lead: 500 * time.Millisecond}}})
	if want := 1600*time.Millisecond + TrialOverhead + 32*PairOverhead + VisitOverhead + 106*ContainerOverhead + 32*AgentOverhead + IdleWatched; got.Round != want {
		t.Errorf("a round of a slow tool takes %s, want %s", got.Round, want)
	}
	got = Estimate([]record.Cell{slow}, record.Settings{Duration: 1.2, Warmup: 0.1}, Known{Tools: []Tool{{Name: "slow", Step: time.Second}}})
	if want := 3*time.Second + TrialOverhead + 32*PairOverhead + VisitOverhead + 106*ContainerOverhead + 32*AgentOverhead + IdleWatched; got.Round != want {
		t.Errorf("a round of a tool of whole seconds takes %s, want %s", got.Round, want)
	}
	flannel := record.Cell{Network: "docker:flannel", Hosts: 2, Servers: 1, Clients: 1}
	got = Estimate([]record.Cell{flannel}, record.Settings{}, Known{
		Platforms: []Platform{{Name: "lab"}, {Name: "docker", Visit: time.Second}},
		Networks:  []Network{{Name: "flannel", Startup: 3 * time.Second}, {Name: "veth", Startup: time.Hour}},
	})
	if want := 4*time.Second + TrialOverhead + PairOverhead + VisitOverhead + 2*ContainerOverhead + AgentOverhead + IdleWatched; got.Round != want {
		t.Errorf("a round of one with daemons on an engine takes %s, want %s", got.Round, want)
	}
	if got.Starting != 4*time.Second || !slices.Equal(got.Slow, []string{"docker:flannel"}) {
		t.Errorf("%s of that are for starting %q, want 4s for docker:flannel", got.Starting, got.Slow)
	}
	// Networks of a cluster are built at the same time, unless they measure how long something takes until it is in force.
	services := []record.Cell{{Network: "kube:a", Hosts: 1, Servers: 1, Clients: 1}, {Network: "kube:b", Hosts: 1, Servers: 1, Clients: 1}}
	cluster := Known{
		Platforms: []Platform{{Name: "lab"}, {Name: "kube", Visit: time.Second, AtOnce: 12}},
		Networks:  []Network{{Name: "a", Has: []string{record.Services}}, {Name: "b", Has: []string{record.Services}}},
	}
	of := func(further int) time.Duration {
		for i := range services {
			services[i].Services = further
		}
		return Estimate(services, record.Settings{Turns: true}, cluster).Starting
	}
	d, _ := record.DimensionOf("services")
	if got, want := []time.Duration{of(0), of(10)}, []time.Duration{time.Second, 2 * (time.Second + d.Longer(services[0]))}; !slices.Equal(got, want) {
		t.Errorf("with and without further services two networks take %v to start, want %v", got, want)
	}
	// Turns of a network whose daemons carry the payload are longer.
	var took [2]time.Duration
	for i, carried := range []bool{false, true} {
		tunnels := Known{Tools: []Tool{{Name: "engine", Drives: []Drive{{Workload: record.TCPStream, Turns: true}}}}, Networks: []Network{{Name: "tunnel", Carried: carried}}}
		took[i] = Estimate([]record.Cell{cellOf("host", record.TCPStream), cellOf("tunnel", record.TCPStream)}, record.Settings{Turns: true, Duration: 0.3, Confidence: 0.95, Congestion: "cubic"}, tunnels).Round
	}
	if got, want := took[1]-took[0], 4*(daemonsSettle+daemonsRest)+streamTurn.Slice-streamTurn.Cold; got != want { // three that count, and a cold one
		t.Errorf("three slices of a tunnel of daemons take %v longer, want %v", got, want)
	}
	longest := Estimate(cells, record.Settings{Duration: 1e12, MinRounds: 1, MaxRounds: 10000}, Known{})
	if longest.Max != 1<<63-1 {
		t.Errorf("an endless run takes %s", longest.Max)
	}
}
