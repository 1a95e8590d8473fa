package analysis

import (
	"bytes"
	"math"
	"reflect"
	"testing"

	"nettoll/record"
	"nettoll/reference"
)

// finite fails the test for every float below v that is infinite or NaN.
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

// sound fails the test if a result contradicts itself.
func sound(t *testing.T, res Result) {
	t.Helper()
	finite(t, "result", reflect.ValueOf(res))
	for _, s := range res.Scenarios {
		for _, r := range s.Rows {
			for _, f := range r.Figures {
				m := f.Summary
				if !(m.Min <= m.Low && m.Low <= m.Estimate*(1+1e-9) && m.Estimate <= m.High*(1+1e-9) && m.High <= m.Max && m.Min <= m.Median && m.Median <= m.Max) && m.Min >= 0 {
					t.Errorf("summary %+v is out of order", m)
				}
				if d := f.Difference; d != nil {
					if d.Low > d.Value || d.Value > d.High || d.Outcome == Different && (d.Level == 0 || d.Low <= 0 && 0 <= d.High) {
						t.Errorf("difference %+v contradicts itself", d)
					}
				}
				c := f.Ratio
				if c == nil {
					continue
				}
				if r.Native || c.Value <= 0 || c.Low > c.Value*(1+1e-9) || c.High < c.Value*(1-1e-9) || c.P < 0 || c.P > 1 {
					t.Errorf("comparison %+v is out of order", c)
				}
				if c.Outcome == Different && (c.Level == 0 || c.Low <= 1 && 1 <= c.High) || c.Verdict == Different && c.Outcome != Different {
					t.Errorf("outcome of %+v contradicts its interval", c)
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

// adversarial returns files with values from least to most, including absurd ones.
func adversarial(t testing.TB, least, most float64) []*record.File {
	host, bridge := streamCell("host"), streamCell("bridge")
	extreme := []float64{0, 0, math.SmallestNonzeroFloat64, most, 1, 1, most, most}
	var large, small, lost []record.Trial
	for i, v := range extreme {
		a, b := throughputTrial(host, i+1, v), throughputTrial(bridge, i+1, extreme[len(extreme)-1-i])
		a.CPU = &record.CPUUse{Machine: record.MachineCPU{Steal: most, PerCPU: make([]record.CPUSample, 1)}, Resting: &record.Resting{CPU: v}, NodeDaemons: []record.DaemonCPU{{Name: "kubelet", CPU: max(0, v)}}}
		a.Settle = &record.Settle{Wait: min(v, 1e9), CPU: &v}
		a.Window = math.SmallestNonzeroFloat64
		a.Latency = &record.Histogram{Encoded: "AAAA", Count: int64(max(least, -1))}
		large = append(large, a, b)
		small = append(small, throughputTrial(host, i+1, math.SmallestNonzeroFloat64*float64(1+i)), throughputTrial(bridge, i+1, math.SmallestNonzeroFloat64))
		lost = append(lost, lostTrial(host, i+1, record.Failed, "no"), lostTrial(bridge, i+1, record.Skipped, "no"))
	}
	// Shares of 0, two tools, an instance, and absurd figures.
	var shares, crowds []record.Trial
	for i, v := range append(extreme, 0.5, 0.25) {
		for j, network := range []string{"host", "bridge", "iptables"} {
			for k, tool := range []string{"engine", "iperf"} {
				c := streamCell(network)
				c.Tool, c.Underlay = tool, "t2.micro:rate=1gbit"
				a := throughputTrial(c, i+1, extreme[(i+j+k)%len(extreme)])
				a.Metrics[record.Loss] = record.Metric{Value: v, Unit: "ratio"}
				a.Metrics[record.LatencyAdded] = record.Metric{Value: max(least, -v/2*float64(j)), Unit: "s"}
				a.CPU = &record.CPUUse{Client: record.ProcessCPU{User: v, System: v}, Server: record.ProcessCPU{User: max(least, -v)}}
				shares = append(shares, a)
				c.Underlay, c.Clients = "", i+1
				crowds = append(crowds, throughputTrial(c, 1+k, v))
			}
		}
	}
	latency := fileOf(latencyTrials(histogramOf(t, 1e9, 3, 5), histogramOf(t, 1e9, 2, 50))...)
	latency.Run.Settings.Confidence, latency.Run.Settings.Precision = 1e300, max(least, -1)
	twins := twinFile(9, 20, 1)
	twins.Run.Settings.Confidence = 1e-300
	return []*record.File{fileOf(), fileOf(large...), fileOf(small...), fileOf(lost...), latency, twins,
		fileOf(pairedTrials(1, 12, 0.7, 0.3)...), fileOf(shares...), fileOf(crowds...)}
}

// replicas fails the test if a replication of a source contradicts itself.
func replicas(t *testing.T, res Result, sources []reference.Source) {
	t.Helper()
	for _, src := range sources {
		r := replicate(res, src)
		finite(t, src.Name, reflect.ValueOf(r))
		for _, table := range r.Tables {
			for _, c := range table.Cells {
				if (c.Measured == nil) == (c.Skipped == "") {
					t.Errorf("%s: %+v is either measured or skipped", src.Name, c.Published)
				}
			}
			for _, c := range []Correlation{table.Order, table.Shape} {
				if c.Tau < -1 || c.Tau > 1 || c.Known && c.N == 0 || !c.Known && c.Tau != 0 {
					t.Errorf("%s: correlation %+v", src.Name, c)
				}
			}
		}
		for _, c := range r.Conclusions {
			if c.Details == "" {
				t.Errorf("%s: nothing is said of %q", src.Name, c.Conclusion.Text)
			}
		}
	}
}

func TestNeverNaN(t *testing.T) {
	sources := reference.Sources()
	for _, f := range adversarial(t, -math.MaxFloat64, math.MaxFloat64) {
		res := Analyze(f)
		sound(t, res)
		replicas(t, res, sources)
		finite(t, "self-check", reflect.ValueOf(SelfCheck(f, 0)))
		finite(t, "precision", reflect.ValueOf(Precision(f.Trials, f.Run.Settings)))
	}
}

func FuzzAnalyze(f *testing.F) {
	for _, file := range adversarial(f, 0, 1e18) {
		file.Run.Settings.Confidence = min(file.Run.Settings.Confidence, 1)
		text := encode(f, file)
		if _, err := record.Read(bytes.NewReader(text)); err != nil {
			f.Errorf("a seed cannot be read: %v", err)
		}
		f.Add(text)
	}
	sources := reference.Sources()
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := record.Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		res := Analyze(file)
		sound(t, res)
		replicas(t, res, sources)
		finite(t, "self-check", reflect.ValueOf(SelfCheck(file, 6)))
		finite(t, "precision", reflect.ValueOf(Precision(file.Trials, file.Run.Settings)))
	})
}
