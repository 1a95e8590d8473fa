package dockerhost

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

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
	unreachable(t, err, "no such context", "contexts here: default, prod, staging; a machine is named as tcp://HOST:PORT or ssh://USER@HOST")

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
		if err := os.WriteFile(files[0], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Resolve("prod")
		unreachable(t, err, reason, "")
	}
	if err := os.WriteFile(files[0], []byte(`{"Endpoints": {"docker": {}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
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
	t.Setenv("DOCKER_TLS_VERIFY", "1") // is for addresses only
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
	t.Setenv("DOCKER_TLS_VERIFY", "0") // not empty
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
