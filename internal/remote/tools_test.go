package remote_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"nettoll/docker/rootfs"
	"nettoll/internal/bootstrap"
	"nettoll/internal/remote"
	"nettoll/internal/testutil/iferr"
	"nettoll/platform"
	"nettoll/platform/platformtest"
)

// TestSend sends a program to machines that have it, have another one under its name, or have none.
func TestSend(t *testing.T) {
	path, err := exec.LookPath("nsenter")
	platformtest.Require(t, "nsenter", err)
	another, none := "mount --bind /bin/true "+path, "mount --bind /dev/null "+path
	script := func(string) ([]string, error) { return nil, errors.New("it is a script") }
	for name, c := range map[string]struct {
		changes string
		files   func(string) ([]string, error)
		alone   bool
		sent    bool
		refused string
	}{
		"the same":                   {files: rootfs.Files, alone: true},
		"another":                    {changes: another, files: rootfs.Files, alone: true, sent: true},
		"another, and data is taken": {changes: another, files: rootfs.Files},
		"another, and a script":      {changes: another, files: script, alone: true},
		"none":                       {changes: none, files: rootfs.Files, alone: true, sent: true},
		"none, and data is taken":    {changes: none, files: rootfs.Files, refused: "that of this machine cannot be sent: it needs other files, too"},
		"none, and a script": {
			changes: none, files: script, alone: true,
			refused: "nsenter on h1: not supported here (needs the program " + path + " there): that of this machine cannot be sent: it is a script",
		},
	} {
		t.Run(name, func(t *testing.T) {
			tools := &bootstrap.Tools{Files: c.files}
			h, _ := thereWith(t, c.changes, tools)
			files, err := h.Facts().Send(t.Context(), path, c.alone)
			if c.refused != "" {
				if !errors.Is(err, platform.ErrUnsupported) || !strings.Contains(err.Error(), c.refused) {
					t.Errorf("error %v", err)
				}
				return
			}
			if err != nil || len(files) > 0 != c.sent {
				t.Fatalf("sent %q, %v", files, err)
			}
			for _, file := range files { // nothing has a name
				if !strings.HasPrefix(file, "/proc/") {
					t.Errorf("it is in %s", file)
				}
				p := run(t, h, "cat "+file+" | wc -c; : >"+file)
				if err := p.Wait(); err == nil || !strings.Contains(err.Error(), "not permitted") {
					t.Errorf("%s can be changed: %v", file, err)
				}
			}
			tools.Files = nil // nothing is looked for again
			if again, err := h.Facts().Send(t.Context(), path, c.alone); err != nil || strings.Join(again, " ") != strings.Join(files, " ") {
				t.Errorf("sent again as %q, %v", again, err)
			}
		})
	}
	if h, _ := there(t); h.Facts().Send != nil {
		t.Error("a machine gets programs, and there are no tools for it")
	}
}

// TestUnpack has a program that arrives whole, and one that is another than was announced.
func TestUnpack(t *testing.T) {
	const text = "a program"
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
	pack := func() io.Reader {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, err := io.WriteString(w, text)
		iferr.Fatal(t, errors.Join(err, w.Close()))
		return &b
	}
	f, err := remote.Unpack(pack(), sum)
	iferr.Fatal(t, err)
	defer f.Close()
	if got, err := os.ReadFile(fmt.Sprintf("/proc/self/fd/%d", f.Fd())); err != nil || string(got) != text {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := remote.Unpack(pack(), strings.Repeat("0", len(sum))); err == nil || err.Error() != "receive a program: its SHA-256 differs" {
		t.Error(err)
	}
}
