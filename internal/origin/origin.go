// Package origin says what the running program was built from.
package origin

import (
	"fmt"
	"runtime/debug"
	"time"
)

// version is set when a release is linked, by .ci/release.
var version string

// hashLength is how much of a commit's hash is shown.
const hashLength = 12

// build is what Go keeps in a program about how it was built.
type build struct {
	version  string // of a release, or of a module that was downloaded; empty otherwise
	commit   string
	modified bool // files differed from the commit
	time     time.Time
	goes     string
}

func read(info *debug.BuildInfo, released string) build {
	b := build{version: released, goes: info.GoVersion}
	if released == "" && info.Main.Sum != "" {
		b.version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.commit = s.Value[:min(hashLength, len(s.Value))]
		case "vcs.modified":
			b.modified = s.Value == "true"
		case "vcs.time":
			b.time, _ = time.Parse(time.RFC3339, s.Value)
		}
	}
	return b
}

func running() build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{GoVersion: "an unknown Go"}
	}
	return read(info, version)
}

// short is the version alone: that of a release, or else "devel" and the commit.
func (b build) short() string {
	switch {
	case b.version != "":
		return b.version
	case b.commit == "":
		return "devel"
	case b.modified:
		return "devel-" + b.commit + "-modified"
	}
	return "devel-" + b.commit
}

// long is the version with the commit and with what compiled it.
func (b build) long() string {
	text := b.version
	if text == "" {
		text = "devel"
	}
	switch {
	case b.commit == "":
		text += ", commit unknown"
	case b.modified:
		text += ", commit " + b.commit + " with changes"
	default:
		text += ", commit " + b.commit
	}
	return fmt.Sprintf("%s, %s", text, b.goes)
}

// Version is the version of the running program in one word, as run files keep it.
func Version() string { return running().short() }

// Text says of the running program its version, commit and Go version.
func Text() string { return running().long() }

// Time is when the commit was made; zero if that is not known.
func Time() time.Time { return running().time.UTC() }
