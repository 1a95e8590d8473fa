package bootstrap

import "time"

// WatchIn is Watch with another way to end the program.
var WatchIn = watch

// ScriptIn is Script with other folders.
func ScriptIn(mark string, places string) string { return scriptIn(mark, places) }

// SetStill sets how long the other machine may be silent, until the function returned is called.
func SetStill(d time.Duration) func() {
	was := stillTime
	stillTime = d
	return func() { stillTime = was }
}

// SetTidy sets how long a shell has to remove what it made, until the function returned is called.
func SetTidy(d time.Duration) func() {
	was := tidyTime
	tidyTime = d
	return func() { tidyTime = was }
}

// FoldersIn is Folders with other places.
var FoldersIn = foldersIn

// Lost is the function that decides Agent.Lost.
var Lost = lost
