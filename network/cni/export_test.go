package cni

import (
	"time"

	"nettoll/network"
)

// Hurried is New with a shorter time limit for plugins.
func Hurried(list *Conflist, in Folders, patience time.Duration) network.Driver {
	v := users(list, in)
	v.patience = patience
	return v.driver()
}

// Parse exports parse for tests of texts.
var Parse = parse
