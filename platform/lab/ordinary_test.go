package lab

import "testing"

func TestOrdinary(t *testing.T) {
	for users, want := range map[string]bool{
		"         0       1000          1\n":                                   true,
		"         0          0 4294967295\n":                                   false, // the machine's own
		"         0          0          1\n":                                   false, // root of a container without privileges
		"         0     100000      65536\n":                                   false, // a container whose users are mapped
		"         0       1000          1\n         1     100000      65536\n": false, // likewise, of an ordinary user
		"": false,
	} {
		if got := ordinary(users); got != want {
			t.Errorf("%q: %t", users, got)
		}
	}
}
