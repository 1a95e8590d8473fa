package rootfs

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"nettoll/internal/beside"
)

// AgentPath is where an image has the program that serves as its agent.
const AgentPath = "/nettoll"

// agentName is the program that is nothing but an agent, a third of the whole.
const agentName = "nettoll-agent"

// Agent gives the program that images have as AgentPath: nettoll-agent where it lies
// beside the running program, nobody else could have put it there, and it was built from
// the same source; else the running program itself. Both serve with the argument "agent".
func Agent() (Program, error) {
	self, err := os.Executable()
	if err != nil {
		return Program{}, fmt.Errorf("rootfs: find the running program: %w", err)
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		if file, err := beside.Find(agentName); err == nil && sameProgram(file, info) {
			return Program{File: file, Path: AgentPath}, nil
		}
	}
	if !same(self, selfFile) { // it was replaced while it runs
		self = selfFile
	}
	return Program{File: self, Path: AgentPath}, nil
}

// sameProgram says that a file is a program that was built with the one of the info.
func sameProgram(file string, info *debug.BuildInfo) bool {
	agent, err := buildinfo.ReadFile(file)
	return err == nil && sameSource(info, agent)
}

// sourceTag begins the build tag by which make says what the source was.
const sourceTag = "source_"

// sameSource is whether two programs are known to be built from one source. Parameters
// of an agent's methods have no version of their own, and a field that one end does not
// know would be zero without a word. So what is not known is taken for different: a
// commit says what the source was unless files were modified, a released module's
// version does, and so does the hash over the source that make puts into a build tag.
func sameSource(a, b *debug.BuildInfo) bool {
	s, known := source(a)
	t, alsoKnown := source(b)
	return known && alsoKnown && s == t
}

// source identifies the source of a program, if anything does.
func source(info *debug.BuildInfo) (id string, known bool) {
	setting := map[string]string{}
	for _, s := range info.Settings {
		setting[s.Key] = s.Value
	}
	for tag := range strings.SplitSeq(setting["-tags"], ",") {
		if strings.HasPrefix(tag, sourceTag) {
			return tag, true
		}
	}
	if revision := setting["vcs.revision"]; revision != "" {
		return revision, setting["vcs.modified"] == "false"
	}
	version := info.Main.Version // of a module that was downloaded, whose sum was checked
	return info.Main.Path + "@" + version, info.Main.Sum != "" && version != ""
}
