package dial

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/cli/cli/config"
	dockercontext "github.com/docker/cli/cli/context"
	"github.com/docker/cli/cli/context/docker"
	"github.com/docker/cli/cli/context/store"
	"github.com/docker/cli/opts"
	"github.com/moby/moby/client"

	"nettoll/plan"
)

const (
	flag           = "--docker-host"
	envContext     = "DOCKER_CONTEXT"
	envTLS         = "DOCKER_TLS"            // TLS without verification of the engine's certificate
	envHeaders     = "DOCKER_CUSTOM_HEADERS" // replaces the configuration's HttpHeaders
	defaultContext = "default"
)

// Resolve finds an engine. A name is a URL (unix://, tcp://, ssh://), a host with a port, or a context's
// name. For the empty name it finds the engine that the docker command would use: DOCKER_HOST, or else
// the context named by DOCKER_CONTEXT or the configuration, or else the default socket. The context
// "default" means DOCKER_HOST or the default socket, as for the docker command. DOCKER_TLS_VERIFY,
// DOCKER_TLS and DOCKER_CERT_PATH apply to addresses; contexts have their own certificates. Every error
// is an *Unreachable.
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
			return Target{}, Target{Source: "the current context"}.unusable(unreadable, "fix that file, or name an engine with "+flag)
		case settings.CurrentContext != "":
			chosen, from = settings.CurrentContext, f.file(config.ConfigFileName)
		}
	}
	var t Target
	var err error
	switch isAddress := strings.ContainsAny(name, ":/"); { // names of contexts contain neither
	case isAddress:
		t, err = f.byAddress(name, flag)
	case chosen == defaultContext:
		t, err = f.byDefault()
	default:
		t, err = f.byContext(chosen, from)
	}
	if err != nil {
		return Target{}, err
	}
	if t.headers, err = headers(settings.HTTPHeaders, os.Getenv(envHeaders)); err != nil {
		return Target{}, t.unusable(err, "write "+envHeaders+" as NAME=VALUE,NAME=VALUE, or unset it")
	}
	return t, nil
}

// headers returns the headers that the user wants in each request, for engines behind a proxy: the
// configuration's, or those of envHeaders, which is one line of CSV with NAME=VALUE in each field.
func headers(configured map[string]string, env string) (map[string]string, error) {
	if env == "" {
		return configured, nil
	}
	fields, err := csv.NewReader(strings.NewReader(env)).Read()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", envHeaders, err)
	}
	all := map[string]string{}
	for _, f := range fields {
		name, value, ok := strings.Cut(f, "=")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, fmt.Errorf("read %s: %q is not NAME=VALUE", envHeaders, f)
		}
		all[http.CanonicalHeaderKey(name)] = value
	}
	return all, nil
}

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

// byDefault returns the engine that the context "default" means.
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
	named := Target{Source: source + " " + quoted(Target{Host: address}.redacted())}
	if strings.HasPrefix(address, "/") {
		return Target{}, named.unusable(errors.New("this is a path, not an address"), "name a socket as unix://"+foreign(address))
	}
	host, err := opts.ParseHost(tlsWanted() != "", address)
	if err != nil {
		return Target{}, named.unusable(errors.New("this is not an address of an engine"), addresses)
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

// tlsWanted returns the name of the variable that asks for TLS to addresses, or "".
func tlsWanted() string {
	for _, name := range []string{client.EnvTLSVerify, envTLS} {
		if os.Getenv(name) != "" {
			return name
		}
	}
	return ""
}

// tlsFromEnv sets a target's certificates from the environment, if it asks for TLS. As for the docker
// command, the authority's certificate is required and the client's is not.
func (f folder) tlsFromEnv(t *Target) error {
	by := tlsWanted()
	if by == "" {
		return nil
	}
	dir := cmp.Or(os.Getenv(client.EnvOverrideCertPath), string(f))
	present := func(name string) string {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return ""
		}
		return path
	}
	data, err := dockercontext.TLSDataFromFiles(filepath.Join(dir, "ca.pem"), present("cert.pem"), present("key.pem"))
	if err != nil {
		return t.unusable(fmt.Errorf("%s asks for TLS: %w", by, err),
			"put ca.pem, cert.pem and key.pem there, name their folder in "+client.EnvOverrideCertPath+", or unset "+by)
	}
	t.tls, t.skipVerify = data, by != client.EnvTLSVerify
	return nil
}

func (f folder) contexts() *store.ContextStore {
	endpoint := store.EndpointTypeGetter(docker.DockerEndpoint, func() any { return &docker.EndpointMeta{} })
	return store.New(f.file("contexts"), store.NewConfig(nil, endpoint))
}

// byContext reads a context; from is where it was named.
func (f folder) byContext(name, from string) (Target, error) {
	contexts, named := f.contexts(), Target{Source: contextSource + foreign(name)}
	metadata, err := contexts.GetMetadata(name)
	if cerrdefs.IsNotFound(err) {
		return Target{}, named.unusable(fmt.Errorf("there is no such context (named by %s)", from), instead(name, from, contexts))
	}
	var endpoint docker.EndpointMeta
	if err == nil {
		endpoint, err = docker.EndpointFromContext(metadata)
	}
	var tls *dockercontext.TLSData
	if err == nil {
		tls, err = dockercontext.LoadTLSData(contexts, name, docker.DockerEndpoint)
	}
	if err != nil {
		return Target{}, named.unusable(err,
			fmt.Sprintf("fix it with docker context update %s --docker host=HOST, or name another engine with %s", name, flag))
	}
	t := Target{Host: cmp.Or(endpoint.Host, client.DefaultDockerHost), Source: contextSource + name, tls: tls, skipVerify: endpoint.SkipTLSVerify}
	return t, t.check()
}

// instead returns a remedy that lists the existing contexts.
func instead(name, from string, contexts store.Lister) string {
	names, _ := store.Names(contexts) // nothing can be suggested from an unreadable store
	names = append([]string{defaultContext}, names...)
	remedy := "contexts here: " + foreign(strings.Join(names, ", "))
	if near, ok := plan.Nearest(name, names); ok {
		remedy = fmt.Sprintf("did you mean %q? %s", near, remedy)
	}
	if from == flag {
		remedy += "; name a machine as tcp://HOST:PORT or ssh://USER@HOST"
	}
	return remedy
}
