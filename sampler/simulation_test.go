package sampler

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"nettoll/internal/testutil/iferr"
)

// sleeper is a CPU that sleeps and wakes by itself, and is kept awake by traffic.
type sleeper struct {
	random  *rand.Rand
	now     float64
	slept   float64 // in sleeps that have ended
	since   float64 // asleep since, or -1
	changes float64 // when it falls asleep or wakes next
	phase   float64 // of the tick of /proc/stat
}

// to advances the time to t. A CPU with traffic is awake.
func (s *sleeper) to(t float64, traffic bool) {
	if traffic && s.since >= 0 {
		s.slept += s.now - s.since
		s.since = -1
	}
	if traffic {
		s.now, s.changes = t, t
		return
	}
	for s.changes <= t {
		if s.since >= 0 {
			s.slept += s.changes - s.since
			s.since = -1
			s.changes += s.random.ExpFloat64() * 0.0003
		} else {
			s.since = s.changes
			s.changes += s.random.ExpFloat64() * 0.05
		}
	}
	s.now = t
}

func (s *sleeper) idle() float64 {
	if s.since >= 0 {
		return s.slept + s.now - s.since
	}
	return s.slept
}

// TestCostOfManyCPUs measures traffic that uses two CPUs on machines with many CPUs, by each clock,
// with timers that are late. The average result must be the true cost.
func TestCostOfManyCPUs(t *testing.T) {
	const rounds, window, while = 1500, 0.2, 0.25
	for _, cpus := range []int{2, 16, 64, 128} {
		random := rand.New(rand.NewPCG(1, uint64(cpus)))
		machine := make([]*sleeper, cpus)
		for i := range machine {
			machine[i] = &sleeper{random: random, since: -1, phase: random.Float64() * quantum}
		}
		now := 0.0
		pass := func(seconds float64, traffic bool) {
			now += seconds
			for i, s := range machine {
				s.to(now, traffic && i < 2)
			}
		}
		read := func() map[string]Snapshot {
			all := map[string]Snapshot{}
			for _, clock := range []string{ClockTimerList, ClockCPUIdle, ClockStat} {
				snap := Snapshot{At: time.Unix(0, int64(now*1e9)), Clock: clock, CPUs: map[int64]procfs.CPUStat{}, Idle: map[int64]float64{}}
				for i, s := range machine {
					snap.CPUs[int64(i)] = procfs.CPUStat{Idle: math.Floor((s.idle()+s.phase)/quantum) * quantum}
					snap.Idle[int64(i)] = s.idle()
					if clock == ClockCPUIdle {
						snap.Idle[int64(i)] = math.Floor(s.slept*1e6) / 1e6
					}
				}
				if clock == ClockStat {
					snap.Idle = nil
				}
				all[clock] = snap
			}
			return all
		}
		late := func() float64 { return 0.0002 + 0.0006*random.Float64() }
		pass(5, false)
		sums := map[string]float64{}
		for range rounds {
			a := read()
			pass(while+late(), false)
			b := read()
			pass(0.1, false)
			pass(0.1, true)
			c := read()
			pass(window+late(), true)
			d := read()
			pass(0.05, false)
			for clock := range a {
				var idle Baseline
				iferr.Fatal(t, idle.Watch(a[clock], b[clock]))
				use, err := Use(c[clock], d[clock], window)
				iferr.Fatal(t, err)
				if use.Clock != clock {
					t.Fatalf("clock %q, want %q", use.Clock, clock)
				}
				sums[clock] += use.Busy - idle.Rate()*window
			}
		}
		// The machine itself would have used the two CPUs for a small part of the time.
		const own = 0.0003 / 0.0503
		want := 2 * window * (1 - own)
		for clock, sum := range sums {
			bias := sum/rounds/want - 1
			allowed := 0.002
			if clock != ClockTimerList { // three standard errors with this number of rounds
				allowed += 3 * 0.0041 * math.Sqrt(float64(cpus)*2/rounds) / want
			}
			t.Logf("%d CPUs by %s: %+.2f %%", cpus, clock, 100*bias)
			if math.Abs(bias) > allowed {
				t.Errorf("%d CPUs by %s: %+.2f %% of what there was, allowed are %.2f", cpus, clock, 100*bias, 100*allowed)
			}
		}
	}
}
