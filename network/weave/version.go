package weave

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strings"

	"nettoll/internal/program"
	"nettoll/platform"
)

// weaver is the program.
type weaver struct {
	path    string
	version string // "2.8.1", or whatever a build of the user's own says
}

const get = "get weaver of Weave Net 2.x, such as /home/weave/weaver of the image weaveworks/weave"

// find gives the program, if it is one that can be run here.
func (t variant) find(ctx context.Context) (w weaver, err error) {
	if w.path, err = t.paths.Locate("weaver", get); err != nil {
		return w, err
	}
	if _, err := exec.LookPath("iptables"); err != nil { // weaver runs it as it is in PATH
		return w, &platform.Unsupported{Feature: "weaver", Option: "the program iptables", Remedy: "apt install iptables", Err: err}
	}
	said, err := program.Say(ctx, w.path, "--version")
	if err != nil {
		return w, err
	}
	if w.version, err = version(said); err != nil {
		return w, &platform.Unsupported{
			Feature: "weaver", Option: "the program weaver of Weave Net 2.x", Remedy: get + ", and name it by --tool-path weaver=FILE",
			Err: fmt.Errorf("%s: %w", w.path, err),
		}
	}
	return w, nil
}

// told is how weaver answers --version: 1.x says "weave router 1.9.8", 2.x "weave 2.8.1",
// and builds without a number "weave unreleased", "weave git-0123456789ab".
var told = regexp.MustCompile(`(?m)^weave (router )?(\S+)`)

// version reads it. Weave Net 1.x has other flags and leaves the bridge to a script.
func version(said string) (string, error) {
	m := told.FindStringSubmatch(said)
	if m == nil {
		line, _, _ := strings.Cut(said, "\n")
		return "", fmt.Errorf("it is not weaver: asked for its version it says %.100q", line)
	}
	v := strings.Trim(m[2], "()")
	number := v != "" && v[0] >= '0' && v[0] <= '9'
	if m[1] != "" || number && !strings.HasPrefix(v, "2.") {
		return "", fmt.Errorf("it is of the version %s, and 2.x is known to work", v)
	}
	return v, nil
}
