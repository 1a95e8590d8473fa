package record_test

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"nettoll/internal/testutil/iferr"
	"nettoll/record"
)

// number is a number of a line, and its place.
type number struct {
	name string // as in an error
	v    reflect.Value
	set  func() // applies a change of v to the line, where that needs an extra step
}

// numbers finds every number in a value, except those whose type is narrow enough to bound them.
func numbers(v reflect.Value, name string, set func()) (all []number) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		return numbers(v.Elem(), name, set)
	case reflect.Struct:
		for i := range v.NumField() {
			key, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			if name != "" {
				key = strings.TrimSuffix(name+"."+key, ".") // fields of an embedded struct are the outer one's
			}
			all = append(all, numbers(v.Field(i), key, set)...)
		}
	case reflect.Slice:
		for i := range v.Len() {
			all = append(all, numbers(v.Index(i), fmt.Sprintf("%s[%d]", name, i), set)...)
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			key, value := it.Key(), reflect.New(v.Type().Elem()).Elem()
			value.Set(it.Value())
			all = append(all, numbers(value, name+"."+key.String(), func() { v.SetMapIndex(key, value); set() })...)
		}
	case reflect.Int, reflect.Int64, reflect.Uint64, reflect.Float64:
		all = append(all, number{name, v, set})
	case reflect.Uint32, reflect.String, reflect.Bool:
	default:
		panic("no way to bound a " + v.Kind().String())
	}
	return all
}

// TestEveryNumberIsBounded sets each number of each line to an impossible
// value: it is rejected by name both when it is written and when it is read.
func TestEveryNumberIsBounded(t *testing.T) {
	w, err := record.Create(filepath.Join(t.TempDir(), "run"), filledRun(t))
	iferr.Fatal(t, err)
	defer w.Close()
	refuses := func(what string, line any, writing func() error) {
		t.Helper()
		text, err := json.Marshal(line)
		if err != nil { // JSON cannot hold the value, so no file can
			return
		}
		written := writing()
		file := runLine + string(text) + "\n"
		if strings.HasPrefix(string(text), `{"type":"run"`) {
			file = string(text) + "\n"
		}
		_, read := record.Read(strings.NewReader(file))
		for _, err := range []error{written, read} {
			if err == nil || !strings.Contains(err.Error(), what) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if read != nil && !strings.HasPrefix(read.Error(), "line ") {
			t.Errorf("%s: no line is named: %v", what, read)
		}
	}
	trial, run, end := filledTrial(t, 1), filledRun(t), filled[record.End](t, 2)
	end.Type = record.TypeEnd
	var told int
	for _, line := range []struct {
		of    reflect.Value
		write func() error
	}{
		{reflect.ValueOf(&trial), func() error { return w.Trial(trial) }},
		{reflect.ValueOf(&end), func() error { return w.End(end) }},
		{reflect.ValueOf(&run), func() error {
			_, err := record.Create(filepath.Join(t.TempDir(), "new"), run)
			return err
		}},
	} {
		for _, n := range numbers(line.of, "", func() {}) {
			last := n.name[strings.LastIndex(n.name, ".")+1:]
			if last == "seed" || last == "schema_version" {
				continue // any value is possible, or it has its own check
			}
			told++
			was := reflect.New(n.v.Type()).Elem()
			was.Set(n.v)
			low := -2.0
			if strings.HasPrefix(n.name, "slices[") && last == "cpu_s" { // the difference of two times
				low = -2e9
			}
			for _, bad := range []float64{low, math.MaxFloat64} {
				switch n.v.Kind() {
				case reflect.Float64:
					n.v.SetFloat(bad)
				case reflect.Uint64:
					n.v.SetUint(math.MaxUint64)
				default:
					n.v.SetInt(int64(max(bad, math.MinInt64)))
					if bad > 0 {
						n.v.SetInt(math.MaxInt64)
					}
				}
				n.set()
				refuses(last, line.of.Interface(), line.write)
			}
			n.v.Set(was)
			n.set()
		}
	}
	if told < 100 {
		t.Errorf("%d numbers were found", told)
	}
}

func TestBoundsInWords(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{`"round":1,"status":"ok","cpu":{"client":{"user_s":5.9e307}}`, "cpu.client.user_s is 5.9e+307; it must be from 0 to 1e+18"},
		{`"round":1,"status":"ok","window_s":1e10`, "window_s is 1e+10; it must be from 0 to 1e+09"},
		{`"round":4611686018427387904,"status":"ok"`, "round is 4611686018427387904; it must be from 0 to 1000000"},
		{`"round":1,"status":"ok","counters":{"h1/TcpRetransSegs":18446744073709551615}`, "counters.h1/TcpRetransSegs is 18446744073709551615; it must be from 0 to 9223372036854775807"},
		{`"round":1,"status":"ok","path":[{"bytes":9223372036854775808}]`, "path[0].bytes is 9223372036854775808"},
		{`"round":1,"status":"ok","flows":[{"stream":-1}]`, "flows[0].stream is -1"},
		{`"round":1,"status":"ok","slices":[{"at_s":2e9}]`, "slices[0].at_s is 2e+09; it must be from 0 to 1e+09"},
		{`"round":1,"status":"ok","slices":[{"window_s":2e9}]`, "slices[0].window_s is 2e+09; it must be from 0 to 1e+09"},
		{`"round":1,"status":"ok","settle":{"wait_s":2e9}`, "settle.wait_s is 2e+09; it must be from 0 to 1e+09"},
		{`"round":1,"status":"ok","cpu":{"idle_watched_s":2e9}`, "cpu.idle_watched_s is 2e+09; it must be from 0 to 1e+09"},
		{`"round":1,"status":"ok","cpu":{"resting":{"watched_s":2e9}}`, "cpu.resting.watched_s is 2e+09; it must be from 0 to 1e+09"},
	} {
		_, err := record.Read(strings.NewReader(runLine + `{"type":"trial",` + cellKey + `,` + c.line + "}\n"))
		if err == nil || !strings.HasPrefix(err.Error(), "line 2: "+c.want) {
			t.Errorf("%s: %v, want %s", c.line, err, c.want)
		}
	}
	for _, c := range []struct{ cell, want string }{
		{`{}`, "cell without a network"},
		{`{"network":"a","workload":"b","family":4}`, "cell without a tool"},
		{`{"network":"a","tool":"b","family":4}`, "cell without a workload"},
		{`{"network":"a","tool":"b","workload":"c"}`, "cell.family is 0; it must be 4 or 6"},
	} {
		for want, file := range map[string]string{
			"line 1: cells[0]: " + c.want: `{"type":"run","schema_version":1,"cells":[` + c.cell + "]}\n",
			"line 2: " + c.want:           runLine + `{"type":"trial","round":1,"status":"ok","cell":` + c.cell + "}\n",
		} {
			if _, err := record.Read(strings.NewReader(file)); err == nil || err.Error() != want {
				t.Errorf("%s: %v, want %s", c.cell, err, want)
			}
		}
	}
}

// TestHistogramsAreBounded checks the limits of histograms: a header of 50 bytes could make a reader allocate 50 MB.
func TestHistogramsAreBounded(t *testing.T) {
	for _, c := range []struct {
		highest int64
		digits  int
		want    string
	}{
		{int64(time.Hour), 3, ""}, // the engine's
		{1e9, 1, ""},
		{math.MaxInt64, 3, "latency.hdr_v2 goes up to 9223372036854775807 ns; at most 1000000000000000 are possible"},
		{1e9, 5, "latency.hdr_v2 has 5 significant digits; at most 3 are possible"},
	} {
		h := hdrhistogram.New(1, c.highest, c.digits)
		iferr.Fatal(t, h.RecordValue(7))
		text, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
		iferr.Fatal(t, err)
		trial := record.Trial{Cell: small, Round: 1, Status: record.OK, Latency: &record.Histogram{Encoded: string(text), Count: 1}}
		err = trial.Check()
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%d digits up to %d: %v, want %q", c.digits, c.highest, err, c.want)
		}
	}
	for _, text := range []string{"", "AAAA", "!", "HISTFAAAACR4nJNpmSzMwMDAxgABrFCasf4=", strings.Repeat("A", 100)} { // readers report why it cannot be read
		trial := record.Trial{Cell: small, Round: 1, Status: record.OK, Latency: &record.Histogram{Encoded: text}}
		if err := trial.Check(); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestOpen checks that the order of lines, and not their times, decides whether a run has ended.
func TestOpen(t *testing.T) {
	const (
		end    = `{"type":"end","finished":"2026-01-02T03:04:05Z","reason":"max-rounds"}` + "\n"
		resume = `{"type":"resume","started":"2020-01-01T00:00:00Z"}` + "\n" // the clock was set back
	)
	for file, open := range map[string]bool{
		runLine:                             true,
		runLine + trialLine:                 true,
		runLine + trialLine + end:           false,
		runLine + end + resume:              true,
		runLine + end + resume + end:        false,
		runLine + end + resume + trialLine:  true,
		runLine + trialLine + end + `{"typ`: false, // Truncated reports this
	} {
		f, err := record.Read(strings.NewReader(file))
		if err != nil || f.Open != open {
			t.Errorf("%q: open is %v, want %v; %v", file, f.Open, open, err)
		}
	}
}

// TestCellsAreBounded checks that a file with more cells than a run can have is refused, whether they are planned or
// measured.
func TestCellsAreBounded(t *testing.T) {
	for n, want := range map[int]string{20_000: "", 20_001: "it has 20001 different cells; at most 20000 are possible"} {
		var planned, measured strings.Builder
		planned.WriteString(`{"type":"run","schema_version":1,"cells":[`)
		measured.WriteString(runLine)
		for i := range n {
			cell := fmt.Sprintf(`{"network":"bridge","family":4,"tool":"engine","workload":"tcp_rr","rules":%d}`, i)
			if i > 0 {
				planned.WriteByte(',')
			}
			planned.WriteString(cell)
			for range 2 {
				fmt.Fprintf(&measured, `{"type":"trial","round":1,"status":"ok","cell":%s}`+"\n", cell)
			}
		}
		planned.WriteString("]}\n")
		for _, file := range []string{planned.String(), measured.String()} {
			_, err := record.Read(strings.NewReader(file))
			if want == "" && err != nil || want != "" && (err == nil || !strings.HasSuffix(err.Error(), want)) {
				t.Errorf("%d cells: %v, want %q", n, err, want)
			}
		}
	}
}
