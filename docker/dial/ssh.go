package dial

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/docker/cli/cli/connhelper/ssh"
	"golang.org/x/sys/unix"

	"nettoll/internal/nsexec"
	"nettoll/internal/oneline"
)

// sshOptions: ssh gets less time than the engine, so that it can report itself what it could not reach. It offers no connection
// for others to share, since they would end with it, and leaves the ports of the user's configuration to the user's sessions.
var sshOptions = []string{"-o", "ConnectTimeout=8", "-o", "ControlMaster=no", "-o", "ClearAllForwardings=yes", "-T"}

// sshArgs returns the arguments of the ssh program that logs in and connects to the engine there.
func sshArgs(host string) ([]string, error) {
	spec, err := ssh.ParseURL(host)
	if err != nil {
		return nil, err
	}
	remote := []string{"docker", "system", "dial-stdio"}
	if strings.Trim(spec.Path, "/") != "" {
		remote = []string{"docker", "--host=unix://" + spec.Path, "system", "dial-stdio"}
	}
	return spec.Command(sshOptions, remote...)
}

// sshFailed is the error for ssh ending in failure.
type sshFailed struct {
	said string // the last line of its messages
	err  error
}

func (e *sshFailed) Error() string {
	if e.said == "" {
		return fmt.Sprintf("ssh ended without a message: %v", e.err)
	}
	return "ssh says: " + e.said
}

func (e *sshFailed) Unwrap() error { return e.err }

// sshConn is a connection over the standard input and output of ssh, which are the other end of a
// socket. It replaces the one of docker's library, which loses ssh's messages if writing fails before
// reading does, has no deadlines, and has ssh killed with the thread that started it, although threads
// come and go here.
type sshConn struct {
	*net.UnixConn
	cmd    *exec.Cmd
	stderr nsexec.Tail
	ended  chan struct{} // closed when ssh has ended
	err    error         // of ssh, once it has ended
	failed func(error)   // is called when ssh fails
	in     func()        // is called once ssh has logged in, or has ended
}

// mostLogins is how many logins go on at once: sshd refuses some of more than ten (MaxStartups of sshd_config(5)). One counts
// until something has arrived, or for loginTime: a connection that is opened in reserve gets nothing at first.
const (
	mostLogins = 5
	loginTime  = 10 * time.Second
)

// dialSSH starts ssh. failed is called when it fails, and in once it has logged in or has ended.
func dialSSH(args []string, failed func(error), in func()) (net.Conn, error) {
	c, err := startSSH(args)
	if err != nil {
		in()
		return nil, err
	}
	c.failed, c.in = failed, sync.OnceFunc(in)
	time.AfterFunc(loginTime, c.in)
	go func() {
		<-c.ended
		c.in()
	}()
	return c, nil
}

func startSSH(args []string) (*sshConn, error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("start ssh: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(ends[0]), "ssh"), os.NewFile(uintptr(ends[1]), "ssh")
	defer theirs.Close()
	conn, err := net.FileConn(ours)
	ours.Close() // conn has its own descriptor
	if err != nil {
		return nil, fmt.Errorf("start ssh: %w", err)
	}
	c := &sshConn{UnixConn: conn.(*net.UnixConn), cmd: exec.Command("ssh", args...), ended: make(chan struct{})}
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = theirs, theirs, &c.stderr
	// A new session has no terminal to ask for passwords on, and does not receive the terminal's
	// interrupts.
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	c.cmd.WaitDelay = time.Second // for a master of shared connections, which keeps stderr open
	if err := c.cmd.Start(); err != nil {
		conn.Close()
		return nil, fmt.Errorf("start ssh: %w", err)
	}
	go func() {
		if err := c.cmd.Wait(); !errors.Is(err, exec.ErrWaitDelay) {
			c.err = err
		}
		close(c.ended)
	}()
	return c, nil
}

// How long ssh may take to end after its connection has been closed, and after it has closed its output itself.
const (
	endTime  = time.Second
	lastTime = 5 * time.Second
)

// why replaces the error for the end of the socket by ssh's message, if ssh has failed.
func (c *sshConn) why(err error) error {
	if !errors.Is(err, io.EOF) && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
		return err
	}
	select {
	case <-c.ended:
	case <-time.After(lastTime + c.cmd.WaitDelay):
		return err
	}
	if c.err == nil {
		return err
	}
	failure := &sshFailed{said: foreign(oneline.Last(c.stderr.String(), 1)), err: c.err}
	c.failed(failure)
	return failure
}

// Read implements net.Conn.
func (c *sshConn) Read(b []byte) (int, error) {
	n, err := c.UnixConn.Read(b)
	if n > 0 {
		c.in()
	}
	if n > 0 || err == nil {
		return n, nil
	}
	return n, c.why(err)
}

// Write implements net.Conn.
func (c *sshConn) Write(b []byte) (int, error) {
	n, err := c.UnixConn.Write(b)
	if err != nil {
		err = c.why(err)
	}
	return n, err
}

// Close implements net.Conn. It returns when ssh has ended.
func (c *sshConn) Close() error {
	_ = c.UnixConn.Close()                    // may have been closed already
	_ = c.cmd.Process.Signal(syscall.SIGTERM) // fails if it has ended
	select {
	case <-c.ended:
	case <-time.After(endTime):
		_ = c.cmd.Process.Kill() // likewise
		<-c.ended
	}
	return nil
}
