package remote

import "time"

// SetLastWords changes how long the outputs of a process are copied after it has ended, and returns the function that undoes
// that.
func SetLastWords(long time.Duration) (undo func()) {
	was := lastWords
	lastWords = long
	return func() { lastWords = was }
}

// Unpack is what receives a program.
var Unpack = unpack
