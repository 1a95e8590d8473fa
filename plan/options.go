package plan

import (
	"fmt"
	"strings"

	"nettoll/record"
)

func (s Suite) checkWorkloads() error {
	if len(s.Workloads) == 0 {
		return s.fault("workloads", "nothing is to be driven; name workloads, such as tcp_stream")
	}
	for i, w := range s.Workloads {
		if err := s.checkOptions(fmt.Sprintf("workloads[%d]", i), w); err != nil {
			return err
		}
	}
	if len(s.Tools) == 0 {
		return s.fault("tools", "nothing drives the workloads; name tools, such as engine")
	}
	return nil
}

// checkOptions refuses values that are not possible, and options that the
// workload has no use for: the cell would be recorded as something it was not.
func (s Suite) checkOptions(field string, w Workload) error {
	if !isName(w.Name) {
		return s.fault(field, "%q is not a workload; write a name such as tcp_stream", w.Name)
	}
	c := record.Cell{Options: w.Options}
	for _, d := range record.Dimensions(record.Option) {
		name := field + "." + keyOf(d)
		if n, ok := d.Raw(c); ok && (n < 0 || n > d.Most || n == 0 && !d.Open && s.written(name)) {
			what := "a number"
			if d.Unit == "bit/s" {
				what = d.Unit
			}
			return s.fault(name, "%s is not possible; write %s from 1 to %s, or leave it out", inUnit(n, d.Unit), what, inUnit(d.Most, d.Unit))
		}
	}
	if strings.Trim(w.Options.Congestion, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" || len(w.Options.Congestion) > 15 {
		return s.fault(field+".congestion", "%q is not a congestion control; write a name such as cubic", w.Options.Congestion)
	}
	for _, o := range w.given() {
		if !o.Takes(w.Name) {
			return s.fault(field+"."+keyOf(o), "has no effect on %s; leave it out", w.Name)
		}
	}
	return nil
}
