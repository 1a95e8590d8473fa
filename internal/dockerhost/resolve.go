package dockerhost

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"github.com/docker/cli/cli/config"
	"github.com/docker/cli/cli/connhelper/ssh"
	"github.com/docker/cli/opts"
	"github.com/moby/moby/client"
)

const (
	flag           = "--docker-host"
	envContext     = "DOCKER_CONTEXT"
	defaultContext = "default"
)

// Resolve finds an engine. A name is a URL (unix://, tcp://, ssh://), a host with a
// port, or a context's name. With the empty name it is what the docker command would
// use: DOCKER_HOST, or else the context that DOCKER_CONTEXT or the configuration
// names, or else the default socket. The context "default" is, as there, DOCKER_HOST
// or the default socket. DOCKER_TLS_VERIFY, DOCKER_TLS and DOCKER_CERT_PATH are for
// addresses; contexts have their own certificates. Every error is an *Unreachable.
func Resolve(name string) (Target, error) {
	f := folder(configFolder())
	settings, unreadable := config.Load(string(f))
	chosen, from := name, flag
	if name == "" {
		chosen, from = defaultContext, ""
		switch byEnv := os.Getenv(envContext); {
		case os.Getenv(client.EnvOverrideHost) != "":
		case byEnv != "":
			chosen, from = byEnv, envContext
		case unreadable != nil:
			return Target{}, &Unreachable{
				Target: Target{Source: "the current context"}, Reason: oneLine(unreadable.Error()),
				Remedy: "fix that file, or name an engine with " + flag, Err: unreadable,
			}
		case settings.CurrentContext != "":
			chosen, from = settings.CurrentContext, f.file(config.ConfigFileName)
		}
	}
	var t Target
	var err error
	switch {
	case name != "" && isAddress(name):
		t, err = f.byAddress(name, flag)
	case chosen == defaultContext:
		t, err = f.byDefault()
	default:
		t, err = f.byContext(chosen, from)
	}
	if err != nil {
		return Target{}, err
	}
	t.headers, err = headers(settings.HTTPHeaders, os.Getenv(envHeaders))
	if err != nil {
		return Target{}, &Unreachable{
			Target: t, Reason: oneLine(err.Error()),
			Remedy: "write " + envHeaders + " as NAME=VALUE,NAME=VALUE, or unset it", Err: err,
		}
	}
	return t, nil
}

// isAddress tells addresses from names of contexts, which have neither of the two.
func isAddress(name string) bool { return strings.ContainsAny(name, ":/") }

// folder is where the docker command keeps its configuration.
type folder string

func configFolder() string {
	if dir := os.Getenv(config.EnvOverrideConfigDir); dir != "" {
		return dir
	}
	home, err := os.UserHomeDir()
	if err != nil {
		if u, err := user.Current(); err == nil {
			home = u.HomeDir
		}
	}
	return filepath.Join(home, ".docker")
}

func (f folder) file(name string) string { return filepath.Join(string(f), name) }

// byDefault is what the context "default" stands for.
func (f folder) byDefault() (Target, error) {
	if host := strings.TrimSpace(os.Getenv(client.EnvOverrideHost)); host != "" {
		return f.byAddress(host, client.EnvOverrideHost)
	}
	source := "default socket"
	if by := tlsWanted(); by != "" {
		source = by // the default is then tcp://localhost:2376
	}
	return f.byAddress("", source)
}

func (f folder) byAddress(address, source string) (Target, error) {
	wrong := &Unreachable{Target: Target{Source: source + " " + quoted(Target{Host: address}.redacted())}}
	if strings.HasPrefix(address, "/") {
		wrong.Reason, wrong.Remedy = "this is a path and no address", "a socket is named unix://"+oneLine(address)
		return Target{}, wrong
	}
	host, err := opts.ParseHost(tlsWanted() != "", address)
	if err != nil {
		wrong.Reason, wrong.Remedy, wrong.Err = "this is no address of an engine", addresses, err
		return Target{}, wrong
	}
	t := Target{Host: host, Source: source}
	if err := t.check(); err != nil {
		return Target{}, err
	}
	if t.scheme() == "tcp" {
		err = f.tlsFromEnv(&t)
	}
	return t, err
}

// addresses says which there are.
const addresses = "name it as unix://PATH, tcp://HOST:PORT or ssh://USER@HOST"

// check finds what is wrong with an address before anything is sent to it.
func (t Target) check() error {
	switch t.scheme() {
	case "unix", "tcp":
		return nil
	case "ssh":
		if _, err := ssh.ParseURL(t.Host); err != nil {
			return &Unreachable{Target: t, Reason: oneLine(err.Error()), Remedy: addresses, Err: err}
		}
		return nil
	}
	return &Unreachable{
		Target: t, Reason: fmt.Sprintf("nettoll cannot use %s addresses", quoted(t.scheme())), Remedy: addresses,
	}
}
