package lab

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"nettoll/internal/testutil/iferr"
)

// TestProgramsBelowRun checks that a lab finds programs in folders of /run that PATH names, as on NixOS, and nothing else there.
func TestProgramsBelowRun(t *testing.T) {
	top, err := os.MkdirTemp("/run", "system-") // the /run of the lab that the test runs in
	iferr.Fatal(t, err)
	defer os.RemoveAll(top)
	bin, link, secret := filepath.Join(top, "sw/bin"), filepath.Join(top, "current"), filepath.Join(top, "socket")
	iferr.Fatal(t, errors.Join(os.MkdirAll(bin, 0o755), os.Symlink(filepath.Join(top, "sw"), link),
		os.WriteFile(filepath.Join(bin, "ping"), nil, 0o755), os.WriteFile(secret, nil, 0o600)))
	t.Setenv("PATH", "/usr/bin:"+link+"/bin:"+filepath.Join(top, "none")+":/run/../usr/sbin")
	errs := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with its mounts
		errs <- func() error {
			if err := errors.Join(unix.Unshare(unix.CLONE_NEWNS), unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""), emptyRun()); err != nil {
				return err
			}
			if _, err := os.Stat(link + "/bin/ping"); err != nil {
				return err
			}
			if _, err := os.Stat(secret); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("something else below /run can be seen: %v", err)
			}
			return nil
		}()
	}()
	iferr.Fatal(t, <-errs)
}
