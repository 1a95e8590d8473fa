package sampler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/agent"
	"nettoll/internal/atonce"
	"nettoll/internal/await"
	"nettoll/network"
)

// Series is what an agent reads at times that it is told beforehand. If it were asked at those times instead, the
// request could come too late, and its answer could cross the network that is measured.
type Series struct {
	Calls   []Asked  `json:"calls"`
	Moments []Moment `json:"moments"` // in order
	// Until is when the answer may come at the earliest, by the clock of Moment: encoding it takes time, and it could cross the
	// network that is still measured.
	Until int64 `json:"until_ns,omitempty"`
}

// Asked is a call of one of the agent's own methods.
type Asked struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// Moment is a time by the machine's CLOCK_MONOTONIC, in nanoseconds, and what is read then: indexes of Calls.
type Moment struct {
	At    int64 `json:"at_ns"`
	Calls []int `json:"calls"`
}

// Reading is what an agent read at a Moment, in the order of its calls.
type Reading []Found

// Found is the result of a call, or why there is none.
type Found struct {
	Result json.RawMessage `json:"result,omitempty"`
	Error  string          `json:"error,omitempty"`
	Over   int64           `json:"over_ns"` // when the call had ended, by the clock of Moment
}

// Decode decodes the result.
func (f Found) Decode(into any) error {
	if f.Error != "" {
		return errors.New(f.Error)
	}
	return json.Unmarshal(f.Result, into)
}

// Monotonic returns CLOCK_MONOTONIC in nanoseconds.
func Monotonic() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // every kernel has it
	return t.Nano()
}

// InSeries returns the handler of MethodSeries, which calls the given handlers.
func InSeries(all map[string]agent.Handler) agent.Handler {
	return agent.Typed(func(ctx context.Context, s Series) (readings []Reading, err error) {
		type got struct {
			result any
			err    error
			over   int64
		}
		wait := func(until int64) error { return await.Sleep(ctx, time.Duration(until-Monotonic())) }
		var kept [][]got // encoded after the last reading, since encoding takes time
		for _, m := range s.Moments {
			if err := wait(m.At); err != nil {
				return nil, err
			}
			var now []got
			for _, i := range m.Calls {
				if i < 0 || i >= len(s.Calls) {
					return nil, fmt.Errorf("call %d of %d", i+1, len(s.Calls))
				}
				var one got
				if call, ok := all[s.Calls[i].Method]; ok {
					one.result, one.err = call(ctx, s.Calls[i].Params)
				} else {
					one.err = fmt.Errorf("unknown method %q", s.Calls[i].Method)
				}
				one.over = Monotonic()
				now = append(now, one)
			}
			kept = append(kept, now)
		}
		if err := wait(s.Until); err != nil {
			return nil, err
		}
		readings = make([]Reading, len(kept))
		for i, now := range kept {
			for _, one := range now {
				f := Found{Over: one.over}
				if one.err == nil {
					f.Result, one.err = json.Marshal(one.result)
				}
				if one.err != nil {
					f.Error = one.err.Error()
				}
				readings[i] = append(readings[i], f)
			}
		}
		return readings, nil
	})
}

// atOnce is how many moments one call of an agent has at most, so that its answer fits into a frame, also if it is about a
// thousand CPUs.
const atOnce = 50

// lastTime is how long the calls at the last moment may take before other answers are encoded.
const lastTime = 20 * time.Millisecond

// Take has an agent take a series, and returns all readings when the last moment is over.
func (s Series) Take(ctx context.Context, of network.Agent) ([]Reading, error) {
	parts := slices.Collect(slices.Chunk(s.Moments, atOnce))
	read := make([][]Reading, len(parts))
	err := atonce.All(ctx, -1, parts, func(ctx context.Context, i int, part []Moment) error {
		one := Series{Calls: s.Calls, Moments: part}
		if i < len(parts)-1 {
			one.Until = s.Moments[len(s.Moments)-1].At + int64(lastTime)
		}
		err := of.Call(ctx, MethodSeries, one, &read[i])
		if err == nil && len(read[i]) != len(part) {
			err = fmt.Errorf("%d of %d readings", len(read[i]), len(part))
		}
		return err
	})
	return slices.Concat(read...), err
}
