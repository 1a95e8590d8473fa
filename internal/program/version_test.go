package program

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"nettoll/internal/testutil/iferr"
	"nettoll/platform"
	"nettoll/record"
)

var number = regexp.MustCompile(`^v(\d\S*)$`)

// printing makes a program that prints a text when it is asked for its version, and otherwise succeeds.
func printing(t *testing.T, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "program")
	iferr.Fatal(t, os.WriteFile(path, []byte("#!/bin/sh\n[ \"$1\" != -V ] || echo '"+text+"'\n"), 0o755))
	return path
}

// TestVersion has a client and a server that print versions.
func TestVersion(t *testing.T) {
	says := func(text string) string { return printing(t, text) }
	answer := Program{Name: "answer", Flag: "-V", Says: number}
	for _, c := range []struct{ client, server, oldest, want, err string }{
		{"v3.12", "v3.12", "", "3.12", ""},
		{"v3.12", "v3.2-1", "3.7", "3.12+answer-3.2-1", ""},
		{"v3.7", "v3.7", "3.7", "3.7", ""},
		{"v3.6", "v3.6", "3.7", "", "ask: not supported here (needs ask 3.7 or later): FILE is version 3.6"},
		{"v2.99", "v2.99", "3.7", "", "FILE is version 2.99"},
		{"hello", "v3", "3.7", "", `FILE is not ask 3.7 or later: it reports its version as "hello"`},
		{"hello", "v3", "", "", `FILE -V printed "hello", which is not a version`},
		{"v3", "hello", "", "", `-V printed "hello", which is not a version`},
	} {
		client := says(c.client)
		ask := Program{Name: "ask", Package: "asking", Flag: "-V", Says: number, Oldest: c.oldest, Tested: "3.12"}
		tool := Tool{Name: "ask", Programs: []Program{ask, answer}}.At(Paths{"ask": client, "answer": says(c.server)})
		v, err := tool.Version(t.Context())
		if v != c.want || err == nil && c.err != "" || err != nil && !strings.Contains(err.Error(), strings.ReplaceAll(c.err, "FILE", client)) {
			t.Errorf("%+v: %q, %v", c, v, err)
		}
		var why *platform.Unsupported
		if c.oldest != "" && err != nil && (!errors.As(err, &why) || why.Remedy != "apt install asking, or give its path with --tool-path ask=FILE; tested with 3.12") {
			t.Errorf("%+v: %v", c, err)
		}
	}
	silent := Tool{Name: "ask", Programs: []Program{{Name: "ask", Flag: "-V", Says: number}, {Name: "answer"}}}.At(Paths{"ask": says("v1"), "answer": "/bin/true"})
	if v, err := silent.Version(t.Context()); v != "1" || err != nil {
		t.Errorf("a server that is not asked: %q, %v", v, err)
	}
}

// TestOtherVersion has an endpoint with another file under the program's path.
func TestOtherVersion(t *testing.T) {
	here := printing(t, "v3.12")
	for _, c := range []struct{ there, oldest, warning, err string }{
		{there: here},
		{there: printing(t, "v3.12")}, // an equal file
		{there: "/nonexistent/program"},
		{there: printing(t, "v3.18"), warning: "ask on h1 is the one found there: version 3.18, not 3.12 as here"},
		{there: printing(t, "v3.6"), warning: "ask on h1 is the one found there: version 3.6, not 3.12 as here"},
		{there: printing(t, "v3.6"), oldest: "3.7", err: "ask on h1: not supported here (needs ask 3.7 or later there): HERE is version 3.6"},
		{there: printing(t, "hello"), err: `HERE -V printed "hello", which is not a version`},
	} {
		e := newEndpoint(t, "c")
		for _, method := range []string{methodSum, methodSay} {
			serve := e.handlers[method]
			e.handlers[method] = func(ctx context.Context, params json.RawMessage) (any, error) {
				return serve(ctx, json.RawMessage(strings.ReplaceAll(string(params), here, c.there)))
			}
		}
		j, _ := job()
		o, err := Run(t.Context(), j, Trial{
			Clients: []Client{{Endpoint: e, Command: Command{Path: here}}, {Endpoint: e, Command: Command{Path: here}}}, Window: moment,
			Programs: map[string]Program{here: {Name: "ask", Flag: "-V", Says: number, Oldest: c.oldest, Tested: "3.12"}},
		})
		if want := strings.ReplaceAll(c.err, "HERE", here); err == nil && want != "" || err != nil && (want == "" || !strings.Contains(err.Error(), want)) {
			t.Errorf("%+v: %v", c, err)
		}
		if err != nil && !errors.Is(err, platform.ErrUnsupported) {
			t.Errorf("%+v: a defect: %v", c, err)
		}
		said := record.Those(o.Warnings, func(w record.Warning) bool { return w.Code != "not-synchronous" }) // two clients start apart on a busy machine
		if len(said) > 1 || len(said) == 1 != (c.warning != "") || c.warning != "" && said[0].Text != c.warning {
			t.Errorf("%+v: %+v", c, o.Warnings)
		}
	}
}

func TestOlder(t *testing.T) {
	for versions, want := range map[[2]string]bool{
		{"3.6", "3.7"}: true, {"3.7", "3.7"}: false, {"3.12", "3.7"}: false, {"3.7.1", "3.7"}: false,
		{"6.0.16", "6.2"}: true, {"14.11", "15"}: true, {"15.18", "15"}: false, {"18beta1", "15"}: false, {"", "15"}: true,
	} {
		if got := older(versions[0], versions[1]); got != want {
			t.Errorf("%q older than %q: %v", versions[0], versions[1], got)
		}
	}
}
