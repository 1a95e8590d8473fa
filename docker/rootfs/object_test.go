package rootfs

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"io"
	"slices"
	"strings"
	"testing"
)

func TestObjectSaysWhatItLoads(t *testing.T) {
	for _, a := range bothClasses {
		o, err := read(elfFile{
			arch: a, interp: "/lib/ld.so.1", needed: []string{"libfoo.so.1", "libc.so.6"},
			rpath: "/opt/a", runpath: "$ORIGIN/../lib:/opt/b", debug: "symbols",
		})
		if err != nil {
			t.Fatalf("%v: %v", a, err)
		}
		if o.arch != a || !o.entry || o.interp != "/lib/ld.so.1" {
			t.Errorf("%v: %+v", a, o)
		}
		if !slices.Equal(o.needed, []string{"libfoo.so.1", "libc.so.6"}) || !slices.Equal(o.rpath, []string{"/opt/a"}) ||
			!slices.Equal(o.runpath, []string{"$ORIGIN/../lib", "/opt/b"}) {
			t.Errorf("%v: needs %q by %q and %q", a, o.needed, o.rpath, o.runpath)
		}
	}
}

// TestStrip keeps what is loaded, reads the same afterwards, and does not touch what
// has data of its own.
func TestStrip(t *testing.T) {
	for _, a := range bothClasses {
		plain := elfFile{arch: a, interp: "/lib/ld.so.1", needed: []string{"libfoo.so.1"}}
		withSymbols, withData := plain, plain
		withSymbols.debug = strings.Repeat("symbols", 100)
		withData.debug, withData.payload = withSymbols.debug, "a script of its own"

		o, err := read(withSymbols)
		if err != nil {
			t.Fatal(err)
		}
		stripped := slices.Concat(o.head, withSymbols.build()[len(o.head):o.size])
		if !bytes.Equal(stripped, plain.build()) {
			t.Errorf("%v: stripped of its symbols the file is not what it is without", a)
		}
		again, err := readObject(bytes.NewReader(stripped), int64(len(stripped)))
		if err != nil || !slices.Equal(again.needed, o.needed) || again.size != o.size {
			t.Errorf("%v: after stripping it is %+v, %v", a, again, err)
		}
		whole, err := read(withData)
		if b := withData.build(); err != nil || whole.size != int64(len(b)) || !bytes.Equal(whole.head, b[:len(whole.head)]) {
			t.Errorf("%v: a file with data at its end was changed, or: %v", a, err)
		}
	}
}

func TestObjectRefuses(t *testing.T) {
	good := elfFile{arch: bothClasses[0], needed: []string{"libfoo.so.1"}}.build()
	table := binary.LittleEndian.AppendUint64(nil, uint64(address+bytes.Index(good, []byte("\x00libfoo.so.1"))))
	for what, c := range map[string]struct {
		b    []byte
		want string
	}{
		"text":    {[]byte("hello, world"), errNotELF.Error()},
		"nothing": {nil, errNotELF.Error()},
		"header":  {good[:20], "broken ELF file"},
		"half":    {good[:len(good)-1], "cut off"},
		"names":   {bytes.Replace(good, table, []byte("nowhere!"), 1), "no segment is loaded"},
	} {
		o, err := readObject(bytes.NewReader(c.b), int64(len(c.b)))
		switch {
		case err == nil:
			t.Errorf("%s: no error, but %+v", what, o)
		case !strings.Contains(err.Error(), c.want):
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
	}
}

// FuzzObject wants no panic, and nothing beyond the end of a file.
func FuzzObject(f *testing.F) {
	for _, a := range bothClasses {
		e := elfFile{arch: a, interp: "/lib/ld.so.1", needed: []string{"libfoo.so.1"}, runpath: "$ORIGIN", debug: "symbols"}
		f.Add(e.build())
	}
	f.Add([]byte(elf.ELFMAG))
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := readObject(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		if o.size > int64(len(b)) || int64(len(o.head)) > o.size {
			t.Errorf("%d bytes of %d, a header of %d", o.size, len(b), len(o.head))
		}
		if _, err := io.Copy(io.Discard, io.NewSectionReader(bytes.NewReader(b), 0, o.size)); err != nil {
			t.Error(err)
		}
	})
}
