package cni

import (
	"time"

	"nettoll/network"
)

// Hurried is a conflist of the user's whose plugins have less time.
func Hurried(list *Conflist, in Folders, patience time.Duration) network.Driver {
	v := users(list, in)
	v.patience = patience
	return v.driver()
}

// Parse is for tests of texts.
var Parse = parse
