package daemon

import (
	"errors"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"nettoll/internal/wrap"
)

// Apart are mounts that a daemon has of its own, with all that it starts. Nobody else sees them, and they end with it.
type Apart struct {
	// Empty are folders of the machine in whose places there are empty ones in memory, also if the machine has none.
	Empty []string
	// Tunables are parameters of the whole machine below /proc/sys that the daemon would set, with the values that it wants:
	// it reads these, and changes nothing.
	Tunables map[string]string
}

// apart makes the mounts. $1 is the daemon's folder; folders follow up to "--", then the command line. A folder that the
// machine lacks is made in an overlay of the one above, which hides what is mounted below that.
const apart = `set -e
dir=$1
shift
while [ "$1" != -- ]; do
	if [ ! -d "$1" ]; then
		above=${1%/*}
		mkdir -p -m 0755 "$dir/over$above/upper" "$dir/over$above/work"
		mount -t overlay -o "lowerdir=$above,upperdir=$dir/over$above/upper,workdir=$dir/over$above/work" overlay "$above"
		[ -d "$1" ] || { rm -f "$1"; mkdir -m 0755 "$1"; } # it is there if the daemon is started again
	fi
	mount -t tmpfs -o mode=0755 tmpfs "$1"
	shift
done
shift
for f in $(cd "$dir/sysctl" && find . -type f); do
	[ ! -e "/proc/sys/$f" ] || mount --bind "$dir/sysctl/$f" "/proc/sys/$f"
done
exec "$@"`

// Command returns the command line that runs a program with these mounts. dir is a folder of State for this program alone. What
// the program mounts there is seen here, too.
func (a Apart) Command(dir, program string, args ...string) (path string, all []string, err error) {
	err = wrap.Error(unix.Mount("", dir, "", unix.MS_SHARED, ""), "share the mounts in %s", dir)
	values := filepath.Join(dir, "sysctl")
	err = errors.Join(err, os.MkdirAll(values, 0o755))
	for name, value := range a.Tunables {
		file := filepath.Join(values, name)
		err = errors.Join(err, os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(value+"\n"), 0o644))
	}
	// Other mounts are private already, as all of a lab.
	all = slices.Concat([]string{"--mount", "--propagation", "unchanged", "sh", "-c", apart, "sh", dir}, a.Empty, []string{"--", program}, args)
	return "unshare", all, err
}
