package rootfs

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"nettoll/internal/beside"
)

// AgentPath is the path in an image of the program that serves as its agent.
const AgentPath = "/nettoll"

// agentName is the program that contains only the agent, and is much smaller than nettoll.
const agentName = "nettoll-agent"

// Agent returns the program that images have at AgentPath: nettoll-agent if it is next to the running
// program, nobody else could have put it there, and it was built from the same source; otherwise the
// running program itself. Both serve with the argument "agent".
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
	if !same(self, selfFile) { // it was replaced while running
		self = selfFile
	}
	return Program{File: self, Path: AgentPath}, nil
}

// AgentFor returns the agent for machines of an architecture, as Go names it: Agent for those of this one, and otherwise
// nettoll-agent-ARCH, under the same conditions as nettoll-agent.
func AgentFor(arch string) (Program, error) {
	if arch == runtime.GOARCH {
		return Agent()
	}
	name := agentName + "-" + arch
	file, err := beside.Find(name)
	if errors.Is(err, fs.ErrNotExist) {
		return Program{}, fmt.Errorf("there is no agent for it; put nettoll-agent of the release for %s next to nettoll, as %s", arch, name)
	}
	if err != nil {
		return Program{}, err
	}
	if info, ok := debug.ReadBuildInfo(); !ok || !sameProgram(file, info) {
		return Program{}, fmt.Errorf("%s is of another version than nettoll; use that of the same release", file)
	}
	return Program{File: file, Path: AgentPath}, nil
}

// sameProgram reports whether a file is a program that was built from the same source as info's.
func sameProgram(file string, info *debug.BuildInfo) bool {
	agent, err := buildinfo.ReadFile(file)
	return err == nil && sameSource(info, agent)
}

// sourceTag is the prefix of the build tag in which make identifies the source.
const sourceTag = "source_"

// sameSource reports whether two programs are known to be built from the same source. Parameters of an
// agent's methods have no version of their own, and a field that one end does not know would silently
// be zero. So sources that are not known count as different. A source is known by a commit, unless files
// were modified, by the version of a released module, and by the hash over the source that make puts
// into a build tag.
func sameSource(a, b *debug.BuildInfo) bool {
	s, known := source(a)
	t, alsoKnown := source(b)
	return known && alsoKnown && s == t
}

// source identifies the source of a program, if that is possible.
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
	version := info.Main.Version // of a downloaded module with a verified sum
	return info.Main.Path + "@" + version, info.Main.Sum != "" && version != ""
}
