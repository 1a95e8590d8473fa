package dial

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/moby/moby/client"
)

// Unreachable says why an engine cannot be used, and what would fix it, in one
// line.
type Unreachable struct {
	Target Target // with no Host where none was found
	Reason string // "no such socket"
	Remedy string // "is dockerd running? …"
	Err    error  // what was seen; may be nil
}

// Error is one line, whatever others have put into it.
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

// Unwrap gives what was seen.
func (u *Unreachable) Unwrap() error { return u.Err }

// unusable says of a target what is wrong with it in the words of an error.
func (t Target) unusable(err error, remedy string) *Unreachable {
	return &Unreachable{Target: t, Reason: words(err), Remedy: remedy, Err: err}
}

const (
	// fix is the advice where nothing better is known.
	fix       = "check the address, or name another engine with " + flag
	start     = "is dockerd running? start it, or name another engine with " + flag
	notEngine = "what answers there is an HTTP server, not a Docker engine"
	// daemonSays is what the library puts before the text of an answer.
	daemonSays = "Error response from daemon: "
)

// explain says what a failed question means and what would fix it: what is here, the way to
// the engine, TLS, or what listens in its place. For the last two the library and net/http have
// few types.
func explain(t Target, err error) *Unreachable {
	u := t.unusable(err, fix)
	text, local := err.Error(), t.scheme() == "unix"
	says := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(text, w) {
				return true
			}
		}
		return false
	}
	is := func(targets ...error) bool {
		for _, target := range targets {
			if errors.Is(err, target) {
				return true
			}
		}
		return false
	}
	switch {
	case errors.As(err, new(*sshFailed)):
		u.Remedy = t.tryLogin()
	case is(exec.ErrNotFound):
		u.Reason, u.Remedy = "there is no program ssh here", "install it (apt install openssh-client)"

	case local && is(fs.ErrNotExist):
		u.Reason, u.Remedy = "no such socket", start
		if other := rootless(t.address()); other != "" {
			u.Remedy = "an engine without root seems to be at unix://" + other + ": name it with " + flag
		}
	case local && is(fs.ErrPermission):
		u.Reason, u.Remedy = denied(t.address())
	case local && is(syscall.ECONNREFUSED):
		u.Reason, u.Remedy = "nobody listens there", start
	case is(syscall.ECONNREFUSED):
		u.Remedy = "is dockerd running there, with -H " + t.redacted() + "? without, it listens on its socket only, which ssh://USER@HOST reaches"
	case errors.As(err, new(*net.DNSError)):
		u.Remedy = "check the name, or write the address"
	case !local && says("dial tcp"):
		u.Remedy = "check address and network"

	case errors.As(err, new(*tls.CertificateVerificationError)):
		u.Remedy = "check its certificate and the clock: " + t.useCertificates()
	case says("remote error: tls: "):
		u.Reason, u.Remedy = "it wants a client certificate that it trusts: "+u.Reason, t.useCertificates()
	case errors.As(err, new(tls.RecordHeaderError)), says("HTTP response to HTTPS client"):
		u.Reason, u.Remedy = "it does not speak TLS", "check the port: engines speak TLS on 2376; or use no certificates ("+client.EnvTLSVerify+", "+envTLS+", those of the context)"
	case says("HTTP request to an HTTPS server", `malformed HTTP response "\x15\x03`):
		u.Reason, u.Remedy = "it speaks TLS", t.useCertificates()

	case says("malformed HTTP", "readLoopPeekFailLocked: %!w(<nil>)"):
		u.Reason = "what listens there does not speak HTTP"
	case strings.HasPrefix(text, daemonSays), strings.HasPrefix(text, "request returned "):
		said := u.Reason
		if u.Reason = notEngine; !strings.Contains(said, "<") { // no web page
			u.Reason += ": " + said
		}
	case is(io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE),
		says("server closed idle connection"): // before the question was sent
		u.Reason, u.Remedy = "it ends the connection without an answer", "see its log"
		if t.encrypted() && (t.tls == nil || t.tls.Cert == nil) {
			u.Remedy = "it may want a client certificate: " + t.useCertificates()
		}
	}
	return u
}

// silent is the error for an engine that has not answered in time.
func silent(t Target, limit time.Duration, err error) error {
	remedy := "check address and port, and that no firewall drops the connection"
	switch t.scheme() {
	case "unix":
		remedy = "it may hang: see its log (journalctl -u docker), or restart it"
	case "ssh":
		remedy = t.tryLogin()
	}
	return &Unreachable{Target: t, Reason: fmt.Sprintf("no answer within %v", limit), Remedy: remedy, Err: err}
}

// rootless is the socket of an engine that runs as this user, if there is one and
// it is not the one at path.
func rootless(path string) string {
	dir := os.Getenv("XDG_RUNTIME_DIR")
	other := filepath.Join(dir, "docker.sock")
	info, err := os.Stat(other)
	if dir == "" || other == path || err != nil || info.Mode()&os.ModeSocket == 0 {
		return ""
	}
	return oneLine(other)
}

// denied explains why a socket may not be used: by its group if it has one that users
// can join, and else by its owner.
func denied(path string) (reason, remedy string) {
	const asRoot, groupWrite = "run as root", 0o020
	info, err := os.Stat(path)
	if err != nil {
		return "permission denied on the way to the socket", asRoot
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "permission denied", asRoot
	}
	if info.Mode()&groupWrite != 0 && stat.Gid != 0 { // nobody joins root's
		group := strconv.Itoa(int(stat.Gid))
		if g, err := user.LookupGroupId(group); err == nil {
			group = g.Name
		}
		return "permission denied: the socket belongs to group " + group,
			"as root: usermod -aG " + group + " USER, then log in again; or " + asRoot
	}
	owner := strconv.Itoa(int(stat.Uid))
	if u, err := user.LookupId(owner); err == nil {
		owner = u.Username
	}
	return "permission denied: the socket is for " + owner + " only", asRoot
}

// longest is how much of a foreign text is shown, in letters.
const longest = 300

// words are an error's own, without the question's address.
func words(err error) string {
	var request *url.Error
	if errors.As(err, &request) {
		err = request.Err
	}
	return oneLine(strings.TrimPrefix(err.Error(), daemonSays))
}

// oneLine makes a text that others wrote fit for a line of an error: no line
// breaks, nothing that a terminal would act on, and not endless.
func oneLine(text string) string {
	words := strings.FieldsFunc(strings.ToValidUTF8(text, "\uFFFD"), func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	})
	line := []rune(strings.Join(words, " "))
	if len(line) > longest {
		return string(line[:longest-1]) + "…"
	}
	return string(line)
}

// lastLine is the last line of a text that says something.
func lastLine(text string) (last string) {
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		if line = oneLine(line); line != "" {
			last = line
		}
	}
	return last
}

func quoted(text string) string { return `"` + oneLine(text) + `"` }
