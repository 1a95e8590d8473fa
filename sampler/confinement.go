package sampler

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"nettoll/record"
)

// confined returns what this process is restricted to, which stays as it is.
var confined = sync.OnceValues(func() (*record.Confinement, error) { return confinement("/proc", release()) })

// confinement returns what the kernel, of a release, restricts this process to.
func confinement(proc, release string) (*record.Confinement, error) {
	status, err := read(filepath.Join(proc, "self/status"))
	if err != nil {
		return nil, err
	}
	var c record.Confinement
	for line := range strings.Lines(status) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch value = strings.TrimSpace(value); name {
		case "Seccomp":
			c.Seccomp = map[string]string{"1": "strict", "2": "filter"}[value]
		case "Speculation_Store_Bypass":
			c.StoreBypass = value
		case "SpeculationIndirectBranch":
			c.IndirectBranch = value
		}
	}
	var major, minor int
	if n, _ := fmt.Sscanf(release, "%d.%d", &major, &minor); n == 2 && c.Seccomp == "filter" {
		c.Uncached = major < 5 || major == 5 && minor < 11
	}
	label, _ := read(filepath.Join(proc, "self/attr/current")) // fails without a security module
	c.Label = strings.Trim(label, "\x00\n")
	return &c, nil
}
