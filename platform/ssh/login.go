package ssh

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"time"

	"nettoll/agent"
	"nettoll/internal/bootstrap"
	"nettoll/internal/nsexec"
	"nettoll/internal/oneline"
	"nettoll/internal/remote"
	"nettoll/internal/uplink"
	"nettoll/platform"
)

// unreachable is the error for a machine on which no agent could be started.
type unreachable struct {
	Target string // as the user named it
	Err    error
	Fix    string
}

func (u *unreachable) Error() string {
	return fmt.Sprintf("ssh %s: %v; %s", u.Target, u.Err, u.Fix)
}

func (u *unreachable) Unwrap() error { return u.Err }

// machine is a machine that nettoll has logged in to.
type machine struct {
	*remote.Host
	target string
	reach  netip.Addr // its own address at which the login arrived; invalid if that is not known
	stop   func()     // the heartbeats
}

// loginTime bounds a login and the transfer of the agent: 5 MB take 40 s over 1 Mbit/s.
const loginTime = 5 * time.Minute

// connectTime is how long ssh may take to connect, in seconds. By itself it would wait for minutes.
const connectTime = "15"

// connect logs in to the machine that is the host of a name, and starts an agent there.
func (s *SSH) connect(ctx context.Context, name, target string) (*machine, error) {
	asked := ctx
	ctx, cancel := context.WithTimeoutCause(ctx, loginTime, fmt.Errorf("it took more than %v", loginTime))
	defer cancel()
	mark := bootstrap.Mark()
	// A key that asks for a passphrase, or an unknown host key, fails the login instead of asking for it: the
	// terminal shows the progress of the run.
	// A connection that the user's other sessions shared would end with nettoll's, and so would they: it shares one that is
	// there, and offers none. Ports that the user's configuration forwards may be forwarded by another session already.
	// Until a session is open, ssh does not notice that nettoll has been killed.
	proc, err := nsexec.StartTied(ctx, "ssh", "", os.Environ(), platform.Command{
		Path: "ssh", Args: []string{
			"-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=" + connectTime, "-o", "ControlMaster=no", "-o", "ClearAllForwardings=yes",
			"--", target, command(mark, s.o.Sudo),
		},
	})
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return nil, &unreachable{target, errors.New("there is no ssh here"), platform.Install("openssh-client")}
	}
	if err != nil && asked.Err() != nil {
		return nil, context.Cause(asked)
	}
	if err != nil {
		return nil, err
	}
	began, err := bootstrap.Inject(ctx, proc, mark, s.o.Agents.For)
	if asked.Err() != nil && err != nil {
		return nil, context.Cause(asked)
	}
	if err != nil {
		return nil, s.explain(target, err, proc.Stderr())
	}
	c := agent.Dial(began)
	beating, stop := context.WithCancel(context.Background())
	go bootstrap.Beating(beating, c, &s.pulse, s.beat, s.patience, func() { _ = proc.Kill() })
	return &machine{remote.NewHost(name, s.about(target), c, s.o.Tools), target, serverOf(began.By), stop}, nil
}

// command returns what the login shell runs.
func command(mark string, sudo bool) string {
	script := "'" + bootstrap.Script(mark) + "'"
	if sudo {
		return `exec sh -c 'LC_ALL=C exec sudo -n sh -c "$1" sh "$SSH_CONNECTION"' sh ` + script
	}
	return "exec sh -c " + script
}

// serverOf returns the server's address in the value of SSH_CONNECTION: client, port, server, port.
func serverOf(connection string) netip.Addr {
	f := strings.Fields(connection)
	if len(f) != 4 {
		return netip.Addr{}
	}
	at, err := netip.ParseAddr(f[2])
	if err != nil || !uplink.Usable(at.Unmap()) {
		return netip.Addr{}
	}
	return at.Unmap()
}

// explain returns the error of a login that has failed. said is what ssh, and programs on the other machine, wrote to
// standard error.
func (s *SSH) explain(target string, err error, said string) error {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok { // of ssh, which passes on that of the other machine's shell
		err = errors.New("it ended without a message, " + exit.Error())
		if last := oneline.Last(said, 1); last != "" {
			err = errors.New(last)
		}
	}
	if strings.Contains(said, "REMOTE HOST IDENTIFICATION HAS CHANGED") {
		return &unreachable{target, errors.New("its host key is another one than before"), "make sure that it is the same machine, and remove the old key with ssh-keygen -R"}
	}
	try, noPassword := "true", "--sudo takes a rule of sudoers with NOPASSWD for you there; or log in as root and leave it out"
	if s.o.Sudo {
		try = "sudo -n true"
	}
	fix := "try: ssh -o BatchMode=yes " + target + " " + try
	for _, known := range [][2]string{ // words of the error, and what to do; nothing if it says so itself
		{"Host key verification failed", "log in once with ssh " + target + " and check its host key"},
		{"/proc/self/fd/9", "the agent does not start there: use the programs that make builds, which need no libraries, and see whether a security policy refuses to start it"},
		{"Permission denied", "nettoll logs in without a password: ssh-copy-id " + target + " sends your key, ssh-add unlocks it"},
		{"a password is required", noPassword},
		{"interactive authentication is required", noPassword}, // sudo-rs
		{"no new privileges", "log in as root and leave --sudo out"},
		{"sudo: not found", "install sudo there, or log in as root and leave --sudo out"},
		{"no folder takes the agent", ""},
		{"there is no agent", ""},
		{"is of another version", ""},
		{"which receiving the agent takes; install", ""},
	} {
		if strings.Contains(err.Error(), known[0]) {
			fix = known[1]
			break
		}
	}
	if fix == "" {
		return fmt.Errorf("ssh %s: %w", target, err)
	}
	return &unreachable{target, err, fix}
}

// close ends the agent and everything that it has started.
func (m *machine) close() error {
	m.stop()
	return m.Close()
}

// bySudo ends the description of a machine whose agent runs as root by sudo.
const bySudo = ", as root by sudo"

// about describes a machine for users.
func (s *SSH) about(target string) string {
	if s.o.Sudo {
		return "ssh " + target + bySudo
	}
	return "ssh " + target
}

// Target returns the name of a machine, as ssh takes it, that was described for users.
func Target(about string) (name string, ok bool) {
	name, ok = strings.CutPrefix(about, "ssh ")
	return strings.TrimSuffix(name, bySudo), ok
}
