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
	got := perPrices(Analyze(fileOf(trials...)))
	if len(got) != 4 {
		t.Fatalf("%d prices, want two networks on two instances", len(got))
	}
	p := got[1]
	if p.Instance.Name != "m4.10xlarge" || p.Cell.Network != "vxlan" || p.Native || !got[0].Native || got[2].Instance.Name != "A1" {
		t.Errorf("prices are %+v", got)
	}
	if want := p.Throughput.Estimate / 2.78; p.PerDollar.Estimate != want || p.PerDollar.Low != p.Throughput.Low/2.78 || p.PerDollar.Level != p.Throughput.Level {
		t.Errorf("%+v for a dollar, want %v", p.PerDollar, want)
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
		got := perPrices(Analyze(f))
		if (len(got) > 0) != (tt.want > 0) {
			t.Fatalf("%s at %v: %d prices", tt.instance, tt.price, len(got))
		}
		for _, p := range got {
			if p.Instance.Price != tt.want || p.Instance.Name != tt.instance || p.PerDollar.Estimate != p.Throughput.Estimate/tt.want {
				t.Errorf("%s at %v: %+v", tt.instance, tt.price, p)
			}
		}
	}
}
