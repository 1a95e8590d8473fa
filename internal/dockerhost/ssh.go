package dockerhost

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/docker/cli/cli/connhelper/ssh"

	"nettoll/internal/process"
)

// sshArgs are those of the ssh program that logs in and reaches the engine there.
func sshArgs(host string) ([]string, error) {
	spec, err := ssh.ParseURL(host)
	if err != nil {
		return nil, err
	}
	remote := []string{"docker", "system", "dial-stdio"}
	if strings.Trim(spec.Path, "/") != "" {
		remote = []string{"docker", "--host=unix://" + spec.Path, "system", "dial-stdio"}
	}
	// ssh is given less time than the engine, so that it can say itself what it
	// could not reach.
	return spec.Command([]string{"-o", "ConnectTimeout=8", "-T"}, remote...)
}

// tryLogin is the command that shows what ssh and the machine behind it have to say.
func (t Target) tryLogin() string {
	spec, err := ssh.ParseURL(t.Host)
	if err != nil {
		return fix
	}
	args, err := spec.Command(nil, "docker", "version")
	if err != nil {
		return fix
	}
	return "try: ssh " + oneLine(strings.Join(args, " "))
}

// sshFailed is what ssh says when it ends in failure.
type sshFailed struct {
	said string // the last line
	err  error
}

func (e *sshFailed) Error() string {
	if e.said == "" {
		return fmt.Sprintf("ssh says nothing and ends with %v", e.err)
	}
	return "ssh says: " + e.said
}

func (e *sshFailed) Unwrap() error { return e.err }

// sshConn is a connection over the standard input and output of ssh. The one of
// docker's library is not used, because it loses what ssh said when writing fails
// before reading does, has no deadlines, and has ssh killed with the thread that
// started it, while threads come and go here.
type sshConn struct {
	cmd    *exec.Cmd
	in     *os.File // ssh's standard input, to write to
	out    *os.File // its standard output, to read from
	stderr process.Tail
	ended  chan struct{} // closed when ssh has ended
	err    error         // of ssh, once it has ended
	host   string
	failed func(error) // is told when ssh fails
}

func dialSSH(args []string, host string, failed func(error)) (net.Conn, error) {
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start ssh: %w", err)
	}
	defer theirIn.Close()
	out, theirOut, err := os.Pipe()
	if err != nil {
		in.Close()
		return nil, fmt.Errorf("start ssh: %w", err)
	}
	defer theirOut.Close()
	c := &sshConn{cmd: exec.Command("ssh", args...), in: in, out: out, ended: make(chan struct{}), host: host, failed: failed}
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = theirIn, theirOut, &c.stderr
	// A session of its own has no terminal to ask for passwords on, and hears none of
	// the terminal's interrupts.
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	c.cmd.WaitDelay = time.Second // for a master of shared connections, which holds stderr
	if err := c.cmd.Start(); err != nil {
		in.Close()
		out.Close()
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

// endTime is how long ssh may take to end after its output or its connection has.
const endTime = time.Second

// why replaces the end of a pipe by what ssh said, if it has failed.
func (c *sshConn) why(err error) error {
	if !errors.Is(err, io.EOF) && !errors.Is(err, syscall.EPIPE) {
		return err
	}
	select {
	case <-c.ended:
	case <-time.After(endTime + c.cmd.WaitDelay):
		return err
	}
	if c.err == nil {
		return err
	}
	failure := &sshFailed{said: lastLine(c.stderr.String()), err: c.err}
	c.failed(failure)
	return failure
}

// Read implements net.Conn.
func (c *sshConn) Read(b []byte) (int, error) {
	n, err := c.out.Read(b)
	if n > 0 || err == nil {
		return n, nil
	}
	return n, c.why(err)
}

// Write implements net.Conn.
func (c *sshConn) Write(b []byte) (int, error) {
	n, err := c.in.Write(b)
	if err != nil {
		err = c.why(err)
	}
	return n, err
}

// CloseWrite tells the engine that nothing more will be sent.
func (c *sshConn) CloseWrite() error { return c.in.Close() }

// Close implements net.Conn. It returns when ssh has ended.
func (c *sshConn) Close() error {
	_ = c.in.Close()                          // may have been closed already
	_ = c.out.Close()                         // the same
	_ = c.cmd.Process.Signal(syscall.SIGTERM) // fails where it has ended
	select {
	case <-c.ended:
	case <-time.After(endTime):
		_ = c.cmd.Process.Kill() // the same
		<-c.ended
	}
	return nil
}

// LocalAddr implements net.Conn.
func (c *sshConn) LocalAddr() net.Addr { return sshAddr("localhost") }

// RemoteAddr implements net.Conn.
func (c *sshConn) RemoteAddr() net.Addr { return sshAddr(c.host) }

// SetDeadline implements net.Conn.
func (c *sshConn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline implements net.Conn.
func (c *sshConn) SetReadDeadline(t time.Time) error { return c.out.SetReadDeadline(t) }

// SetWriteDeadline implements net.Conn.
func (c *sshConn) SetWriteDeadline(t time.Time) error { return c.in.SetWriteDeadline(t) }

// sshAddr is the name of a machine that ssh logs in to.
type sshAddr string

// Network implements net.Addr.
func (sshAddr) Network() string { return "ssh" }

// String implements net.Addr.
func (a sshAddr) String() string { return string(a) }
