package dockerhost

import (
	"context"
	"net"
	"sync"
	"time"
)

// dialer opens the connections of a client. Until the engine has answered, it keeps
// the first failure: the client library hides some of them behind sentences of its
// own, and asks a second time, which for ssh would be a second login.
type dialer struct {
	open func(ctx context.Context, address string) (net.Conn, error)

	mu       sync.Mutex
	answered bool
	failure  error
}

// newDialer opens connections for a target. A Unix socket is always that of the
// target, whatever the address; an address over TCP may be that of a proxy.
func newDialer(t Target) (*dialer, error) {
	d := &dialer{}
	direct := net.Dialer{Timeout: limit, KeepAlive: 30 * time.Second}
	switch t.scheme() {
	case "ssh":
		args, err := sshArgs(t.Host)
		if err != nil {
			return nil, err
		}
		d.open = func(context.Context, string) (net.Conn, error) { return dialSSH(args, t.hostname(), d.note) }
	case "unix":
		d.open = func(ctx context.Context, _ string) (net.Conn, error) {
			return direct.DialContext(ctx, "unix", t.address())
		}
	default:
		d.open = func(ctx context.Context, address string) (net.Conn, error) {
			return direct.DialContext(ctx, "tcp", address)
		}
	}
	return d, nil
}

// dial is the DialContext of an http.Transport.
func (d *dialer) dial(ctx context.Context, _, address string) (net.Conn, error) {
	if err := d.failed(); err != nil {
		return nil, err
	}
	conn, err := d.open(ctx, address)
	if err != nil {
		d.note(err)
		return nil, err
	}
	return conn, nil
}

func (d *dialer) note(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.answered && d.failure == nil {
		d.failure = err
	}
}

func (d *dialer) failed() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failure
}

// settle ends the watch: from now on each connection stands for itself.
func (d *dialer) settle() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.answered = true
}
