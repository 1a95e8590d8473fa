package dial

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"nettoll/internal/oneline"
	"nettoll/platform"
)

// Unreachable states in one line why an engine cannot be used, and what would fix it.
type Unreachable struct {
	Target Target // Host is empty if no engine was found
	Reason string // "no such socket"
	Remedy string // "is dockerd running? …"
	Err    error  // the underlying error; may be nil
}

// Error returns one line, whatever the underlying texts contain.
func (u *Unreachable) Error() string {
	at := " at "
	if u.Target.Host == "" {
		at = " of "
	}
	s := "docker engine" + at + u.Target.String() + ": " + u.Reason
	if u.Remedy != "" {
		s += "; " + u.Remedy
	}
	return s
}

// Unwrap returns the underlying error.
func (u *Unreachable) Unwrap() error { return u.Err }

// unusable returns an error about a target, with the text of err as its reason.
func (t Target) unusable(err error, remedy string) *Unreachable {
	return &Unreachable{Target: t, Reason: words(err), Remedy: remedy, Err: err}
}

const (
	// fix is the advice if nothing better is known.
	fix       = "check the address, or name another engine with " + flag
	start     = "is dockerd running? start it, or name another engine with " + flag
	notEngine = "it is an HTTP server, not a Docker engine"
	// daemonSays is what the library puts before the text of an answer.
	daemonSays = "Error response from daemon: "
)

// explain returns an error that states why a request failed and what would fix it. There are six causes: ssh fails,
// nobody listens, this user lacks permission, the network does not lead there, the two sides do not agree on
// TLS, or the listener is not an engine. The last two are recognised by texts, since the library and net/http
// have few error types for them.
func explain(t Target, err error) *Unreachable {
	u := t.unusable(err, fix)
	text, local := err.Error(), t.scheme() == "unix"
	says := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
	}
	is := func(targets ...error) bool {
		return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
	}
	switch {
	case errors.As(err, new(*sshFailed)) && says("Host key verification failed"):
		u.Remedy = t.login("log in once, and check its host key")
	case errors.As(err, new(*sshFailed)):
		u.Remedy = t.login("try", "-o", "BatchMode=yes")
	case is(exec.ErrNotFound):
		u.Reason, u.Remedy = "ssh is not installed here", platform.Install("openssh-client")

	case local && is(fs.ErrNotExist):
		u.Reason, u.Remedy = "no such socket", start
	case local && is(syscall.ECONNREFUSED):
		u.Reason, u.Remedy = "nobody listens there", start
	case is(syscall.ECONNREFUSED):
		u.Remedy = "is dockerd running there with -H " + t.redacted() + "? without -H it listens only on its socket, which you can reach as ssh://USER@HOST"

	case local && is(fs.ErrPermission):
		u.Reason, u.Remedy = "permission denied", "run as root, or join the group that the socket belongs to (usermod -aG docker USER) and log in again"

	case errors.As(err, new(*net.DNSError)), !local && says("dial tcp"):
		u.Remedy = "check the address and the network"

	case errors.As(err, new(*tls.CertificateVerificationError)), errors.As(err, new(tls.RecordHeaderError)),
		says("remote error: tls: ", "HTTP response to HTTPS client", "HTTP request to an HTTPS server", `malformed HTTP response "\x15\x03`):
		u.Reason = "the two sides do not agree on TLS: " + u.Reason
		u.Remedy = "check certificates, clock and port (engines speak TLS on 2376): " + t.useCertificates()

	case says("malformed HTTP", "readLoopPeekFailLocked: %!w(<nil>)"):
		u.Reason = "it does not speak HTTP"
	case strings.HasPrefix(text, daemonSays), strings.HasPrefix(text, "request returned "):
		said := u.Reason
		if u.Reason = notEngine; !strings.Contains(said, "<") { // not a web page
			u.Reason += ": " + said
		}
	case is(io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE),
		says("server closed idle connection"): // before the request was sent
		u.Reason, u.Remedy = "it ends the connection without an answer", "see its log"
		if t.encrypted() {
			u.Remedy += "; it may want a client certificate: " + t.useCertificates()
		}
	}
	return u
}

// silent returns the error for an engine that has not answered in time.
func silent(t Target, limit time.Duration, err error) error {
	remedy := "check address and port, and that no firewall drops the connection"
	switch t.scheme() {
	case "unix":
		remedy = "it may hang: see its log (journalctl -u docker), or restart it"
	case "ssh":
		remedy = t.login("try", "-o", "BatchMode=yes")
	}
	return &Unreachable{Target: t, Reason: fmt.Sprintf("no answer within %v", limit), Remedy: remedy, Err: err}
}

// longest is how much of a foreign text is shown, in characters.
const longest = 300

// words returns the text of an error, without the request's address.
func words(err error) string {
	if request, ok := errors.AsType[*url.Error](err); ok {
		err = request.Err
	}
	return foreign(strings.TrimPrefix(err.Error(), daemonSays))
}

// foreign makes a text of others fit for an error.
func foreign(text string) string { return oneline.Cut(oneline.Words(text), longest) }

func quoted(text string) string { return `"` + foreign(text) + `"` }
