package platform

import (
	"os"
	"slices"
	"strings"
	"sync"
)

// Install returns the remedy for what is in a package of Debian, whose name other distributions need not have.
func Install(debian string) string {
	if hasAPT() {
		return "apt install " + debian
	}
	return "install it (Debian has it in the package " + debian + ")"
}

var hasAPT = sync.OnceValue(func() bool {
	text, _ := os.ReadFile("/etc/os-release") // "" where nobody tells
	return likeDebian(string(text))
})

// likeDebian reports whether an os-release file is that of Debian, or of a distribution that is made from it.
func likeDebian(osRelease string) bool {
	for line := range strings.Lines(osRelease) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if (key == "ID" || key == "ID_LIKE") && slices.Contains(strings.Fields(strings.Trim(value, `"'`)), "debian") {
			return true
		}
	}
	return false
}
