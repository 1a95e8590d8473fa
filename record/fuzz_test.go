package record_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"nettoll/record"
)

// FuzzRead checks that reading anything does not panic, for reports as
// well, and that what was read can be written and read again unchanged.
func FuzzRead(f *testing.F) {
	f.Add([]byte(runLine + trialLine))
	f.Add([]byte(runLine + `{"type":"resume","started":"2026-01-02T03:04:05+01:00"}` + "\n" + `{"type":"end","reason":"precision"}` + "\n" + `{"ty`))
	f.Add([]byte(runLine + `{"type":"trial","cell":{"network":"a","tool":"b","workload":"c","family":4},"round":1,"status":"skipped","reason":"\ud800","metrics":{"a":{"value":-0}},"latency":null,"path":[]}` + "\n"))
	f.Add([]byte(`{"type":"run","Type":"run","schema_version":1,"cells":[{"network":"a","tool":"b","workload":"c","family":4,"hosts":1}],"settings":{"seed":18446744073709551615}}` + "\r\n"))
	f.Add([]byte(runLine + `{"type":"trial",` + cellKey + `,"round":1,"status":"ok","counters":{"a":1,"b\\":22},"endpoints":[{"name":"a","mtu":1500}],"path":[{"name":"a"}]}` + "\n"))
	f.Add([]byte("null\n"))
	f.Fuzz(func(t *testing.T, input []byte) {
		first, err := record.Read(bytes.NewReader(input))
		agree(t, input, first, err)
		if err != nil {
			return
		}
		if total := first.Size + first.Truncated; total != int64(len(input)) {
			t.Fatalf("%d complete and %d cut off of %d bytes", first.Size, first.Truncated, len(input))
		}
		path := filepath.Join(t.TempDir(), "run")
		if err := rewrite(path, first); err != nil {
			t.Fatalf("write what was read: %v", err)
		}
		second, err := record.ReadFile(path)
		if err != nil {
			t.Fatalf("read what was written: %v", err)
		}
		// An empty list is written as none.
		if diff := cmp.Diff(first, second, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(record.File{}, "Size", "Truncated", "Open"), cmpopts.IgnoreFields(record.Run{}, "SchemaVersion")); diff != "" {
			t.Fatalf("read again (-first +second):\n%s", diff)
		}
	})
}

// rewrite writes what was read into a new file.
func rewrite(path string, f *record.File) error {
	w, err := record.Create(path, f.Run)
	if err != nil {
		return err
	}
	for _, t := range f.Trials {
		if err := w.Trial(t); err != nil {
			return errors.Join(err, w.Close())
		}
	}
	for _, e := range f.Ends {
		if err := w.End(e); err != nil {
			return errors.Join(err, w.Close())
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	for _, r := range f.Resumes {
		w, _, err := record.Append(path, r)
		if err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
	}
	return os.Chmod(path, 0o600)
}
