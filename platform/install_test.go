package platform

import "testing"

// TestLikeDebian checks where a remedy may be a command of apt.
func TestLikeDebian(t *testing.T) {
	for text, want := range map[string]bool{
		"PRETTY_NAME=\"Debian GNU/Linux 13\"\nID=debian\n":          true,
		"ID=ubuntu\nID_LIKE=debian\n":                               true,
		"ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n":                 true,
		"NAME=\"Fedora Linux\"\nID=fedora\nHOME_URL=\"debian.org\"": false,
		"ID=nixos": false,
		"":         false,
	} {
		if got := likeDebian(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
