package analysis

import (
	"bytes"
	"math"
	"reflect"
	"testing"

	"nettoll/record"
)

// finite fails on every float below v that is not a number.
func finite(t *testing.T, path string, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.Float64:
		if f := v.Float(); math.IsNaN(f) || math.IsInf(f, 0) {
			t.Errorf("%s is %v", path, f)
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			finite(t, path, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			finite(t, path+"."+v.Type().Field(i).Name, v.Field(i))
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			finite(t, path+"[]", v.Index(i))
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			finite(t, path+"[]", it.Value())
		}
	}
}

// sound fails where a result contradicts itself.
func sound(t *testing.T, res Result) {
	t.Helper()
	finite(t, "result", reflect.ValueOf(res))
	for _, s := range res.Scenarios {
		for _, r := range s.Rows {
			for _, f := range r.Figures {
				m := f.Summary
				if !(m.Min <= m.Low && m.Low <= m.Median && m.Median <= m.High && m.High <= m.Max) {
					t.Errorf("summary %+v is out of order", m)
				}
				c := f.Ratio
				if c == nil {
					continue
				}
				if r.Native || c.Ratio <= 0 || c.Low > c.Ratio*(1+1e-9) || c.High < c.Ratio*(1-1e-9) || c.P < 0 || c.P > 1 {
					t.Errorf("comparison %+v is out of order", c)
				}
				if c.Verdict != Indistinguishable && (c.Level == 0 || c.Low <= 1 && 1 <= c.High) {
					t.Errorf("verdict of %+v contradicts its interval", c)
				}
			}
			for _, w := range r.Warnings {
				if w.Text == "" {
					t.Errorf("warning %q says nothing", w.Code)
				}
			}
		}
	}
}

func adversarial(t testing.TB) []*record.File {
	host, bridge := streamCell("host"), streamCell("bridge")
	extreme := []float64{0, 0, math.SmallestNonzeroFloat64, math.MaxFloat64, 1, 1, math.MaxFloat64, math.MaxFloat64}
	var large, small, lost []record.Trial
	for i, v := range extreme {
		a, b := throughputTrial(host, i+1, v), throughputTrial(bridge, i+1, extreme[len(extreme)-1-i])
		a.CPU = &record.CPUUse{Machine: record.MachineCPU{Steal: math.MaxFloat64, PerCPU: make([]record.CPUSample, 1)}}
		a.Window = math.SmallestNonzeroFloat64
		a.Latency = &record.Histogram{Encoded: "AAAA", Count: -1}
		large = append(large, a, b)
		small = append(small, throughputTrial(host, i+1, math.SmallestNonzeroFloat64*float64(1+i)), throughputTrial(bridge, i+1, math.SmallestNonzeroFloat64))
		lost = append(lost, lostTrial(host, i+1, record.Failed, "no"), lostTrial(bridge, i+1, record.Skipped, "no"))
	}
	latency := fileOf(latencyTrials(histogramOf(t, 1e9, 3, 5), histogramOf(t, 1e9, 2, 50))...)
	latency.Run.Settings.Confidence, latency.Run.Settings.Precision = 1e300, -1
	twins := twinFile(9, 20, 1)
	twins.Run.Settings.Confidence = 1e-300
	return []*record.File{fileOf(), fileOf(large...), fileOf(small...), fileOf(lost...), latency, twins,
		fileOf(pairedTrials(1, 12, 0.7, 0.3)...)}
}

func TestNeverNaN(t *testing.T) {
	for _, f := range adversarial(t) {
		sound(t, Analyze(f))
		finite(t, "self-check", reflect.ValueOf(SelfCheck(f, 0)))
		finite(t, "precision", reflect.ValueOf(Precision(f.Trials, f.Run.Settings)))
	}
}

func FuzzAnalyze(f *testing.F) {
	for _, file := range adversarial(f) {
		f.Add(encode(f, file))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := record.Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		sound(t, Analyze(file))
		finite(t, "self-check", reflect.ValueOf(SelfCheck(file, 6)))
		finite(t, "precision", reflect.ValueOf(Precision(file.Trials, file.Run.Settings)))
	})
}
