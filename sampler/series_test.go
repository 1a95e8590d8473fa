package sampler

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"nettoll/agent"
)

// TestSeries has more moments than one call of an agent takes. At one of them a call fails, and another names an unknown
// method.
func TestSeries(t *testing.T) {
	var asked atomic.Int64
	all := map[string]agent.Handler{
		"count": agent.Typed(func(context.Context, struct{}) (int64, error) { return asked.Add(1), nil }),
		"fail":  agent.Typed(func(context.Context, struct{}) (int, error) { return 0, errors.New("no such device") }),
	}
	of := local{all}
	s := Series{Calls: []Asked{{Method: "count", Params: json.RawMessage("{}")}, {Method: "fail", Params: json.RawMessage("{}")}, {Method: "none"}}}
	began := Monotonic()
	for i := range 2 * atOnce {
		m := Moment{At: began + int64(i)*int64(100*time.Microsecond), Calls: []int{0}}
		if i == 1 {
			m.Calls = []int{1, 0, 2}
		}
		s.Moments = append(s.Moments, m)
	}
	series := InSeries(all)
	all[MethodSeries] = func(ctx context.Context, params json.RawMessage) (any, error) {
		result, err := series(ctx, params)
		if Monotonic() < s.Moments[len(s.Moments)-1].At {
			t.Error("there was an answer before the last moment")
		}
		return result, err
	}
	got, err := s.Take(t.Context(), of)
	if err != nil || len(got) != len(s.Moments) {
		t.Fatalf("%d readings of %d, %v", len(got), len(s.Moments), err)
	}
	for i, r := range got {
		for over, k := s.Moments[i].At, 0; k < len(r); over, k = r[k].Over, k+1 {
			if r[k].Over < over {
				t.Errorf("call %d of moment %d was over %v too early", k, i, time.Duration(over-r[k].Over))
			}
		}
	}
	var n int
	for i, want := range []string{"no such device", "", `unknown method "none"`} {
		if err := got[1][i].Decode(&n); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if n < 1 {
		t.Errorf("the second moment counted %d", n)
	}
	if int(asked.Load()) != len(s.Moments) {
		t.Errorf("%d calls at %d moments", asked.Load(), len(s.Moments))
	}
}

// TestSeriesOfManyCPUs checks that a frame has room for what one call reads on a large machine.
func TestSeriesOfManyCPUs(t *testing.T) {
	s := Snapshot{CPUs: map[int64]procfs.CPUStat{}, Idle: map[int64]float64{}}
	for cpu := range int64(1024) {
		s.CPUs[cpu] = procfs.CPUStat{User: 123456.78, Nice: 1.23, System: 123456.78, Idle: 1234567.89, Iowait: 1234.56, IRQ: 12.34, SoftIRQ: 1234.56, Steal: 12.34}
		s.Idle[cpu] = 1234567.123456789
	}
	b, err := json.Marshal(s)
	if err != nil || len(b)*atOnce > agent.MaxFrame {
		t.Errorf("%d readings have %d bytes, a frame %d (%v)", atOnce, len(b)*atOnce, agent.MaxFrame, err)
	}
}

// local calls handlers in this process.
type local struct{ all map[string]agent.Handler }

func (l local) Call(ctx context.Context, method string, in, out any) error {
	params, err := json.Marshal(in)
	if err != nil {
		return err
	}
	result, err := l.all[method](ctx, params)
	if err != nil {
		return err
	}
	b, err := json.Marshal(result)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, out)
}
