package reference

// Base is the value in the base unit that nettoll records its metric in. There
// is none where the value is not given, and where it is in percent of something
// that differs from machine to machine.
func (p Published) Base() (value float64, ok bool) {
	times, known := map[string]float64{
		"Gbit/s": 1e9, "Mbit/s": 1e6, "GB/s": 8e9, "MB/s": 8e6, "us": 1e-6,
	}[p.Unit]
	if !known || !p.Given() {
		return 0, false
	}
	return p.Value * times, true
}

// RatioIn is the value over that of the table's baseline at the same place: 0.8
// where it is 20 % less. There is none where either is not given, or the baseline
// is zero.
func (p Published) RatioIn(t Table) (ratio float64, ok bool) {
	if !p.Given() {
		return 0, false
	}
	if t.Relative {
		return 1 + p.Value/100, true
	}
	base, found := t.Cell(t.Baseline, p.Label)
	if !found || !base.Given() || base.Value == 0 {
		return 0, false
	}
	return p.Value / base.Value, true
}
