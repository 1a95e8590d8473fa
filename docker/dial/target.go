// Package dial finds Docker engines and connects to them as the docker command does. Resolve finds the
// engine that docker ps would talk to.
//
// The package does not determine whether an engine runs on this machine, because its API does not show
// that: names of hosts are not unique, and an engine in a virtual machine has a socket here. The boot
// id that a container of the engine reads decides it.
package dial

import (
	"cmp"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strings"

	"github.com/docker/cli/cli/connhelper/ssh"
	dockercontext "github.com/docker/cli/cli/context"
	"github.com/moby/moby/client"
)

// Target is an engine, and where its address was found. Resolve returns targets; one that has only a Host
// is reached without TLS.
type Target struct {
	Host   string // "unix:///var/run/docker.sock", "tcp://192.0.2.1:2376", "ssh://user@host"
	Source string // "--docker-host", "DOCKER_HOST", "DOCKER_TLS_VERIFY", "context prod", "default socket"

	tls        *dockercontext.TLSData
	skipVerify bool // the engine's certificate is not verified
	headers    map[string]string
}

// contextSource is the prefix of the Source of a Target that comes from a context.
const contextSource = "context "

// addresses is the advice that lists the kinds of addresses.
const addresses = "name it as unix://PATH, tcp://HOST:PORT or ssh://USER@HOST"

// check checks an address before anything is sent to it.
func (t Target) check() error {
	switch t.scheme() {
	case "unix", "tcp":
		return nil
	case "ssh":
		if _, err := ssh.ParseURL(t.Host); err != nil {
			return t.unusable(err, addresses)
		}
		return nil
	}
	return t.unusable(fmt.Errorf("nettoll cannot use %s addresses", quoted(t.scheme())), addresses)
}

// String returns the address and where it was found, without a password.
func (t Target) String() string {
	switch {
	case t.Host == "":
		return cmp.Or(t.Source, "no name")
	case t.Source == "":
		return t.redacted()
	}
	return t.redacted() + " (" + t.Source + ")"
}

// MayBeLocal reports whether the engine can be on this machine: it is reached over a Unix socket or a
// loopback address. It can still be in a virtual machine, or behind a forwarded port.
func (t Target) MayBeLocal() bool {
	switch t.scheme() {
	case "unix":
		return true
	case "tcp":
		u, err := url.Parse(t.Host)
		if err != nil {
			return false
		}
		addr, err := netip.ParseAddr(u.Hostname())
		return u.Hostname() == "localhost" || err == nil && addr.IsLoopback()
	}
	return false
}

func (t Target) scheme() string {
	scheme, _, _ := strings.Cut(t.Host, "://")
	return scheme
}

// address returns the part after the scheme: for a Unix socket, its path.
func (t Target) address() string {
	_, address, _ := strings.Cut(t.Host, "://")
	return address
}

// encrypted reports whether the connection uses TLS.
func (t Target) encrypted() bool { return t.scheme() == "tcp" && (t.tls != nil || t.skipVerify) }

var password = regexp.MustCompile(`(://[^/@:]*):.*@`)

// redacted returns the address in a form that can be shown: in one line and without a password.
func (t Target) redacted() string { return foreign(Redacted(t.Host)) }

// Redacted returns an engine's address without a password.
func Redacted(host string) string { return password.ReplaceAllString(host, "$1:xxxxx@") }

// useCertificates returns advice on how to configure certificates for the engine.
func (t Target) useCertificates() string {
	if name, ok := strings.CutPrefix(t.Source, contextSource); ok {
		return "docker context update " + name + " --docker host=" + t.redacted() + ",ca=FILE,cert=FILE,key=FILE"
	}
	return "put ca.pem, cert.pem and key.pem into a folder and set " +
		client.EnvTLSVerify + "=1 " + client.EnvOverrideCertPath + "=FOLDER"
}

// login returns advice with the command that asks the machine's docker for its version, and shows the messages of ssh and of the
// machine.
func (t Target) login(advice string, options ...string) string {
	spec, err := ssh.ParseURL(t.Host)
	if err != nil {
		return fix
	}
	args, err := spec.Command(options, "docker", "version")
	if err != nil {
		return fix
	}
	return advice + ": ssh " + foreign(strings.Join(args, " "))
}
