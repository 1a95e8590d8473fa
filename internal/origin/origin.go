// Package origin reports what the running program was built from.
package origin

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"time"
)

// version is set by .ci/release when it links a release.
var version string

// hashLength is how much of a commit's hash is shown.
const hashLength = 12

// build is what Go records in a program about how it was built.
type build struct {
	version  string // of a release, or of a downloaded module; empty otherwise
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

// short returns the version alone: that of a release, or else "devel" and the commit.
func (b build) short() string {
	text := "devel"
	if b.commit != "" {
		text += "-" + b.commit
	}
	if b.commit != "" && b.modified {
		text += "-modified"
	}
	return cmp.Or(b.version, text)
}

// long returns the version with the commit and the Go version.
func (b build) long() string {
	commit := cmp.Or(b.commit, "unknown")
	if b.commit != "" && b.modified {
		commit += " with changes"
	}
	return fmt.Sprintf("%s, commit %s, %s", cmp.Or(b.version, "devel"), commit, b.goes)
}

// Version returns the version of the running program as one word, as recorded in run files.
func Version() string { return running().short() }

// Text describes the running program by its version, commit and Go version.
func Text() string { return running().long() }

// Time returns when the commit was made, or the zero time if that is not known.
func Time() time.Time { return running().time.UTC() }
