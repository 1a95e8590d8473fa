package engine

import (
	"strconv"

	"github.com/prometheus/procfs"
)

// What tests of this package see of its inside.
var (
	ProcessState = state
	ThisProcess  = thisProcess
)

// ProcessLabel is processLabel.
const ProcessLabel = processLabel

// LabelOf is the value that thisProcess would give in another process.
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

// PID is that of dockerd.
func (p *Private) PID() int { return p.daemon.PID() }

// By is the engine as another process would use it, whose label is given.
func By(process string, e *Engine) *Engine {
	e.process = process
	return e
}
