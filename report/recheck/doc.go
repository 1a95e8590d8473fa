// Package recheck computes reports anew from their run files, by a program of its own that shares
// nothing with the one that wrote them: its tests import the standard library alone.
package recheck
