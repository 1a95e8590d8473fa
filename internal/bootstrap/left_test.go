package bootstrap_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"nettoll/internal/bootstrap"
	"nettoll/internal/testutil/iferr"
)

// TestFolders kills shells that are to receive an agent, before it comes and while it comes: their folders are found as
// soon as nobody uses them any more, and removed. Folders of others are not touched.
func TestFolders(t *testing.T) {
	for _, name := range []string{"nettoll-other", "nettoll-123456789", "nettoll-ABCDEF"} {
		dir := t.TempDir()
		iferr.Fatal(t, os.MkdirAll(filepath.Join(dir, name, "data"), 0o755))
		if found, err := bootstrap.FoldersIn([]string{dir}); err != nil || len(found) > 0 {
			t.Errorf("of others: %v, %v", found, err)
		}
	}
	for name, sent := range map[string]string{"before it comes": "", "while it comes": "1000 abc\nxyz"} {
		t.Run(name, func(t *testing.T) {
			dir, mark := t.TempDir(), bootstrap.Mark()
			p := shell(t, "", mark, dir)
			for said := ""; !strings.Contains(said, mark+" send\n"); {
				b := make([]byte, 256)
				n, err := p.Stdout().Read(b)
				if said += string(b[:n]); err != nil {
					t.Fatalf("%q, %v", said, err)
				}
			}
			if _, err := fmt.Fprint(p.Stdin(), sent); err != nil {
				t.Fatal(err)
			}
			found, err := bootstrap.FoldersIn([]string{"/nonexistent", dir})
			if err != nil || len(found) != 1 || !found[0].Busy || !strings.HasPrefix(found[0].Path, dir+"/nettoll-") {
				t.Fatalf("found %v, %v", found, err)
			}
			want := []bootstrap.Folder{{Path: found[0].Path}}
			iferr.Fatal(t, unix.Kill(p.PID(), unix.SIGKILL))
			_ = p.Wait()
			_ = p.Stdin().Close() // for the programs that it has started
			for began := time.Now(); !reflect.DeepEqual(found, want); time.Sleep(10 * time.Millisecond) {
				if found, err = bootstrap.FoldersIn([]string{dir}); err != nil || time.Since(began) > time.Minute {
					t.Fatalf("found %v, %v, want %v", found, err, want)
				}
			}
			for range 2 { // as where two places are one
				iferr.Error(t, found[0].Remove())
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("left %v, %v", left, err)
			}
		})
	}
}

func TestLost(t *testing.T) {
	for _, c := range []struct {
		state  string
		parent int
		want   bool
	}{{"S", 17, false}, {"T", 17, true}, {"S", 1, true}} {
		if bootstrap.Lost(procfs.ProcStat{State: c.state, PPID: c.parent}) != c.want {
			t.Errorf("%s with the parent %d: want %v", c.state, c.parent, c.want)
		}
	}
}
