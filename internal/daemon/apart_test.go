package daemon_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nettoll/internal/daemon"
	"nettoll/internal/testutil/iferr"
	"nettoll/internal/undo"
	"nettoll/platform/lab"
)

// TestApart has a daemon that writes into folders of the machine, one of which is missing, sets a parameter, and mounts something in
// its own folder.
func TestApart(t *testing.T) {
	if !lab.AsRoot() {
		t.Skip("an ordinary user has no private engines and nodes")
	}
	var stack undo.Stack
	defer func() { iferr.Error(t, stack.Close(context.Background())) }()
	dir, err := daemon.State(&stack)
	iferr.Fatal(t, err)
	machine := t.TempDir()
	has, lacks := filepath.Join(machine, "has"), filepath.Join(machine, "some", "lacks")
	file, beside := filepath.Join(has, "file"), filepath.Join(machine, "some", "beside")
	iferr.Fatal(t, os.Mkdir(has, 0o755))
	iferr.Fatal(t, os.Mkdir(filepath.Dir(beside), 0o755))
	for _, name := range []string{file, beside} {
		iferr.Fatal(t, os.WriteFile(name, []byte("the machine's"), 0o644))
	}
	const tunable = "/proc/sys/kernel/domainname" // of the lab
	was, err := os.ReadFile(tunable)
	iferr.Fatal(t, err)
	a := daemon.Apart{Empty: []string{has, lacks}, Tunables: map[string]string{"kernel/domainname": "wanted", "kernel/nobody/has": "1"}}
	const script = `set -e
cat "$2/../beside" /proc/sys/kernel/domainname
echo own >/proc/sys/kernel/domainname
for d in "$1" "$2"; do ls -A "$d"; echo own >"$d/file"; done
mkdir "$3/mounted"
mount -t tmpfs tmpfs "$3/mounted"
echo ready >"$3/mounted/file"
exec sleep 1000`
	path, args, err := a.Command(dir, "sh", "-c", script, "sh", has, lacks, dir)
	iferr.Fatal(t, err)
	d, err := daemon.Start(t.Context(), &stack, host(t), daemon.Spec{Name: "prog", Path: path, Args: args, Ready: func(context.Context) error {
		_, err := os.Stat(filepath.Join(dir, "mounted", "file"))
		return err
	}})
	iferr.Fatal(t, err)
	if got, want := d.Log(), "the machine'swanted"; got != want {
		t.Errorf("it found %q, want %q", got, want)
	}
	if is, err := os.ReadFile(tunable); err != nil || string(is) != string(was) {
		t.Errorf("%s was %q and is %q, %v", tunable, was, is, err)
	}
	for _, name := range []string{file, beside} {
		if is, err := os.ReadFile(name); err != nil || string(is) != "the machine's" {
			t.Errorf("%s has %q, %v", name, is, err)
		}
	}
	if _, err := os.Stat(lacks); err == nil {
		t.Errorf("%s was made", lacks)
	}
	iferr.Error(t, d.Stop())
	if mounts, err := os.ReadFile("/proc/self/mounts"); err != nil || strings.Contains(string(mounts), machine) {
		t.Errorf("mounts are left: %s, %v", mounts, err)
	}
}
