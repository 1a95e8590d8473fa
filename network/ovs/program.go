package ovs

import (
	"context"
	"fmt"
	"strings"

	"nettoll/internal/process"
	"nettoll/internal/program"
	"nettoll/platform"
)

// programs are Open vSwitch's, by their names.
type programs map[string]string

// find looks for all that are needed. ovs-vswitchd is the one to be named when all of
// them are missing.
func find(paths program.Paths) (programs, error) {
	found := programs{}
	for _, name := range []string{"ovs-vswitchd", "ovsdb-server", "ovsdb-tool", "ovs-vsctl", "ovs-ofctl", "ovs-dpctl"} {
		path, err := paths.Locate(name, "apt install openvswitch-switch")
		if err != nil {
			return nil, err
		}
		found[name] = path
	}
	return found, nil
}

// run waits for a program to end on the host. Its error is what it said.
func (v *vswitch) run(ctx context.Context, name string, args ...string) error {
	var said process.Tail
	cmd := platform.Command{Path: v.programs[name], Args: args, Env: v.environ(), Stdout: &said, Stderr: &said}
	err := process.Run(ctx, v.host, cmd)
	if ctx.Err() != nil {
		return fmt.Errorf("%s on %s: %w", name, v.host.Name(), err)
	}
	text := strings.ReplaceAll(said.String(), "\n", " | ")
	// ovs-vsctl ends with 0 when ovs-vswitchd could not do what it was told.
	if err != nil || strings.Contains(text, "Error detected") {
		if text == "" && err != nil {
			text = err.Error()
		}
		return fmt.Errorf("%s on %s: %s", name, v.host.Name(), text)
	}
	return nil
}

// environ keeps everything that the programs write in a directory of the host's own.
func (v *vswitch) environ() []string {
	return []string{"OVS_RUNDIR=" + v.dir, "OVS_LOGDIR=" + v.dir, "OVS_DBDIR=" + v.dir, "OVS_SYSCONFDIR=" + v.dir}
}
