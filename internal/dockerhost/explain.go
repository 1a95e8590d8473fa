package dockerhost

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os/exec"
	"strings"
	"syscall"
)

// explain says what a failed connection means and what would fix it.
func explain(t Target, err error) *Unreachable {
	u := &Unreachable{Target: t, Err: err}
	for _, about := range []func(Target, error) (string, string){aboutSSH, aboutDialling, aboutTLS, aboutHTTP} {
		if u.Reason, u.Remedy = about(t, err); u.Reason != "" {
			return u
		}
	}
	u.Reason, u.Remedy = oneLine(err.Error()), fix
	return u
}

// fix is the advice where nothing better is known.
const fix = "check the address, or name another engine with " + flag

func aboutSSH(t Target, err error) (reason, remedy string) {
	var failed *sshFailed
	switch {
	case errors.As(err, &failed):
		return failed.Error(), t.tryLogin()
	case t.scheme() == "ssh" && errors.Is(err, exec.ErrNotFound):
		return "there is no program ssh here", "install it (apt install openssh-client)"
	}
	return "", ""
}

func aboutDialling(t Target, err error) (reason, remedy string) {
	local := t.scheme() == "unix"
	start := "is dockerd running? start it, or name another engine with " + flag
	var name *net.DNSError
	var operation *net.OpError
	switch {
	case errors.As(err, &name) && name.IsNotFound:
		return fmt.Sprintf("no machine is known as %s", quoted(name.Name)), "check the name, or write the address"
	case errors.As(err, &name):
		return fmt.Sprintf("the name %s cannot be looked up (%s)", quoted(name.Name), oneLine(name.Err)), "check the name server, or write the address"
	case !errors.As(err, &operation) || operation.Op != "dial":
		return "", ""
	case local && errors.Is(err, fs.ErrNotExist):
		if other := rootless(t.address()); other != "" {
			return "no such socket", "an engine without root seems to be at unix://" + other + ": name it with " + flag
		}
		return "no such socket", start
	case local && errors.Is(err, fs.ErrPermission):
		return denied(t.address())
	case local && errors.Is(err, syscall.ECONNREFUSED):
		if notSocket(t.address()) {
			return "this is not a socket", fix
		}
		return "nobody listens on the socket", start
	case local:
		return oneLine(operation.Err.Error()), fix
	case errors.Is(err, syscall.ECONNREFUSED):
		return operation.Addr.String() + " refuses the connection", "is dockerd running there, with -H " + t.redacted() +
			"? without, it listens on its socket only, which ssh://USER@HOST reaches"
	}
	return oneLine(operation.Err.Error()), "check address and network"
}

// daemonSays is what the library puts before the text of an answer.
const daemonSays = "Error response from daemon: "

func aboutHTTP(t Target, err error) (reason, remedy string) {
	// The library and net/http have no types for these.
	text := err.Error()
	switch {
	case strings.Contains(text, "HTTP request to an HTTPS server"), strings.Contains(text, `malformed HTTP response "\x15\x03`):
		return "it speaks TLS", t.useCertificates()
	case strings.Contains(text, "malformed HTTP"), strings.Contains(text, "readLoopPeekFailLocked: %!w(<nil>)"):
		return "what listens there does not speak HTTP", fix
	case strings.HasPrefix(text, daemonSays), strings.HasPrefix(text, "request returned "):
		reason = "what answers there is an HTTP server, but no Docker engine"
		if said := strings.TrimPrefix(text, daemonSays); !strings.Contains(said, "<") { // no web page
			reason += ": " + oneLine(said)
		}
		return reason, fix
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE),
		strings.Contains(text, "server closed idle connection"): // it ends before the question was sent
		reason = "it ends the connection without an answer"
		var record tls.RecordHeaderError
		if t.encrypted() && !t.authenticated() && !errors.As(err, &record) {
			return reason + ", as engines do that want a client certificate", t.useCertificates()
		}
		return reason, "see its log"
	}
	return "", ""
}
