package dockerhost

import (
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// notSocket is whether there is something else than a socket at the path.
func notSocket(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&os.ModeSocket == 0
}

// rootless is the socket of an engine that runs as this user, if there is one and
// it is not the one at path.
func rootless(path string) string {
	dir := os.Getenv("XDG_RUNTIME_DIR")
	other := filepath.Join(dir, "docker.sock")
	info, err := os.Stat(other)
	if dir == "" || other == path || err != nil || info.Mode()&os.ModeSocket == 0 {
		return ""
	}
	return oneLine(other)
}

const groupWrite = 0o020

// denied explains why a socket may not be used: by its group if it has one that users
// can join, and else by its owner.
func denied(path string) (reason, remedy string) {
	const asRoot = "run as root"
	info, err := os.Stat(path)
	if err != nil {
		return "permission denied on the way to the socket", asRoot
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "permission denied", asRoot
	}
	owner, gid, forGroup := userName(stat.Uid), strconv.Itoa(int(stat.Gid)), info.Mode()&groupWrite != 0
	group := groupName(gid)
	switch {
	case forGroup && inGroup(stat.Gid):
		return "permission denied, though group " + group + " may use the socket", "see whether AppArmor or SELinux forbids it, or " + asRoot
	case forGroup && stat.Gid != 0: // nobody joins root's
		reason = "permission denied: the socket belongs to group " + group
		me, err := user.Current()
		if err != nil {
			return reason, "as root: usermod -aG " + group + " $USER, then log in again; or " + asRoot
		}
		if groups, err := me.GroupIds(); err == nil && slices.Contains(groups, gid) {
			return reason + ", which " + me.Username + " has joined since the last login", "log in again, or " + asRoot
		}
		return reason, "as root: usermod -aG " + group + " " + me.Username + ", then log in again; or " + asRoot
	case stat.Uid == 0:
		return "permission denied: the socket is for root only", asRoot
	}
	return "permission denied: the socket belongs to user " + owner, "run as " + owner + " or as root"
}

// inGroup is whether this process has the group.
func inGroup(gid uint32) bool {
	groups, err := os.Getgroups()
	return err == nil && slices.Contains(groups, int(gid)) || uint32(os.Getegid()) == gid
}

func groupName(gid string) string {
	if g, err := user.LookupGroupId(gid); err == nil {
		return g.Name
	}
	return gid
}

func userName(uid uint32) string {
	id := strconv.Itoa(int(uid))
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return id
}
