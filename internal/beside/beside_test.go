package beside

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nettoll/internal/testutil/iferr"
)

func TestFind(t *testing.T) {
	const me, nobody = 0, 65534
	if os.Geteuid() != me {
		t.Skip("files of others are made by root")
	}
	write := func(path string, mode fs.FileMode) {
		t.Helper()
		iferr.Fatal(t, errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, mode)))
	}
	folder := func(path string, mode fs.FileMode) {
		t.Helper()
		iferr.Fatal(t, errors.Join(os.Mkdir(path, 0o700), os.Chmod(path, mode)))
	}
	give := func(path string, uid, gid int) {
		t.Helper()
		iferr.Fatal(t, os.Lchown(path, uid, gid))
	}
	for _, c := range []struct {
		name string
		make func(above, dir string) // makes the file, for nettoll in dir, a folder in above
		own  []uint32
		want string // of the error; empty is none
	}{
		{"mine", func(_, dir string) { write(dir+"/x", 0o755) }, nil, ""},
		{"none", func(string, string) {}, nil, "file does not exist"},
		{"somebody's file", func(_, dir string) { write(dir+"/x", 0o755); give(dir+"/x", nobody, 0) }, nil, "DIR/x is ignored: DIR/x belongs to nobody"},
		{"the file of the owner of nettoll", func(_, dir string) { write(dir+"/x", 0o755); give(dir+"/x", nobody, 0) }, []uint32{nobody}, ""},
		{"everybody's file", func(_, dir string) { write(dir+"/x", 0o777) }, nil, "everybody may write to DIR/x"},
		{"a group's file", func(_, dir string) { write(dir+"/x", 0o775); give(dir+"/x", me, 12) }, nil, "a group may write to DIR/x"},
		{"a file of root's group", func(_, dir string) { write(dir+"/x", 0o775) }, nil, ""},
		{"somebody's folder", func(_, dir string) { write(dir+"/x", 0o755); give(dir, nobody, 0) }, nil, "DIR belongs to nobody"},
		{"everybody's folder", func(_, dir string) { write(dir+"/x", 0o755); _ = os.Chmod(dir, 0o777) }, nil, "everybody may write to DIR"},
		{"a folder like /tmp", func(_, dir string) { write(dir+"/x", 0o755); _ = os.Chmod(dir, 0o777|fs.ModeSticky) }, nil, "everybody may write to DIR"},
		{"in somebody's folder", func(above, dir string) { write(dir+"/x", 0o755); give(above, nobody, 0) }, nil, "ABOVE belongs to nobody"},
		{"in everybody's folder", func(above, dir string) { write(dir+"/x", 0o755); _ = os.Chmod(above, 0o777) }, nil, "everybody may write to ABOVE"},
		{"in a folder like /tmp", func(above, dir string) { write(dir+"/x", 0o755); _ = os.Chmod(above, 0o777|fs.ModeSticky) }, nil, ""},
		{"a link to mine", func(above, dir string) { write(above+"/y", 0o755); _ = os.Symlink("../y", dir+"/x") }, nil, ""},
		{"a link to somebody's", func(above, dir string) {
			write(above+"/y", 0o755)
			give(above+"/y", nobody, 0)
			_ = os.Symlink("../y", dir+"/x")
		}, nil, "ABOVE/y belongs to nobody"},
		{"a link into everybody's folder", func(above, dir string) {
			folder(above+"/open", 0o777)
			write(above+"/open/y", 0o755)
			_ = os.Symlink(above+"/open/y", dir+"/x")
		}, nil, "everybody may write to ABOVE/open"},
		{"links in a circle", func(_, dir string) { _ = os.Symlink("x", dir+"/x") }, nil, "too many links"},
	} {
		t.Run(c.name, func(t *testing.T) {
			above := t.TempDir()
			dir := filepath.Join(above, "dir")
			folder(dir, 0o755)
			c.make(above, dir)
			path, err := find(filepath.Join(dir, "nettoll"), "x", append(c.own, me))
			want := strings.NewReplacer("DIR", dir, "ABOVE", above).Replace(c.want)
			if c.want == "" && (err != nil || path != dir+"/x") || c.want != "" && (err == nil || !strings.HasSuffix(err.Error(), want)) {
				t.Errorf("%s, %v; want %q", path, err, want)
			}
		})
	}
}

func TestOwners(t *testing.T) {
	self, err := os.Executable()
	iferr.Fatal(t, err)
	if all := owners(self); len(all) < 3 || all[0] != 0 || all[1] != uint32(os.Geteuid()) {
		t.Errorf("owners are %v", all)
	}
	if path, err := Find(filepath.Base(self)); err != nil || path != self {
		t.Errorf("the test program itself is %s, %v", path, err)
	}
}
