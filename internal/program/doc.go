// Package program is what drivers of measuring programs are put together from. A
// driver says which servers and clients a trial has and what they are started
// with; this package has them started by the agents of their endpoints, all
// clients at once, watches their CPU time over the window, bounds their lives and
// brings back what they printed. It works wherever an agent runs.
package program
