package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nettoll/record"
)

func TestParseSize(t *testing.T) {
	for _, c := range []struct {
		text string
		want Size
		out  string
		err  string
	}{
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
	} {
		var got Size
		if err := got.Set(c.text); message(err) != c.err || got != c.want {
			t.Errorf("%q: got %d, %q; want %d, %q", c.text, got, message(err), c.want, c.err)
		}
		if c.err == "" && got.String() != c.out {
			t.Errorf("%q is written %q, want %q", c.text, got, c.out)
		}
	}
}

func TestParseRatio(t *testing.T) {
	for _, c := range []struct {
		text string
		want Ratio
		out  string
		err  string
	}{
		{"5%", 0.05, "5%", ""},
		{"0.05", 0.05, "5%", ""},
		{"99.9%", 0.999, "99.9%", ""},
		{"1", 1, "100%", ""},
		{"five", 0, "", `"five" is not a share; write for example 5% or 0.05`},
		{"-5%", 0, "", `"-5%" is not a share; write for example 5% or 0.05`},
		{"inf", 0, "", `"inf" is not a share; write for example 5% or 0.05`},
		{"%", 0, "", `"%" is not a share; write for example 5% or 0.05`},
	} {
		var got Ratio
		if err := got.Set(c.text); message(err) != c.err || got != c.want {
			t.Errorf("%q: got %v, %q; want %v, %q", c.text, float64(got), message(err), float64(c.want), c.err)
		}
		if c.err == "" && got.String() != c.out {
			t.Errorf("%q is written %q, want %q", c.text, got, c.out)
		}
	}
}

func TestParseUnderlay(t *testing.T) {
	for _, c := range []struct {
		text string
		want Underlay
		out  string
		err  string
	}{
		{"", Underlay{}, "", ""},
		{"rate=1gbit,delay=1ms", Underlay{1e9, time.Millisecond}, "rate=1gbit,delay=1ms", ""},
		{"delay=1500us, rate=1000mbit", Underlay{1e9, 1500 * time.Microsecond}, "rate=1gbit,delay=1500us", ""},
		{"rate=0.1Gbit", Underlay{Rate: 1e8}, "rate=100mbit", ""},
		{"rate=10mibit", Underlay{Rate: 10 << 20}, "rate=10485760bit", ""},
		{"rate=1mbps", Underlay{Rate: 8e6}, "rate=8mbit", ""},
		{"rate=1mibps", Underlay{Rate: 8 << 20}, "rate=8388608bit", ""},
		{"rate=20000bps", Underlay{Rate: 160_000}, "rate=160kbit", ""},
		{"rate=400000000kbit", Underlay{Rate: 4e11}, "rate=400gbit", ""},
		{"delay=2secs", Underlay{Delay: 2 * time.Second}, "delay=2s", ""},
		{"delay=0.5msec", Underlay{Delay: 500 * time.Microsecond}, "delay=500us", ""},
		{"delay=5000nsecs", Underlay{Delay: 5 * time.Microsecond}, "delay=5us", ""},
		{"1gbit", Underlay{}, "", `"1gbit" is not part of a shape; write for example rate=1gbit,delay=1ms`},
		{"loss=1%", Underlay{}, "", `"loss=1%" is not part of a shape; write for example rate=1gbit,delay=1ms`},
		{"rate=1gbit,", Underlay{}, "", `"" is not part of a shape; write for example rate=1gbit,delay=1ms`},
		{"rate=1gbit,rate=2gbit", Underlay{}, "", `rate is given twice; write it once`},
		{"rate", Underlay{}, "", `"" is not a rate; write a number and its unit such as 100mbit or 1gbit`},
		{"rate=1000000", Underlay{}, "", `"1000000" is not a rate; write a number and its unit such as 100mbit or 1gbit`},
		{"rate=-1mbit", Underlay{}, "", `"-1mbit" is not a rate; write a number and its unit such as 100mbit or 1gbit`},
		{"rate=1.5bit", Underlay{}, "", `"1.5bit" is not a rate; write a number and its unit such as 100mbit or 1gbit`},
		{"rate=0mbit", Underlay{}, "", `rate must be above zero; leave it out for a link without a limit`},
		{"rate=1bit", Underlay{}, "", `rate is 1bit; between 10kbit and 400gbit is possible`},
		{"rate=1tbit", Underlay{}, "", `rate is 1000gbit; between 10kbit and 400gbit is possible`},
		{"delay=1", Underlay{}, "", `"1" is not a delay; write a number and its unit such as 500us or 1ms`},
		{"delay=0s", Underlay{}, "", `delay must be above zero; leave it out for a link without one`},
		{"delay=11s", Underlay{}, "", `delay is 11s; at most 10s is possible`},
		{"delay=1500ns", Underlay{}, "", `delay is 1500ns; the kernel counts it in whole microseconds`},
	} {
		got, err := ParseUnderlay(c.text)
		if message(err) != c.err || err == nil && got != c.want {
			t.Errorf("%q: got %+v, %q; want %+v, %q", c.text, got, message(err), c.want, c.err)
		}
		if c.err == "" && got.String() != c.out {
			t.Errorf("%q is written %q, want %q", c.text, got, c.out)
		}
	}
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
		{"overlay", ""},
		{"v", ""},
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
	} {
		if got := (&FieldError{Field: field}).Flag(); got != want {
			t.Errorf("%q: got %q, want %q", field, got, want)
		}
	}
}

func TestTakes(t *testing.T) {
	for option, want := range map[string][2]bool{
		"message-size": {true, false}, "zero-copy": {true, false}, "skip-rx-copy": {true, false},
		"request-size": {false, true}, "response-size": {false, true},
		"streams": {true, true}, "window": {true, true}, "congestion": {true, true},
	} {
		if got := [2]bool{Takes("tcp_stream", option), Takes("tcp_rr", option)}; got != want {
			t.Errorf("%s: streams and transactions take it: %v, want %v", option, got, want)
		}
	}
}

// TestFaultOfLoadedSuite shows that what only Expand can find is named by its
// place in the file too.
func TestFaultOfLoadedSuite(t *testing.T) {
	s, err := Load("x.yaml", strings.NewReader("networks:\n- veth\n- brigde\n"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = Expand(s, drivers())
	want := `x.yaml:3:3: networks[1]: unknown technique "brigde"; did you mean "bridge"? nettoll list techniques shows all`
	if message(err) != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestSettings(t *testing.T) {
	s := Default()
	s.TimeBudget, s.Seed = 90*time.Second, 7
	want := record.Settings{
		Duration: 1, Warmup: 0.2, Precision: 0.05, Confidence: 0.95,
		MinRounds: 6, MaxRounds: 40, Budget: 90, Seed: 7,
	}
	if diff := cmp.Diff(want, Settings(s)); diff != "" {
		t.Error(diff)
	}
}

func TestEstimate(t *testing.T) {
	rr := record.Cell{Network: "host", Hosts: 1, Workload: "tcp_rr"}
	stream, veth := rr, rr
	stream.Workload, veth.Network = "tcp_stream", "veth"
	cells := []record.Cell{rr, stream, veth}
	const round = 3*(400*time.Millisecond+TrialOverhead) + 2*VisitOverhead // 1.32 s
	set := record.Settings{Duration: 0.3, Warmup: 0.1, MinRounds: 6, MaxRounds: 40}
	for _, c := range []struct {
		name   string
		cells  []record.Cell
		budget float64
		want   Forecast
	}{
		{"no budget", cells, 0, Forecast{3, 2, 6, 40, round, 6 * round, 40 * round, false}},
		{"wide budget", cells, 1000, Forecast{3, 2, 6, 40, round, 6 * round, 40 * round, false}},
		{"budget ends within a round", cells, 15, Forecast{3, 2, 6, 11, round, 6 * round, 11 * round, true}},
		{"budget below the least", cells, 3, Forecast{3, 2, 2, 2, round, 2 * round, 2 * round, true}},
		{"nothing", nil, 10, Forecast{0, 0, 6, 40, 0, 0, 0, false}},
	} {
		set.Budget = c.budget
		if diff := cmp.Diff(c.want, Estimate(c.cells, set)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	want := "assuming 20ms beside warm-up and window for each trial, and 30ms for building a network"
	if got := (Forecast{}).Assumes(); got != want {
		t.Errorf("got %q", got)
	}
	longest := Estimate(cells, record.Settings{Duration: 1e12, MinRounds: 1, MaxRounds: 10000})
	if longest.Max != 1<<63-1 {
		t.Errorf("an endless run takes %s", longest.Max)
	}
}
