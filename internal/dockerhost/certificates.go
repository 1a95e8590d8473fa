package dockerhost

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	dockercontext "github.com/docker/cli/cli/context"
	"github.com/moby/moby/client"
)

const envTLS = "DOCKER_TLS" // TLS without a look at the engine's certificate

// tlsWanted is the variable that asks for TLS to addresses, if one does.
func tlsWanted() string {
	for _, name := range []string{client.EnvTLSVerify, envTLS} {
		if os.Getenv(name) != "" {
			return name
		}
	}
	return ""
}

// tlsFromEnv gives a target the certificates that the environment names, if it asks
// for TLS. As for the docker command, the authority's certificate must be there and
// the client's need not.
func (f folder) tlsFromEnv(t *Target) error {
	by := tlsWanted()
	if by == "" {
		return nil
	}
	dir := os.Getenv(client.EnvOverrideCertPath)
	if dir == "" {
		dir = string(f)
	}
	present := func(name string) string {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return ""
		}
		return path
	}
	data, err := dockercontext.TLSDataFromFiles(filepath.Join(dir, "ca.pem"), present("cert.pem"), present("key.pem"))
	if err != nil {
		return &Unreachable{
			Target: *t, Reason: by + " asks for TLS: " + oneLine(err.Error()),
			Remedy: "put ca.pem, cert.pem and key.pem there, name their folder in " + client.EnvOverrideCertPath + ", or unset " + by,
			Err:    err,
		}
	}
	t.tls, t.skipVerify = data, by != client.EnvTLSVerify
	return nil
}

// useCertificates says how certificates are given to the engine's user.
func (t Target) useCertificates() string {
	if name, ok := strings.CutPrefix(t.Source, contextSource); ok {
		return "docker context update " + name + " --docker host=" + t.redacted() + ",ca=FILE,cert=FILE,key=FILE"
	}
	return "put ca.pem, cert.pem and key.pem into a folder and set " +
		client.EnvTLSVerify + "=1 " + client.EnvOverrideCertPath + "=FOLDER"
}
