package dockerd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// machineConfig is where dockerd reads settings, certificates and plugins, and writes its
// key, whatever it is told on its command line.
const machineConfig = "/etc/docker"

// hideMachineConfig gives all programs of this lab an empty folder in the place of the
// machine's: what is set there for the machine's own engine would change what is measured,
// or end a private engine. The lab's mounts are its own and go with it.
var hideMachineConfig = sync.OnceValue(func() error {
	if err := inLab(); err != nil {
		return err
	}
	if _, err := os.Stat(machineConfig); errors.Is(err, fs.ErrNotExist) {
		if err := overlay(filepath.Dir(machineConfig)); err != nil {
			return err
		}
		if err := os.Mkdir(machineConfig, 0o755); err != nil {
			return err
		}
	}
	return inMemory(machineConfig)
})

// inLab wants the first process of this PID namespace to be of this program, as it is in a
// lab alone. Elsewhere mounts would be the machine's own.
func inLab() error {
	first, err := os.Stat("/proc/1/exe")
	if err != nil {
		return fmt.Errorf("find out whether this is a lab: %w", err)
	}
	self, err := os.Stat("/proc/self/exe")
	if err == nil && !os.SameFile(first, self) {
		err = errors.New("this is not a lab: mounts would be the machine's own")
	}
	return err
}

// overlay lets a folder be written to without a change of it.
func overlay(dir string) error {
	scratch, err := os.MkdirTemp("/run", "nettoll-overlay-")
	if err != nil {
		return err
	}
	upper, work := filepath.Join(scratch, "upper"), filepath.Join(scratch, "work")
	if err := errors.Join(os.Mkdir(upper, 0o755), os.Mkdir(work, 0o700)); err != nil {
		return err
	}
	return mounted(dir, unix.Mount("overlay", dir, "overlay", 0, "lowerdir="+dir+",upperdir="+upper+",workdir="+work))
}

// inMemory puts an empty file system in the place of a folder.
func inMemory(dir string) error {
	return mounted(dir, unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0711"))
}

func mounted(dir string, err error) error {
	if err != nil {
		return fmt.Errorf("mount %s: %w", dir, err)
	}
	return nil
}
