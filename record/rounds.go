package record

// LeastRounds is the least number of rounds in which any difference can be shown at a level,
// corrected for so many comparisons. The smallest p-value that the signed-rank test of n
// pairs attains is 2/2ⁿ, that of n differences of one sign; times the number of
// comparisons (Bonferroni, and Holm's first step) it must be below 1−level.
func LeastRounds(comparisons int, level float64) int {
	n := 1
	for p := float64(max(1, comparisons)); p >= 1-level && n < 64; p /= 2 {
		n++
	}
	return n
}

// GiveUp is after how many failures in a row a cell is tried no more.
const GiveUp = 3

// Comparisons is how many of the cells are compared with another of them: the primary comparisons
// of a run, each of the metric that its cell is ranked by.
func Comparisons(cells []Cell) (n int) {
	among := map[Cell]bool{}
	for _, c := range cells {
		among[c] = true
	}
	for _, c := range cells {
		if !c.IsNative() && among[c.Against()] {
			n++
		}
	}
	return n
}
