// Package dockerhost finds Docker engines as the docker command does, and
// connects to them. What docker ps would talk to is what Resolve finds.
//
// Whether an engine runs on this very machine is not said here, because its API
// cannot tell: names of hosts are not unique, and an engine in a virtual machine
// has a socket here. The boot id that a container of the engine reads decides it.
package dockerhost

import (
	"cmp"
	"net/netip"
	"net/url"
	"strings"

	dockercontext "github.com/docker/cli/cli/context"
)

// Target is an engine, and where its address was found. Targets are made by
// Resolve; one that has only a Host is reached without TLS.
type Target struct {
	Host   string // "unix:///var/run/docker.sock", "tcp://192.0.2.1:2376", "ssh://user@host"
	Source string // "--docker-host", "DOCKER_HOST", "DOCKER_TLS_VERIFY", "context prod", "default socket"

	tls        *dockercontext.TLSData
	skipVerify bool // of the engine's certificate
	headers    map[string]string
}

// String is the address and where it was found, without a password.
func (t Target) String() string {
	switch {
	case t.Host == "":
		return cmp.Or(t.Source, "no name")
	case t.Source == "":
		return t.redacted()
	}
	return t.redacted() + " (" + t.Source + ")"
}

// MayBeLocal reports whether the engine can be on this machine: it is reached
// over a Unix socket or a loopback address. It can still be in a virtual machine,
// or behind a forwarded port.
func (t Target) MayBeLocal() bool {
	switch t.scheme() {
	case "unix":
		return true
	case "tcp":
		name := t.hostname()
		addr, err := netip.ParseAddr(name)
		return name == "localhost" || err == nil && addr.IsLoopback()
	}
	return false
}

func (t Target) scheme() string {
	scheme, _, _ := strings.Cut(t.Host, "://")
	return scheme
}

// address is what stands behind the scheme: of a Unix socket, its path.
func (t Target) address() string {
	_, address, _ := strings.Cut(t.Host, "://")
	return address
}

// hostname is the name or address of the machine, without port, user and path.
func (t Target) hostname() string {
	u, err := url.Parse(t.Host)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// encrypted is whether TLS is spoken to the engine.
func (t Target) encrypted() bool { return t.scheme() == "tcp" && (t.tls != nil || t.skipVerify) }

// authenticated is whether a client certificate is shown to the engine.
func (t Target) authenticated() bool { return t.tls != nil && t.tls.Cert != nil && t.tls.Key != nil }

// redacted is the address as it can be shown: in one line and without a password.
func (t Target) redacted() string {
	before, after, found := strings.Cut(t.Host, "@")
	scheme, user, _ := strings.Cut(before, "://")
	name, _, hasPassword := strings.Cut(user, ":")
	if !found || !hasPassword || scheme == "unix" {
		return oneLine(t.Host)
	}
	return oneLine(scheme + "://" + name + ":xxxxx@" + after)
}
