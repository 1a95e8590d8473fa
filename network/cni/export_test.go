package cni

import "time"

// Within gives plugins less time.
func (t Technique) Within(d time.Duration) Technique {
	t.patience = d
	return t
}

// Parse is for tests of texts.
var Parse = parse
