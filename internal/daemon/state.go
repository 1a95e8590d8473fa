package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"nettoll/internal/undo"
	"nettoll/internal/wrap"
	"nettoll/platform"
)

// State makes an empty directory in memory for the files of daemons. It is removed with the stack, or
// with the lab's mounts at the latest.
func State(stack *undo.Stack) (string, error) {
	if err := Available(); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("/run", "nettoll-")
	if err != nil {
		return "", err
	}
	stack.Push(dir, func(context.Context) error { return os.RemoveAll(dir) })
	return dir, mount(stack, dir)
}

// Temporary returns the environment of a program whose temporary files are in a folder of State, so that they go with it. Those of
// containerd's shims would otherwise be in the machine's folder, and stay there if the lab is killed.
func Temporary(dir string) (env []string, err error) {
	dir = filepath.Join(dir, "tmp")
	return []string{"TMPDIR=" + dir, "XDG_RUNTIME_DIR=" + dir}, wrap.Error(os.MkdirAll(dir, 0o700), "make a folder for temporary files")
}

// Detached makes an empty directory in memory that is at no path of the machine: it is reached by a descriptor of this
// process, also by other processes, and is gone when the stack is closed or this process has ended, however that is.
func Detached(stack *undo.Stack) (string, error) {
	unsupported := func(err error) error {
		return &platform.Unsupported{
			Feature: "a file system in memory for the files of daemons", Option: "Linux 5.2 or later, and root", Err: err,
			Remedy: "measure other networks there",
		}
	}
	config, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return "", unsupported(os.NewSyscallError("fsopen", err))
	}
	defer unix.Close(config)
	if err := cmp.Or(unix.FsconfigSetString(config, "mode", "0755"), unix.FsconfigCreate(config)); err != nil {
		return "", unsupported(os.NewSyscallError("fsconfig", err))
	}
	fd, err := unix.Fsmount(config, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
	if err != nil {
		return "", unsupported(os.NewSyscallError("fsmount", err))
	}
	stack.Push("files of daemons", func(context.Context) error { return unix.Close(fd) })
	return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd), nil
}

// Hide mounts an empty directory over one of the machine's, in which programs would store persistent
// state that other networks of the machine depend on. In a lab, nobody else sees the mount. If the
// machine has no such directory, none is made.
func Hide(stack *undo.Stack, dir string) error {
	if info, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) || err == nil && !info.IsDir() {
		return nil
	}
	return mount(stack, dir)
}

// mount mounts a file system in memory on dir.
func mount(stack *undo.Stack, dir string) error {
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755"); err != nil {
		return fmt.Errorf("mount %s: %w", dir, err)
	}
	stack.Push("mount of "+dir, func(context.Context) error {
		err := unix.Unmount(dir, unix.MNT_DETACH)
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) {
			return nil // it is not a mount any more
		}
		return err
	})
	return nil
}
