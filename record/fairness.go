package record

// Jain is how evenly flows share a network: the squared sum over n times the sum of
// squares (Jain, Chiu and Hawe, DEC-TR-301, 1984), 1 when all are equal and 1/n when one
// has everything. Where there are streams it is that of their bytes, else that of
// transactions. One flow shares with nobody, and has none.
func Jain(flows []Flow) (index float64, ok bool) {
	of := func(f Flow) float64 { return float64(f.Transactions) }
	for _, f := range flows {
		if f.Bytes > 0 {
			of = func(f Flow) float64 { return float64(f.Bytes) }
		}
	}
	var n, sum, squares float64
	for _, f := range flows {
		x := of(f)
		if x == 0 && f.Bytes+f.Transactions > 0 {
			continue // counts the other
		}
		n++
		sum += x
		squares += x * x
	}
	if n < 2 || squares == 0 {
		return 0, false
	}
	return sum * sum / (n * squares), true
}
