package dial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"nettoll/internal/testutil"
	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/machine"
)

// connectTo makes a copy of this program connect to the engine that it names, as the user under which it
// was started.
const connectTo = "NETTOLL_TEST_CONNECT_TO"

func TestMain(m *testing.M) {
	if host := os.Getenv(connectTo); host != "" {
		_, err := Connect(context.Background(), Target{Host: host, Source: flag})
		fmt.Print(err)
		return
	}
	testutil.Main(m)
}

// clean removes the user's environment variables about engines, and gives the test its own configuration
// folder.
func clean(t testing.TB) folder {
	t.Helper()
	for _, name := range []string{
		"DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_TLS_VERIFY", "DOCKER_TLS", "DOCKER_CERT_PATH", "DOCKER_API_VERSION",
		"DOCKER_CUSTOM_HEADERS",
	} {
		t.Setenv(name, "")
	}
	dir := t.TempDir()
	t.Setenv("DOCKER_CONFIG", dir)
	return folder(dir)
}

// freePort returns a TCP port of 127.0.0.1 on which nobody listens.
func freePort(t *testing.T) string {
	t.Helper()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(machine.FreePort(t)))
}

func write(t *testing.T, dir, name, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(dir, name)
	iferr.Fatal(t, os.WriteFile(path, []byte(text), mode))
	return path
}

// unreachable checks that the error is one line that contains the reason and the remedy.
func unreachable(t *testing.T, err error, reason, remedy string) *Unreachable {
	t.Helper()
	var u *Unreachable
	if !errors.As(err, &u) {
		t.Fatalf("%v is not *Unreachable", err)
	}
	if !strings.Contains(u.Reason, reason) || !strings.Contains(u.Remedy, remedy) {
		t.Errorf("reason %q, remedy %q\nwant them with %q and %q", u.Reason, u.Remedy, reason, remedy)
	}
	if text := u.Error(); strings.ContainsAny(text, "\n\r\x1b") || !strings.HasPrefix(text, "docker engine ") || u.Reason == "" || u.Remedy == "" {
		t.Errorf("not one line with a reason and a remedy: %q", text)
	}
	return u
}
