package dial

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nettoll/internal/testutil/iferr"
	"nettoll/platform/platformtest"

	"github.com/docker/cli/cli/context/docker"
	"github.com/docker/cli/cli/context/store"
)

// addContext stores a context as the docker command does.
func addContext(t *testing.T, f folder, name, host string, files map[string][]byte) {
	t.Helper()
	s := f.contexts()
	meta := store.Metadata{Name: name, Endpoints: map[string]any{docker.DockerEndpoint: docker.EndpointMeta{Host: host}}}
	iferr.Fatal(t, s.CreateOrUpdate(meta))
	tls := &store.EndpointTLSData{Files: files}
	iferr.Fatal(t, s.ResetEndpointTLSMaterial(name, docker.DockerEndpoint, tls))
}

// precedence lists settings and the engine that they select. args are the arguments with the same meaning
// for the docker command.
var precedence = []struct {
	what         string
	name         string
	args         []string
	host         string // DOCKER_HOST
	context      string // DOCKER_CONTEXT
	current      string // of the configuration
	tls          string // DOCKER_TLS_VERIFY
	want, source string
}{
	{what: "nothing", want: "unix:///var/run/docker.sock", source: "default socket"},
	{what: "configuration", current: "prod", want: "tcp://192.0.2.1:2376", source: "context prod"},
	{what: "DOCKER_CONTEXT over configuration", context: "lab", current: "prod", want: "ssh://me@lab.example", source: "context lab"},
	{what: "DOCKER_CONTEXT=default over configuration", context: "default", current: "prod", want: "unix:///var/run/docker.sock", source: "default socket"},
	{what: "DOCKER_HOST over all of these", host: "tcp://192.0.2.9", context: "lab", current: "prod", want: "tcp://192.0.2.9:2375", source: "DOCKER_HOST"},
	{what: "DOCKER_HOST without a scheme", host: "192.0.2.9:99", want: "tcp://192.0.2.9:99", source: "DOCKER_HOST"},
	{what: "DOCKER_HOST with a path", host: "tcp://192.0.2.9:99/behind", want: "tcp://192.0.2.9:99/behind", source: "DOCKER_HOST"},
	{what: "DOCKER_HOST without an address", host: "unix://", want: "unix:///var/run/docker.sock", source: "DOCKER_HOST"},
	{what: "DOCKER_HOST of IPv6", host: "tcp://[2001:db8::1]:99", want: "tcp://[2001:db8::1]:99", source: "DOCKER_HOST"},
	{what: "TLS and no address", tls: "1", want: "tcp://localhost:2376", source: "DOCKER_TLS_VERIFY"},
	{what: "address over DOCKER_HOST", name: "unix:///run/other.sock", args: []string{"-H", "unix:///run/other.sock"}, host: "tcp://192.0.2.9", current: "prod", want: "unix:///run/other.sock", source: "--docker-host"},
	{what: "host and port", name: "192.0.2.7:2375", args: []string{"-H", "192.0.2.7:2375"}, context: "lab", want: "tcp://192.0.2.7:2375", source: "--docker-host"},
	{what: "context over DOCKER_HOST", name: "prod", args: []string{"--context", "prod"}, host: "tcp://192.0.2.9", context: "lab", want: "tcp://192.0.2.1:2376", source: "context prod"},
	{what: "context default is DOCKER_HOST", name: "default", args: []string{"--context", "default"}, host: "tcp://192.0.2.9", current: "prod", want: "tcp://192.0.2.9:2375", source: "DOCKER_HOST"},
	{what: "context default without", name: "default", args: []string{"--context", "default"}, current: "prod", want: "unix:///var/run/docker.sock", source: "default socket"},
}

func TestPrecedence(t *testing.T) {
	real, missing := exec.LookPath("docker")
	for _, c := range precedence {
		t.Run(c.what, func(t *testing.T) {
			f := clean(t)
			addContext(t, f, "prod", "tcp://192.0.2.1:2376", nil)
			addContext(t, f, "lab", "ssh://me@lab.example", nil)
			write(t, string(f), "config.json", `{"currentContext": "`+c.current+`"}`, 0o600)
			write(t, string(f), "ca.pem", newAuthority(t, "any").pem, 0o600)
			for name, value := range map[string]string{"DOCKER_HOST": c.host, "DOCKER_CONTEXT": c.context, "DOCKER_TLS_VERIFY": c.tls} {
				t.Setenv(name, value)
			}
			got, err := Resolve(c.name)
			if err != nil || got.Host != c.want || got.Source != c.source {
				t.Errorf("Resolve(%q) = %v, %v; want %s (%s)", c.name, got, err, c.want, c.source)
			}
			if missing != nil {
				platformtest.Require(t, "docker", fmt.Errorf("no docker command to compare with: %w", missing))
			}
			args := append(c.args, "context", "inspect", "--format", "{{.Endpoints.docker.Host}}")
			out, err := exec.Command(real, args...).CombinedOutput()
			if found := strings.TrimSpace(string(out)); err != nil || found != c.want {
				t.Errorf("docker %s finds %s, %v; want %s", strings.Join(args, " "), found, err, c.want)
			}
		})
	}
}

func TestNoAddress(t *testing.T) {
	for _, c := range []struct{ name, reason, remedy string }{
		{"/var/run/docker.sock", "a path", "unix:///var/run/docker.sock"},
		{"ftp://192.0.2.1", "not an address of an engine", "ssh://USER@HOST"},
		{"http://192.0.2.1:2375", "not an address of an engine", "tcp://HOST:PORT"},
		{"tcp://[::1", "not an address of an engine", "tcp://HOST:PORT"},
		{"tcp://host:port", "not an address of an engine", "tcp://HOST:PORT"},
		{"npipe:////./pipe/docker_engine", `cannot use "npipe" addresses`, "unix://PATH"},
		{"fd://3", `cannot use "fd" addresses`, "unix://PATH"},
		{"ssh://", "hostname is empty", "ssh://USER@HOST"},
		{"ssh://me:secret@host", "password is not supported", "ssh://USER@HOST"},
		{"ssh://host?x=1", "query parameters", "ssh://USER@HOST"},
		{"://", "not an address of an engine", "tcp://HOST:PORT"},
	} {
		clean(t)
		_, err := Resolve(c.name)
		u := unreachable(t, err, c.reason, c.remedy)
		if strings.Contains(u.Error(), "secret") {
			t.Errorf("the error shows a password: %v", u)
		}
		t.Setenv("DOCKER_HOST", c.name)
		_, err = Resolve("")
		unreachable(t, err, c.reason, c.remedy)
	}
}

func TestTargetString(t *testing.T) {
	for want, target := range map[string]Target{
		"tcp://192.0.2.1:2375 (context prod)": {Host: "tcp://192.0.2.1:2375", Source: "context prod"},
		"ssh://me:xxxxx@host":                 {Host: "ssh://me:secret@host"},
		"ssh://you:xxxxx@host":                {Host: "ssh://you:s@cr/et@host"},
		"ssh://me@host":                       {Host: "ssh://me@host"},
		"unix:///a:b@c":                       {Host: "unix:///a:b@c"},
		"unix:///a b":                         {Host: "unix:///a\n\x1bb"},
		"context gone":                        {Source: "context gone"},
	} {
		if got := target.String(); got != want {
			t.Errorf("%q is shown as %q", want, got)
		}
	}
}

func TestMayBeLocal(t *testing.T) {
	for host, want := range map[string]bool{
		"unix:///var/run/docker.sock": true,
		"tcp://localhost:2375":        true,
		"tcp://127.0.0.2:2375":        true,
		"tcp://[::1]:2376":            true,
		"tcp://192.0.2.1:2375":        false,
		"tcp://localhost.example:1":   false,
		"ssh://me@localhost":          false,
	} {
		if got := (Target{Host: host}).MayBeLocal(); got != want {
			t.Errorf("%s may be local: %t", host, got)
		}
	}
}

func TestBrokenConfiguration(t *testing.T) {
	f := clean(t)
	write(t, string(f), "config.json", `{"currentContext": `, 0o600)
	_, err := Resolve("")
	unreachable(t, err, "config.json", "fix that file")
	if got, err := Resolve("unix:///s"); err != nil || got.Host != "unix:///s" {
		t.Errorf("a named engine needs no configuration, but: %v, %v", got, err)
	}
	t.Setenv("DOCKER_HOST", "unix:///t")
	if got, err := Resolve(""); err != nil || got.Host != "unix:///t" {
		t.Errorf("DOCKER_HOST needs no configuration, but: %v, %v", got, err)
	}
}

func TestHomeConfiguration(t *testing.T) {
	f := clean(t)
	t.Setenv("DOCKER_CONFIG", "")
	home := t.TempDir()
	t.Setenv("HOME", home)
	iferr.Fatal(t, os.Rename(string(f), home+"/.docker"))
	f = folder(home + "/.docker")
	addContext(t, f, "prod", "tcp://192.0.2.1:2376", nil)
	write(t, string(f), "config.json", `{"currentContext": "prod"}`, 0o600)
	if got, err := Resolve(""); err != nil || got.Source != "context prod" {
		t.Errorf("found %v, %v", got, err)
	}
}

func TestUnknownContext(t *testing.T) {
	f := clean(t)
	addContext(t, f, "prod", "tcp://192.0.2.1:2376", nil)
	addContext(t, f, "staging", "tcp://192.0.2.2:2376", nil)

	_, err := Resolve("prodd")
	u := unreachable(t, err, "no such context (named by --docker-host)", `did you mean "prod"?`)
	if want := "docker engine of context prodd: "; !strings.HasPrefix(u.Error(), want) {
		t.Errorf("%v does not begin with %q", u, want)
	}
	_, err = Resolve("elsewhere")
	unreachable(t, err, "no such context", "contexts here: default, prod, staging; name a machine as tcp://HOST:PORT or ssh://USER@HOST")

	t.Setenv("DOCKER_CONTEXT", "stagin")
	_, err = Resolve("")
	unreachable(t, err, "no such context (named by DOCKER_CONTEXT)", `did you mean "staging"?`)

	t.Setenv("DOCKER_CONTEXT", "")
	write(t, string(f), "config.json", `{"currentContext": "gone"}`, 0o600)
	_, err = Resolve("")
	unreachable(t, err, "named by "+f.file("config.json"), "contexts here: ")
}

func TestBrokenContext(t *testing.T) {
	f := clean(t)
	addContext(t, f, "prod", "tcp://192.0.2.1:2376", nil)
	files, err := filepath.Glob(f.file("contexts/meta/*/meta.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	for text, reason := range map[string]string{
		`{`:                              "meta.json",
		`{"Name": "prod"}`:               "cannot find docker endpoint",
		`{"Endpoints": {"docker": "x"}}`: "meta.json",
		`{"Endpoints": {"docker": {"Host": "npipe:////./pipe/x"}}}`: `cannot use "npipe" addresses`,
	} {
		iferr.Fatal(t, os.WriteFile(files[0], []byte(text), 0o600))
		_, err := Resolve("prod")
		unreachable(t, err, reason, "")
	}
	iferr.Fatal(t, os.WriteFile(files[0], []byte(`{"Endpoints": {"docker": {}}}`), 0o600))
	if got, err := Resolve("prod"); err != nil || got.Host != "unix:///var/run/docker.sock" {
		t.Errorf("a context without an address is %v, %v", got, err)
	}
}

func TestContextCertificates(t *testing.T) {
	f := clean(t)
	a := newAuthority(t, "any")
	mine := a.issue(t, "me", time.Now().Add(time.Hour))
	addContext(t, f, "prod", "tcp://192.0.2.1:2376", map[string][]byte{
		"ca.pem": []byte(a.pem), "cert.pem": []byte(mine.cert), "key.pem": []byte(mine.key),
	})
	addContext(t, f, "plain", "tcp://192.0.2.1:2375", nil)
	t.Setenv("DOCKER_TLS_VERIFY", "1") // applies only to addresses
	t.Setenv("DOCKER_CERT_PATH", "/nowhere")
	got, err := Resolve("prod")
	if err != nil || !got.encrypted() || got.tls.Cert == nil || string(got.tls.CA) != a.pem || string(got.tls.Key) != mine.key {
		t.Errorf("context prod has certificates %v, %v", got.tls, err)
	}
	got, err = Resolve("plain")
	if err != nil || got.encrypted() {
		t.Errorf("context plain has certificates %v, %v", got.tls, err)
	}
}

func TestEnvironmentCertificates(t *testing.T) {
	clean(t)
	a := newAuthority(t, "any")
	t.Setenv("DOCKER_HOST", "tcp://192.0.2.1:2376")
	t.Setenv("DOCKER_CERT_PATH", pair{}.store(t, a.pem))
	if got, err := Resolve(""); err != nil || got.encrypted() {
		t.Errorf("without DOCKER_TLS_VERIFY: certificates %v, %v", got.tls, err)
	}
	t.Setenv("DOCKER_TLS_VERIFY", "0") // not empty, so it is set
	if got, err := Resolve(""); err != nil || !got.encrypted() || got.tls.Cert != nil || got.skipVerify {
		t.Errorf("with an authority alone: %+v, %v", got, err)
	}
	t.Setenv("DOCKER_TLS_VERIFY", "")
	t.Setenv("DOCKER_TLS", "1")
	if got, err := Resolve(""); err != nil || !got.encrypted() || !got.skipVerify {
		t.Errorf("DOCKER_TLS: %+v, %v", got, err)
	}
	t.Setenv("DOCKER_CERT_PATH", t.TempDir())
	_, err := Resolve("")
	unreachable(t, err, "DOCKER_TLS asks for TLS: open ", "DOCKER_CERT_PATH, or unset DOCKER_TLS")
	if got, err := Resolve("unix:///s"); err != nil || got.encrypted() {
		t.Errorf("a socket wants certificates: %+v, %v", got, err)
	}
}

// FuzzAddress checks that every address is either usable or refused in one line.
func FuzzAddress(f *testing.F) {
	for _, address := range []string{"", "unix:///s", "tcp://h:1", "ssh://me:secret@h", "h:1", "[::1]:", "/s", "://", "tcp://h/p", "a@b:c"} {
		f.Add(address)
	}
	dir := clean(f)
	f.Fuzz(func(t *testing.T, address string) {
		target, err := dir.byAddress(address, flag)
		if err != nil {
			if text := err.Error(); strings.ContainsAny(text, "\n\x1b") || !strings.HasPrefix(text, "docker engine ") {
				t.Errorf("%q is refused with %q", address, text)
			}
			return
		}
		switch target.scheme() {
		case "unix", "tcp", "ssh":
		default:
			t.Errorf("%q is %v", address, target)
		}
		_, client, err := prepare(target)
		if err == nil && client == nil {
			t.Errorf("%q: no client and no error", address)
		}
		_, _ = target.MayBeLocal(), target.String()
	})
}
