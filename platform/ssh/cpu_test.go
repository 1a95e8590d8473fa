package ssh

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"nettoll/internal/bootstrap"
	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/turn"
	"nettoll/platform"
	"nettoll/platform/platformtest"
	"nettoll/platform/ssh/sshtest"
)

// emulate has the kernel run programs for arm64 by an emulator, in the user namespace in which it is written to
// register (Documentation/admin-guide/binfmt-misc.rst): ELF files (ET_EXEC or ET_DYN) with e_machine EM_AARCH64.
const emulate = `:arm64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:` +
	`\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:%s:F`

// TestAnotherCPU logs in to a machine for arm64 besides one like this. The agent for arm64 is really built, sent and run,
// by an emulator for single programs, and finds the machine's addresses. It cannot start agents of endpoints, since this
// emulator does not know /proc/self/exe as a program to start: TestTwoArchitectures of cmd/nettoll, which takes much
// longer, measures there.
func TestAnotherCPU(t *testing.T) {
	turn.Rotate(t, 2, "internal/bootstrap", "internal/remote")
	if runtime.GOARCH == "arm64" {
		t.Skip("this machine is one for arm64 itself")
	}
	emulator, err := exec.LookPath("qemu-aarch64-static")
	platformtest.Require(t, "qemu-aarch64-static", err)
	const own = "unshare --user --map-root-user --mount sh -c "
	const mount = "mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc"
	if out, err := exec.Command("sh", "-c", own+"'"+mount+"'").CombinedOutput(); err != nil {
		t.Skipf("user namespaces have no formats of programs of their own, as from Linux 6.7 on: %s", out)
	}
	agent := filepath.Join(t.TempDir(), "agent")
	build := exec.Command("go", "build", "-o", agent, "nettoll/cmd/nettoll-agent")
	build.Env = append(os.Environ(), "GOARCH=arm64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, out)
	}
	lan := sshtest.Start(t, platform.Underlay{}, sshtest.Machine{}, sshtest.Machine{
		Setup: "printf '#!/bin/sh\\necho aarch64\\n' >/run/uname; chmod 755 /run/uname; mount --bind /run/uname /usr/bin/uname\n" +
			"printf %s '" + fmt.Sprintf(emulate, emulator) + "' >/run/arm64",
		Shell: "exec " + own + "'" + mount + " && cat /run/arm64 >/proc/sys/fs/binfmt_misc/register && exec sh -c \"$SSH_ORIGINAL_COMMAND\"'",
	})
	s := machines(t, 2, Options{})
	var mu sync.Mutex
	var sent []string
	s.o.Agents = &bootstrap.Agents{File: func(arch string) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		sent = append(sent, arch)
		if arch == "arm64" {
			return agent, nil
		}
		return "/proc/self/exe", nil
	}}
	h, err := s.Hosts(t.Context(), platform.HostRequest{Count: 2})
	iferr.Fatal(t, err)
	if slices.Sort(sent); !slices.Equal(sent, []string{runtime.GOARCH, "arm64"}) {
		t.Errorf("agents for %v were sent", sent)
	}
	for i, host := range h.All() {
		if got, want := host.Uplink(), lan.Hosts[i].Uplink(); got != want {
			t.Errorf("uplink %+v, want %+v", got, want)
		}
	}
	if all := lan.Running(t, 1); !slices.ContainsFunc(lan.Busy(t, 1, "agent injected"), func(pid int) bool {
		exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		return exe == emulator
	}) {
		t.Errorf("no agent is run by %s: %v", emulator, all)
	}
	p, err := h.All()[1].Start(t.Context(), platform.Command{Path: "sh", Args: []string{"-c", "read line; echo $line $line"}, Stdin: strings.NewReader("said\n")})
	iferr.Fatal(t, err)
	answer := make([]byte, len("said said"))
	if _, err := io.ReadFull(p.Stdout(), answer); err != nil || string(answer) != "said said" {
		t.Errorf("a program there answered %q, %v", answer, err)
	}
	iferr.Error(t, p.Wait())
	iferr.Error(t, h.Close(t.Context()))
}
