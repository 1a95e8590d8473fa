package bootstrap

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// Folder is a folder of this machine in which an agent is received. It is left behind if the shell that receives is
// killed, or the machine's power is cut.
type Folder struct {
	Path string
	Busy bool // somebody may be receiving
}

// received matches the names of such folders, and program is the only file in one.
var received = regexp.MustCompile(`^nettoll-[0-9A-Za-z]{6}$`)

const program = "a"

// begunTime is much longer than a folder that is in use can be without the file.
const begunTime = 10 * time.Minute

// Folders returns the folders that belong to this user.
func Folders() ([]Folder, error) {
	all := slices.Clone(places)
	all[slices.Index(all, home)] = cmp.Or(os.Getenv("HOME"), "/")
	return foldersIn(all)
}

func foldersIn(places []string) (found []Folder, err error) {
	var errs []error
	for _, place := range places {
		entries, err := os.ReadDir(place)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.ENOTDIR) { // HOME=/dev/null
			errs = append(errs, err)
		}
		for _, e := range entries {
			info, err := e.Info()
			if err != nil || !info.IsDir() || !received.MatchString(e.Name()) { // it may be gone meanwhile
				continue
			}
			path := filepath.Join(place, e.Name())
			owner, known := info.Sys().(*syscall.Stat_t)
			if busy, ours := uses(path, info.ModTime()); ours && known && int(owner.Uid) == os.Geteuid() {
				found = append(found, Folder{path, busy})
			}
		}
	}
	return found, errors.Join(errs...)
}

// uses reports whether somebody uses a folder, which was changed last at the given time, and whether it has nothing but
// what the script puts there. It does not look for processes, since those of another PID namespace are not seen: the
// kernel gives a lease to write (fcntl(2)) only on a file that nobody else has open.
func uses(folder string, changed time.Time) (busy, ours bool) {
	entries, err := os.ReadDir(folder)
	switch {
	case err != nil || len(entries) > 1 || len(entries) == 1 && entries[0].Name() != program:
		return false, false
	case len(entries) == 0:
		return time.Since(changed) < begunTime, true
	}
	f, err := os.OpenFile(filepath.Join(folder, program), os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist), true
	}
	defer f.Close()
	_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK)
	if err != nil && !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EBUSY) { // a file system without leases
		return time.Since(changed) < begunTime, true
	}
	return err != nil, true
}

// Remove removes the folder.
func (f Folder) Remove() error {
	err := os.Remove(filepath.Join(f.Path, program))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if folder := os.Remove(f.Path); !errors.Is(folder, fs.ErrNotExist) { // two places can be one, as where /var/tmp is a link to /tmp
		err = errors.Join(err, folder)
	}
	return err
}

// Agent is an injected agent that runs on this machine.
type Agent struct {
	PID int
	// Lost says that no run can be using it: it is stopped, or the login that started it has ended. Others end by
	// themselves when they hear nothing.
	Lost bool
}

// Others returns the injected agents of this user, or as root of any, except for this one.
func Others() (all []Agent) {
	processes, _ := procfs.AllProcs()
	for _, p := range processes {
		if p.PID == os.Getpid() || !isAgent(p.PID) {
			continue
		}
		var owner unix.Stat_t
		if err := unix.Stat(fmt.Sprintf("/proc/%d", p.PID), &owner); err != nil || os.Geteuid() != 0 && int(owner.Uid) != os.Geteuid() {
			continue
		}
		if stat, err := p.Stat(); err == nil {
			all = append(all, Agent{p.PID, lost(stat)})
		}
	}
	return all
}

func isAgent(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	args := strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
	return err == nil && IsAgent(args[1:])
}

// lost reports whether a process is stopped, or has lost its parent.
func lost(stat procfs.ProcStat) bool { return stat.State == "T" || stat.PPID == 1 }

// Kill ends the agent, and with it what it has started.
func (a Agent) Kill() error {
	p, err := os.FindProcess(a.PID)
	if err != nil {
		return err
	}
	defer p.Release()
	if !isAgent(a.PID) { // it has ended, and another process may have its number
		return nil
	}
	if err := p.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}
