package sampler

import (
	"path/filepath"
	"strings"
	"testing"

	"nettoll/record"
)

// TestConfinement reads how a process is confined from files as kernels have them.
func TestConfinement(t *testing.T) {
	const free = "Name:\tagent\nSeccomp:\t0\nSeccomp_filters:\t0\nSpeculation_Store_Bypass:\tthread vulnerable\nSpeculationIndirectBranch:\tconditional enabled\n"
	held := strings.NewReplacer("Seccomp:\t0", "Seccomp:\t2", "thread vulnerable", "thread force mitigated", "conditional enabled", "conditional force disabled").Replace(free)
	for name, c := range map[string]struct {
		status, label, release string
		want                   record.Confinement
	}{
		"free": {free, "", "6.1.0-31-amd64", record.Confinement{StoreBypass: "thread vulnerable", IndirectBranch: "conditional enabled"}},
		"in a container, long ago": {held, "docker-default (enforce)\n\x00", "5.10.0-34-amd64", record.Confinement{
			Seccomp: "filter", Uncached: true, Label: "docker-default (enforce)", StoreBypass: "thread force mitigated", IndirectBranch: "conditional force disabled",
		}},
		"in a container": {held, "unconfined", "5.11.0", record.Confinement{
			Seccomp: "filter", Label: "unconfined", StoreBypass: "thread force mitigated", IndirectBranch: "conditional force disabled",
		}},
		"of Linux 4": {"Seccomp:\t2\n", "", "4.18.0-553.el8", record.Confinement{Seccomp: "filter", Uncached: true}},
		"none of it": {"Name:\tagent\n", "", "6.1.0", record.Confinement{}},
	} {
		proc := t.TempDir()
		write(t, filepath.Join(proc, "self/status"), c.status)
		if c.label != "" {
			write(t, filepath.Join(proc, "self/attr/current"), c.label)
		}
		if got, err := confinement(proc, c.release); err != nil || *got != c.want {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, c.want)
		}
	}
	if _, err := confinement(t.TempDir(), "6.1.0"); err == nil {
		t.Error("no status, and no error")
	}
}
