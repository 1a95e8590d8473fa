package scratch_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/scratch"
)

// holdEnv makes the test program make a folder, print its path and wait to be killed.
const holdEnv = "NETTOLL_TEST_HOLD"

func TestMain(m *testing.M) {
	if os.Getenv(holdEnv) != "" {
		dir, _, err := scratch.Dir("own")
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "file"), nil, 0o400)
		}
		fmt.Println(dir, err)
		select {}
	}
	os.Exit(m.Run())
}

func TestFoldersOfKilledPrograms(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	other := exec.Command("/proc/self/exe")
	other.Env = append(os.Environ(), holdEnv+"=1")
	out, err := other.StdoutPipe()
	if err == nil {
		err = other.Start()
	}
	iferr.Fatal(t, err)
	said, err := bufio.NewReader(out).ReadString('\n')
	theirs, made := strings.CutSuffix(strings.TrimSpace(said), " <nil>")
	if err != nil || !made {
		t.Fatalf("%q, %v", said, err)
	}
	there := func(dir string) bool { _, err := os.Stat(dir); return err == nil }
	begin := func() (string, func() error) {
		dir, remove, err := scratch.Dir("own")
		if err != nil || !there(dir) {
			t.Fatalf("%s, %v", dir, err)
		}
		return dir, remove
	}
	first, remove := begin()
	if !there(theirs) {
		t.Error("the folder of a program that runs is gone")
	}
	iferr.Fatal(t, other.Process.Kill())
	_ = other.Wait()
	second, removeSecond := begin()
	if there(theirs) {
		t.Error("the folder of a program that was killed is still there")
	}
	if !there(first) {
		t.Error("this program's own folder is gone")
	}
	for _, err := range []error{remove(), removeSecond()} {
		iferr.Error(t, err)
	}
	if there(first) || there(second) {
		t.Error("a folder stays")
	}
}
