package analysis

import (
	"math"

	"nettoll/record"
	"nettoll/reference"
)

// PerPrice is the throughput per dollar and hour on an instance with a known price.
type PerPrice struct {
	Cell     record.Cell
	Instance reference.InstanceType
	Native   bool
	// Namespaces is that of the scenario.
	Namespaces Namespaces
	// Throughput is that of the cell, in bit/s.
	Throughput Summary
	// PerDollar is Throughput over the price of one instance: bit/s per dollar per hour. A link
	// has two ends; renting both costs twice as much. Its interval is that of the throughput.
	PerDollar Summary
}

// perPrices returns the throughput per dollar of every cell whose underlay names an instance with
// a known price, in the order of the run. Cells without a shape ran on the machine itself: on the
// instance that the run names, at the price that the run gives or else at the published one.
func perPrices(res Result) []PerPrice {
	price := map[string]reference.InstanceType{}
	for _, i := range reference.Instances() {
		price[i.Name] = i
	}
	own := price[res.Run.Instance]
	if p := res.Run.Price; p > 0 && !math.IsInf(p, 0) {
		own.Name, own.Price = res.Run.Instance, p
	}
	var out []PerPrice
	for _, s := range res.Scenarios {
		instance := price[shapeOf(s.Cell.Underlay).Instance]
		if s.Cell.Underlay == "" {
			instance = own
		}
		if instance.Price <= 0 {
			continue
		}
		for _, r := range s.Rows {
			f, ok := r.Figure(record.Throughput)
			if !ok || r.Cell.Twin != 0 {
				continue
			}
			per, ok := f.Summary.over(instance.Price)
			if ok {
				out = append(out, PerPrice{Cell: r.Cell, Instance: instance, Native: r.Native, Namespaces: s.Namespaces, Throughput: f.Summary, PerDollar: per})
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
