package sampler

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"nettoll/record"
)

// Origin says which machine an agent runs on.
type Origin struct {
	// Boot is the kernel's random id of this boot: what has the same one is the same
	// machine, whatever its containers are told of its name.
	Boot    string
	Machine record.Machine
}

// FindOrigin reads below proc and sys.
func FindOrigin(proc, sys string) (o Origin, err error) {
	path := filepath.Join(proc, "sys/kernel/random/boot_id")
	b, err := os.ReadFile(path)
	if err != nil {
		return o, fmt.Errorf("sampler: %w", err)
	}
	o.Boot = strings.TrimSpace(string(b))
	o.Machine, err = Machine(proc, sys)
	return o, err
}
