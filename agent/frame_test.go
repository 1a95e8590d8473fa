package agent

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"nettoll/internal/testutil/iferr"
)

func TestFrameRoundTrip(t *testing.T) {
	want := request{ID: 7, Method: "m", Params: []byte(`{"a":1}`)}
	frame, err := encodeFrame(want)
	iferr.Fatal(t, err)
	var got request
	iferr.Fatal(t, readFrame(bytes.NewReader(frame), &got))
	if got.ID != want.ID || got.Method != want.Method || string(got.Params) != string(want.Params) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestReadFrameErrors(t *testing.T) {
	for _, c := range []struct {
		name, input, want string
		is                error
	}{
		{"nothing", "", "", io.EOF},
		{"half a length", "\x00\x00", "within the length", io.ErrUnexpectedEOF},
		{"half a body", "\x00\x00\x00\x05{}", "2 of 5 bytes", io.ErrUnexpectedEOF},
		{"length alone", "\x00\x00\x00\x05", "0 of 5 bytes", io.ErrUnexpectedEOF},
		{"text of another program", "panic: oh", `begins with "pani"`, nil},
		{"just too long", "\x01\x00\x00\x01{}", "16777217 bytes announced", nil},
		{"not JSON", "\x00\x00\x00\x02{]", "decode frame", nil},
		{"empty", "\x00\x00\x00\x00", "decode frame", nil},
		{"not an object", "\x00\x00\x00\x01[", "decode frame", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var req request
			err := readFrame(strings.NewReader(c.input), &req)
			if err == nil {
				t.Fatal("no error")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %q does not say %q", err, c.want)
			}
			if c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("error %q is not %v", err, c.is)
			}
		})
	}
}

func TestEncodeFrameRefusesTooMuch(t *testing.T) {
	if _, err := encodeFrame(response{Error: strings.Repeat("x", MaxFrame)}); err == nil {
		t.Error("no error")
	}
}

func FuzzReadFrame(f *testing.F) {
	whole, err := encodeFrame(request{ID: 1, Method: "engine.start", Params: []byte(`{}`)})
	iferr.Fatal(f, err)
	f.Add(whole)
	f.Add(whole[:3])
	f.Add(append(whole, whole...))
	f.Add([]byte("\xff\xff\xff\xff"))
	f.Add([]byte("\x00\x00\x00\x04null"))
	f.Fuzz(func(t *testing.T, input []byte) {
		r := bytes.NewReader(input)
		for {
			var req request
			if err := readFrame(r, &req); err != nil {
				return
			}
			frame, err := encodeFrame(req)
			if err != nil {
				t.Fatalf("encode what was read: %v", err)
			}
			var again request
			if err := readFrame(bytes.NewReader(frame), &again); err != nil {
				t.Fatalf("read what was encoded: %v", err)
			}
			if again.ID != req.ID || again.Method != req.Method {
				t.Fatalf("got %+v, want %+v", again, req)
			}
		}
	})
}
