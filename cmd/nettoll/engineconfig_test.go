package main

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"nettoll/docker/engine"
	"nettoll/platform/platformtest"
	"nettoll/record"
)

// TestPrivateEngineLeavesMachineConfig runs a private engine where the machine's /etc/docker
// would end it, change it, or keep it waiting for ever if it were read; and where there is
// none. It is afterwards as it was.
func TestPrivateEngineLeavesMachineConfig(t *testing.T) {
	if err := engine.Available(); err != nil {
		platformtest.Require(t, "dockerd", err)
	}
	for name, furnish := range map[string]func(t *testing.T, dir string){
		"none": func(*testing.T, string) {},
		"hostile": func(t *testing.T, dir string) {
			for _, d := range []string{dir, filepath.Join(dir, "plugins"), filepath.Join(dir, "certs.d")} {
				if err := os.Mkdir(d, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			const settings = `{"storage-driver": "overlay2", "data-root": "/nowhere", "icc": false, "mtu": 600}`
			if err := os.WriteFile(filepath.Join(dir, "daemon.json"), []byte(settings), 0o644); err != nil {
				t.Fatal(err)
			}
			for _, pipe := range []string{"key.json", "plugins/hostile.spec", "plugins/hostile.json"} {
				if err := syscall.Mkfifo(filepath.Join(dir, pipe), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			etc := filepath.Join(dir, "etc")
			if out, err := exec.Command("cp", "-a", "/etc", etc).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if err := os.RemoveAll(filepath.Join(etc, "docker")); err != nil {
				t.Fatal(err)
			}
			furnish(t, filepath.Join(etc, "docker"))
			was := tree(t, etc)
			p := startProgram(t, dir, "unshare", "--mount", "--propagation", "private", "sh", "-c", `mount --bind etc /etc && exec "$@"`, "sh",
				"nettoll", "run", "docker:bridge", "--private-engine", "--hosts", "1", "--workloads", "tcp_rr", "--placement", "free",
				"-t", "50ms", "--warmup", "50ms", "--min-rounds", "1", "--max-rounds", "1", "-o", "x.ndjson")
			if status := p.status(t); status != exitOK {
				t.Errorf("exit status %d; it said:\n%s", status, p.said())
			}
			file, err := record.ReadFile(filepath.Join(dir, "x.ndjson"))
			if err != nil {
				t.Fatal(err)
			}
			for _, trial := range file.Trials {
				if trial.Status != record.OK {
					t.Errorf("%s: %s: %s", trial.Cell.Network, trial.Status, trial.Reason)
				}
			}
			if is := tree(t, etc); !maps.Equal(was, is) {
				maps.DeleteFunc(is, func(path, now string) bool { return was[path] == now })
				t.Errorf("/etc has changed: %v", is)
			}
		})
	}
}

// tree is all that is in a folder: names, kinds and what is in files.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		all[path] = info.Mode().String()
		if d.Type().IsRegular() {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			all[path] += fmt.Sprintf(" %x", sha256.Sum256(text))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
