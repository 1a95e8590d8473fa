package dockerd

import "os"

// What tests of this package see of its inside.
var (
	ProcessState = state
	ThisProcess  = thisProcess
)

// ProcessLabel is processLabel.
const ProcessLabel = processLabel

// LabelOf is the value that thisProcess would give in another process.
func LabelOf(pid string) (string, error) {
	in, err := os.Readlink("/proc/" + pid + "/ns/pid")
	if err != nil {
		return "", err
	}
	own, start, err := identify("/proc/" + pid)
	return thisBoot() + "/" + number(in) + "/" + own + "/" + start, err
}

// PID is that of dockerd.
func (p *Private) PID() int { return p.proc.PID() }

// By is the engine as another process would use it, whose label is given.
func By(process string, e *Engine) *Engine {
	e.process = process
	return e
}
