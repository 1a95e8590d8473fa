package sampler

// Baseline is what a machine uses by itself, from watching it while nothing is measured:
// all its CPU seconds over all the seconds watched. The mean of the rates of single whiles
// would weigh short ones like long ones, and their median leaves out what runs only now
// and then, but during trials as well.
type Baseline struct {
	Busy    float64 // CPU seconds
	Watched float64 // seconds
}

// Watch adds what the machine did between two snapshots. Where their errors make that less
// than nothing, it is counted so: they cancel.
func (b *Baseline) Watch(from, to Snapshot) error {
	elapsed := to.At.Sub(from.At).Seconds()
	used, err := use(from, to, elapsed)
	if err != nil {
		return err
	}
	b.Busy += used.Busy
	b.Watched += elapsed
	return nil
}

// Rate is CPU seconds a second, which errors can make less than nothing.
func (b Baseline) Rate() float64 {
	if b.Watched <= 0 {
		return 0
	}
	return b.Busy / b.Watched
}
