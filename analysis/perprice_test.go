package analysis

import (
	"testing"

	"nettoll/record"
)

func TestPerPrices(t *testing.T) {
	var trials []record.Trial
	for _, underlay := range []string{"m4.10xlarge:rate=10gbit", "A1", "rate=1gbit", "", "m9.huge:rate=1gbit"} {
		for round := 1; round <= 7; round++ {
			for i, network := range []string{"native", "vxlan"} {
				c := streamCell(network)
				c.Hosts, c.Underlay = 2, underlay
				trials = append(trials, throughputTrial(c, round, 1e9*float64(2-i)+float64(round)))
			}
		}
	}
	res := Analyze(fileOf(trials...))
	got := perPrices(res)
	if len(got) != 4 {
		t.Fatalf("%d prices, want two networks on two instances", len(got))
	}
	p := got[1]
	if p.Instance != "m4.10xlarge" || p.Cell.Network != "vxlan" || p.Native || !got[0].Native || got[2].Instance != "A1" {
		t.Errorf("prices are %+v", got)
	}
	f, _ := res.Scenarios[0].Rows[1].Figure(record.Throughput)
	if p.PerDollar != f.Estimate/2.78 || p.Low != f.Low/2.78 || p.High != f.High/2.78 || p.Level != f.Level {
		t.Errorf("%+v for a dollar, of %+v", p, f.Summary)
	}
}

// A run on a rented machine has the price that was given, or the published one.
func TestPerPriceOfTheMachine(t *testing.T) {
	for _, tt := range []struct {
		instance string
		price    float64
		want     float64 // 0 means unknown
	}{
		{"", 0, 0}, {"c9.huge", 0, 0}, {"c9.huge", 2, 2}, {"m4.large", 0, 0.139}, {"m4.large", 0.1, 0.1}, {"", 5, 5},
	} {
		f := fileOf(pairedTrials(1, 6, 0.9, 0.01)...)
		f.Run.Instance, f.Run.Price = tt.instance, tt.price
		res := Analyze(f)
		got := perPrices(res)
		if (len(got) > 0) != (tt.want > 0) {
			t.Fatalf("%s at %v: %d prices", tt.instance, tt.price, len(got))
		}
		for i, p := range got {
			f, _ := res.Scenarios[0].Rows[i].Figure(record.Throughput)
			if p.Price != tt.want || p.Instance != tt.instance || p.PerDollar != f.Estimate/tt.want {
				t.Errorf("%s at %v: %+v", tt.instance, tt.price, p)
			}
		}
	}
}

// Nothing on a single host crosses the link of the instance that is imitated.
func TestPerPriceOnOneHost(t *testing.T) {
	for hosts, want := range map[int]int{1: 0, 2: 1} {
		var trials []record.Trial
		for round := 1; round <= 6; round++ {
			c := streamCell("bridge")
			c.Hosts, c.Underlay = hosts, "m4.10xlarge:rate=10gbit"
			trials = append(trials, throughputTrial(c, round, 4e10))
		}
		f := fileOf(trials...)
		f.Run.Instance = "m4.large"
		if got := perPrices(Analyze(f)); len(got) != want {
			t.Errorf("on %d hosts: %+v", hosts, got)
		}
	}
}
