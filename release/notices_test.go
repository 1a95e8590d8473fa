package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nettoll/internal/testutil/iferr"
)

func TestNotices(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		name = filepath.Join(dir, name)
		iferr.Fatal(t, os.MkdirAll(filepath.Dir(name), 0o755))
		iferr.Fatal(t, os.WriteFile(name, []byte(text), 0o644))
		return name
	}
	goes := write("go/LICENSE", "Go's")
	write("a/LICENSE.md", "that of a\r\n")
	write("a/fonts/License-font.txt", "that of a's fonts, by Andr\xe9")
	write("a/other/LICENSE", "that of what is not linked")
	write("a/license.go", "package a")
	write("ours/LICENSE", "choose one of two")
	write("ours/licenses/one.txt", "one")
	write("none/README", "no licence")
	write("github.com/golang/freetype/LICENSE", "choose one of two")
	write("github.com/golang/freetype/licenses/ftl.txt", "FTL")
	write("github.com/golang/freetype/licenses/gpl.txt", "GPL")
	line := func(module, folder string) string {
		return strings.Join([]string{module, "v1.0.0", filepath.Join(dir, module), filepath.Join(dir, module, folder)}, "\t") + "\n"
	}
	for name, c := range map[string]struct {
		in, err   string
		has, lack []string
	}{
		"of the packages that are linked": {
			in: line("a", "fonts") + line("a", ""), has: []string{"Go's", "a v1.0.0", "--- LICENSE.md\n\nthat of a\n", "--- fonts/License-font.txt\n\nthat of a's fonts, by André\n"},
			lack: []string{"not linked", "package a"},
		},
		"of those that were chosen": {
			in:  line("github.com/golang/freetype", ""),
			has: []string{"choose one of two", "\nFTL\n", "Used under the FreeType License"}, lack: []string{"GPL"},
		},
		"nobody has chosen":    {in: line("ours", ""), err: "nobody has"},
		"none":                 {in: line("a", "") + line("none", ""), err: "none v1.0.0 has no licence"},
		"nothing was named":    {err: "no modules were named"},
		"something else":       {in: "a v1.0.0\n", err: `"a v1.0.0" is not a module`},
		"a folder that is not": {in: line("b", ""), err: "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			err := writeNotices(&out, strings.NewReader(c.in), goes)
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Fatalf("%v, want %q", err, c.err)
			}
			for _, want := range c.has {
				if !strings.Contains(out.String(), want) {
					t.Errorf("it lacks %q:\n%s", want, out.String())
				}
			}
			for _, text := range c.lack {
				if strings.Contains(out.String(), text) {
					t.Errorf("it has %q", text)
				}
			}
		})
	}
}
