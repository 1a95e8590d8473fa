// Package program is the one skeleton of tools that are programs. A tool is a Tool: what its
// programs are called, what it drives, the arguments of a server and a client, and a parser of
// what they print. This package has the servers and clients started by the agents of their
// endpoints, all clients at once, watches their CPU time over the window, bounds their lives,
// brings back what they printed, and puts together what the clients measured. It works wherever
// an agent runs.
package program
