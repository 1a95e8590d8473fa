package origin

import (
	"runtime/debug"
	"testing"
)

func TestTexts(t *testing.T) {
	const hash = "0123456789abcdef0123456789abcdef01234567"
	for name, c := range map[string]struct {
		released, module, sum string
		settings              []debug.BuildSetting
		short, long           string
	}{
		"a release": {
			"1.2.3", "(devel)", "", []debug.BuildSetting{{Key: "vcs.revision", Value: hash}, {Key: "vcs.modified", Value: "false"}},
			"1.2.3", "1.2.3, commit 0123456789ab, go1.26.0",
		},
		"a release of changed files": {
			"1.2.3", "(devel)", "", []debug.BuildSetting{{Key: "vcs.revision", Value: hash}, {Key: "vcs.modified", Value: "true"}},
			"1.2.3", "1.2.3, commit 0123456789ab with changes, go1.26.0",
		},
		"a release without a repository": {"1.2.3", "(devel)", "", nil, "1.2.3", "1.2.3, commit unknown, go1.26.0"},
		"a module":                       {"", "v1.2.3", "h1:x", nil, "v1.2.3", "v1.2.3, commit unknown, go1.26.0"},
		"a commit": {
			"", "v0.0.0-20260102150405-0123456789ab", "", []debug.BuildSetting{{Key: "vcs.revision", Value: hash}, {Key: "vcs.modified", Value: "false"}},
			"devel-0123456789ab", "devel, commit 0123456789ab, go1.26.0",
		},
		"a commit and changes": {
			"", "(devel)", "", []debug.BuildSetting{{Key: "vcs.revision", Value: hash}, {Key: "vcs.modified", Value: "true"}},
			"devel-0123456789ab-modified", "devel, commit 0123456789ab with changes, go1.26.0",
		},
		"nothing is known": {"", "(devel)", "", nil, "devel", "devel, commit unknown, go1.26.0"},
	} {
		t.Run(name, func(t *testing.T) {
			b := read(&debug.BuildInfo{
				GoVersion: "go1.26.0", Main: debug.Module{Path: "nettoll", Version: c.module, Sum: c.sum}, Settings: c.settings,
			}, c.released)
			if b.short() != c.short || b.long() != c.long {
				t.Errorf("%q and %q, want %q and %q", b.short(), b.long(), c.short, c.long)
			}
		})
	}
}
