package engine

import (
	"strconv"

	"github.com/prometheus/procfs"
)

// Internals of the package for its tests.
var (
	ProcessState = state
	ThisProcess  = thisProcess
)

// ProcessLabel is processLabel.
const ProcessLabel = processLabel

// LabelOf returns the value that thisProcess would return in another process.
func LabelOf(pid string) (string, error) {
	n, err := strconv.Atoi(pid)
	if err != nil {
		return "", err
	}
	p, err := procfs.NewProc(n)
	if err != nil {
		return "", err
	}
	return labelOf(p)
}

// PID returns dockerd's PID.
func (p *Private) PID() int { return p.daemon.PID() }

// By returns the engine as if it were used by another process, with the given label.
func By(process string, e *Engine) *Engine {
	e.process = process
	return e
}
