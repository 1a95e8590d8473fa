package rootfs

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"nettoll/internal/testutil/iferr"
)

// built returns the build info of a program with the given settings.
func built(version, sum string, settings ...string) *debug.BuildInfo {
	info := &debug.BuildInfo{Main: debug.Module{Path: "nettoll", Version: version, Sum: sum}}
	for i := 0; i < len(settings); i += 2 {
		info.Settings = append(info.Settings, debug.BuildSetting{Key: settings[i], Value: settings[i+1]})
	}
	return info
}

func TestSameSource(t *testing.T) {
	clean := func(revision string) *debug.BuildInfo {
		return built("(devel)", "", "vcs.revision", revision, "vcs.modified", "false")
	}
	modified := built("(devel)", "", "vcs.revision", "a", "vcs.modified", "true")
	tagged := func(tag string) *debug.BuildInfo {
		return built("(devel)", "", "-tags", "other,source_"+tag, "vcs.revision", "a", "vcs.modified", "true")
	}
	for what, c := range map[string]struct {
		a, b *debug.BuildInfo
		want bool
	}{
		"one commit":           {clean("a"), clean("a"), true},
		"two commits":          {clean("a"), clean("b"), false},
		"modified":             {modified, modified, false},
		"modified since":       {clean("a"), modified, false},
		"one hash":             {tagged("x"), tagged("x"), true},
		"two hashes":           {tagged("x"), tagged("y"), false},
		"a hash and a commit":  {tagged("x"), clean("a"), false},
		"one release":          {built("v1.2.3", "h1:x="), built("v1.2.3", "h1:x="), true},
		"two releases":         {built("v1.2.3", "h1:x="), built("v1.2.4", "h1:y="), false},
		"nothing is known":     {built("(devel)", ""), built("(devel)", ""), false},
		"a folder of a module": {built("v1.2.3", ""), built("v1.2.3", ""), false},
	} {
		if got := sameSource(c.a, c.b); got != c.want {
			t.Errorf("%s: %v", what, got)
		}
	}
}

// TestSameProgram builds a program as make does, and checks that it is taken for the agent of the same source.
func TestSameProgram(t *testing.T) {
	dir := t.TempDir()
	agent := filepath.Join(dir, agentName)
	info := func(tag string) *debug.BuildInfo { return built("(devel)", "", "-tags", tag) }
	if sameProgram(agent, info("source_1")) {
		t.Error("there is no agent, and it is taken")
	}
	for name, text := range map[string]string{"go.mod": "module x\n", "main.go": "package main\n\nfunc main() {}\n"} {
		iferr.Fatal(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-tags", "source_1", "-o", agentName)
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if !sameProgram(agent, info("source_1")) {
		t.Error("the agent of its equal is not taken")
	}
	if sameProgram(agent, info("source_2")) {
		t.Error("an agent of another source is taken")
	}
}

// TestAgent checks that a program that has no agent next to it is used itself.
func TestAgent(t *testing.T) {
	p, err := Agent()
	iferr.Fatal(t, err)
	if p.Path != AgentPath || !same(p.File, selfFile) || p.File == selfFile {
		t.Errorf("%+v", p)
	}
}

// TestAgentForOthers asks for an agent of an architecture for which there is none.
func TestAgentForOthers(t *testing.T) {
	_, err := AgentFor("s390x")
	if err == nil || !strings.Contains(err.Error(), "put nettoll-agent of the release for s390x next to nettoll, as nettoll-agent-s390x") {
		t.Errorf("error %v", err)
	}
}
