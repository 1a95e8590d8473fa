package analysis

import (
	"math"

	"nettoll/record"
	"nettoll/reference"
)

// PerPrice is the throughput per dollar and hour on an instance with a known price.
type PerPrice struct {
	Cell     record.Cell `json:"cell"`
	Native   bool        `json:"-"`
	Instance string      `json:"instance"`
	Price    float64     `json:"usd_an_hour"` // of one instance
	// PerDollar is the throughput over the price: bit/s per dollar per hour. A link has two ends;
	// renting both costs twice as much.
	PerDollar  float64                    `json:"bit_s_per_usd_an_hour"`
	Interval   `json:"interval,omitzero"` // of PerDollar; from that of the throughput
	Namespaces Namespaces                 `json:"hosts_are,omitempty"` // of the scenario
}

// perPrices returns the throughput per dollar of every cell whose underlay names an instance with
// a known price, in the order of the run. Cells without a shape ran on the machine itself: on the
// instance that the run names, at the price that the run gives or else at the published one. Cells
// on one host crossed no link of an instance, so they have no price of one.
func perPrices(res Result) []PerPrice {
	own, _ := reference.Instance(res.Run.Instance)
	if p := res.Run.Price; p > 0 && !math.IsInf(p, 0) {
		own.Name, own.Price = res.Run.Instance, p
	}
	var out []PerPrice
	for _, s := range res.Scenarios {
		instance, _ := reference.Instance(shapeOf(s.Cell.Underlay).Instance)
		if s.Cell.Underlay == "" {
			instance = own
		}
		if instance.Price <= 0 || s.Cell.Underlay != "" && s.Cell.Hosts == 1 {
			continue
		}
		for _, r := range s.Rows {
			f, ok := r.Figure(record.Throughput)
			if !ok || r.Cell.Twin != 0 {
				continue
			}
			per, ok := f.Summary.over(instance.Price)
			if ok {
				out = append(out, PerPrice{Cell: r.Cell, Native: r.Native, Instance: instance.Name, Price: instance.Price,
					PerDollar: per.Estimate, Interval: per.Interval, Namespaces: s.Namespaces})
			}
		}
	}
	return out
}

// over divides a summary, and fails if a value would be beyond the range of numbers.
func (s Summary) over(by float64) (Summary, bool) {
	for _, v := range []*float64{&s.Estimate, &s.Median, &s.Low, &s.High, &s.Min, &s.Max} {
		*v /= by
		if math.IsInf(*v, 0) || math.IsNaN(*v) {
			return Summary{}, false
		}
	}
	return s, true
}
