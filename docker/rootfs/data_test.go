package rootfs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nettoll/internal/testutil/iferr"
)

// TestData puts files and folders into an image in addition to the programs.
func TestData(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"share/a.sql": "select 1", "share/sub/b": "b", "lib/x.so": "x", "lib/y.so": "y"} {
		iferr.Fatal(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755))
		iferr.Fatal(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	iferr.Fatal(t, os.Symlink("a.sql", filepath.Join(dir, "share/link")))
	m, err := With([]Data{Data(dir + "/share"), Data(dir + "/lib/x.so")}, self(t, AgentPath))
	iferr.Fatal(t, err)
	root := unpack(t, m)
	for name, want := range map[string]string{"share/a.sql": "select 1", "share/sub/b": "b", "share/link": "select 1", "lib/x.so": "x"} {
		path := filepath.Join(root, dir, name)
		b, err := os.ReadFile(path)
		if err != nil || string(b) != want {
			t.Errorf("%s: %q, %v", name, b, err)
		}
		if info, err := os.Stat(path); err == nil && info.Mode().Perm() != 0o644 {
			t.Errorf("%s: mode %v: others cannot read it", name, info.Mode())
		}
	}
	if _, err := os.Stat(filepath.Join(root, dir, "lib/y.so")); err == nil {
		t.Error("it has what was not asked for")
	}
	for _, bad := range []Data{"share", Data(dir + "/missing")} {
		if _, err := With([]Data{bad}, self(t, AgentPath)); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
