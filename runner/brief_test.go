package runner_test

import (
	"compress/gzip"
	"maps"
	"os"
	"testing"

	"nettoll/analysis"
	"nettoll/internal/testutil/iferr"
	"nettoll/record"
	"nettoll/runner"
)

// TestStopsByWhatIsReported checks that what the runner keeps of trials is enough to find the precision that is then reported.
func TestStopsByWhatIsReported(t *testing.T) {
	packed, err := os.Open("../docs/sample/quick.ndjson.gz")
	iferr.Fatal(t, err)
	defer packed.Close()
	unpacked, err := gzip.NewReader(packed)
	iferr.Fatal(t, err)
	file, err := record.Read(unpacked)
	iferr.Fatal(t, err)
	set := file.Run.Settings
	set.Precision = 0.05
	check := func() (reported map[string]analysis.Reached) {
		reported = analysis.Precision(file.Trials, set)
		if got := analysis.Precision(record.Each(file.Trials, runner.Brief), set); !maps.Equal(got, reported) {
			t.Errorf("the runner finds %+v\nreported is %+v", got, reported)
		}
		return reported
	}
	want := check()
	for i := range file.Trials { // as of a network that cannot take turns
		if of := &file.Trials[i]; of.Cell.Network == "vxlan" {
			of.Slices = nil
		}
	}
	if maps.Equal(check(), want) {
		t.Error("a whole trial is compared as turns are, so that the test proves nothing")
	}
	for i := range file.Trials {
		file.Trials[i].Slices = nil
	}
	if maps.Equal(analysis.Precision(file.Trials, set), want) {
		t.Error("nothing depends on slices, so that the test proves nothing")
	}
}
