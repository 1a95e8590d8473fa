package record_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nettoll/internal/testutil/iferr"
	"nettoll/record"
)

// agree fails the test if reading a file for reports differs from reading all of it.
func agree(t *testing.T, text []byte, whole *record.File, wrong error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run")
	iferr.Fatal(t, os.WriteFile(path, text, 0o600))
	brief, err := record.ReadFigures(path, nil)
	if (err == nil) != (wrong == nil) || err != nil && err.Error() != path+": "+wrong.Error() {
		t.Fatalf("error of reading all is %v, of reading figures %v", wrong, err)
	}
	if wrong != nil {
		return
	}
	want := *whole
	want.Trials = nil
	for _, trial := range whole.Trials {
		trial.Counters = nil
		want.Trials = append(want.Trials, trial)
	}
	if diff := cmp.Diff(&want, brief); diff != "" {
		t.Fatalf("figures differ (-all of it +figures):\n%s", diff)
	}
}

func TestFiguresAreThoseOfTheWholeFile(t *testing.T) {
	trial := func(rest string) string {
		return `{"type":"trial",` + cellKey + `,"round":1,"status":"ok"` + rest + "}\n"
	}
	end := `{"type":"end","reason":"precision","elapsed_s":3}` + "\n"
	_, filled := write(t, filledRun(t), filledTrial(t, 1), filledTrial(t, 2), filledTrial(t, 2))
	for name, text := range map[string]string{
		"every field":           string(filled) + end,
		"no trial":              runLine,
		"cut off":               runLine + trialLine + trialLine[:20],
		"white space":           runLine + strings.ReplaceAll(trial(`,"counters":{"a":1,"b":2},"slices":[{"at_s":1}]`), ",", " , "),
		"another order of keys": runLine + `{"round":1,` + cellKey + `,"status":"ok","type":"trial","counters":{"a":1}}` + "\n",
		"keys twice":            runLine + trial(`,"cell":{"network":"other"},"endpoints":[{"name":"a"}],"endpoints":[{"role":"client"}]`),
		"nothing in them":       runLine + trial(`,"counters":null,"endpoints":null,"metrics":null,"path":null`),
		"odd names of counters": runLine + trial(`,"counters":{"a\"b\\":1,"":2,"{,:}":3,"\u00e9":4}`),
		"counters up to 2⁶³−1":  runLine + trial(`,"counters":{"a":9223372036854775807,"b":999999999999999999,"c":1000000000000000000}`),
		"counters beyond":       runLine + trial(`,"counters":{"a":9223372036854775808}`),
		"negative counters":     runLine + trial(`,"counters":{"a":-1}`),
		"fractions of counters": runLine + trial(`,"counters":{"a":1.5}`),
		"texts for counters":    runLine + trial(`,"counters":{"a":"1"}`),
		"counters in counters":  runLine + trial(`,"counters":{"a":{"b":1}}`),
		"a list of counters":    runLine + trial(`,"counters":[1,2]`),
		"a number of counters":  runLine + trial(`,"counters":12`),
		"endpoints of nothing":  runLine + trial(`,"endpoints":[{"mtu":-5}]`),
		"endpoints of a kind":   runLine + trial(`,"endpoints":{"mtu":5}`),
		"a slice of nothing":    runLine + trial(`,"slices":[{"at_s":-5}]`),
		"a version of a kind":   runLine + trial(`,"schema_version":"one"`),
		"a type twice":          runLine + trial(`,"type":"end"`),
		"a cell twice":          runLine + trial(`,"cell":{}`),
		"endpoints twice":       runLine + trial(`,"endpoints":[],"endpoints":[]`),
		"no cell":               runLine + trialLine + `{"type":"trial","cell":{},"round":1,"status":"ok"}` + "\n",
		"the second is wrong":   runLine + trialLine + strings.Replace(trialLine, `"round":1`, `"round":0`, 1) + trialLine + `{"type":"?"}` + "\n",
		"a second run":          runLine + trialLine + runLine,
		"a trial first":         trialLine + trialLine,
		"not JSON":              runLine + trialLine + `{"type":"trial",` + "\n",
		"a line too long":       runLine + trialLine + strings.Repeat("x", 16<<20+1),
		"nothing":               "",
	} {
		t.Run(name, func(t *testing.T) {
			whole, err := record.Read(strings.NewReader(text))
			agree(t, []byte(text), whole, err)
		})
	}
}

// TestEachTrialIsFinishedOnce has more trials than are decoded at once.
func TestEachTrialIsFinishedOnce(t *testing.T) {
	const trials = 20_000
	odd := `{"round":1,` + cellKey + `,"status":"ok","type":"trial"}` + "\n"
	path := filepath.Join(t.TempDir(), "run")
	iferr.Fatal(t, os.WriteFile(path, []byte(runLine+strings.Repeat(trialLine, trials-1)+odd), 0o600))
	var mu sync.Mutex
	n := 0
	f, err := record.ReadFigures(path, func(trial *record.Trial) {
		mu.Lock()
		defer mu.Unlock()
		n++
		trial.Order = n
	})
	iferr.Fatal(t, err)
	seen := map[int]bool{}
	for _, trial := range f.Trials {
		seen[trial.Order] = true
	}
	if n != trials || len(seen) != trials || seen[0] {
		t.Errorf("%d of %d trials were finished, %d are there", n, trials, len(seen))
	}
}
