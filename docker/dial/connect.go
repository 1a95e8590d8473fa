package dial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	dockercontext "github.com/docker/cli/cli/context"
	"github.com/docker/cli/cli/context/docker"
	"github.com/moby/moby/client"
	"github.com/moby/moby/client/pkg/versions"
)

// limit is how long an engine may take to answer the first request.
const limit = 20 * time.Second

// Connect connects to an engine, checks that it is one, and negotiates the version of its API, unless
// DOCKER_API_VERSION sets it. The caller must close the client, which also ends the ssh programs that it
// has started. Errors are *Unreachable, except those of a ctx that has ended.
func Connect(ctx context.Context, t Target) (*client.Client, error) {
	return connect(ctx, t, limit)
}

func connect(ctx context.Context, t Target, limit time.Duration) (*client.Client, error) {
	c, d, err := prepare(t)
	if err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ping, err := c.Ping(within, client.PingOptions{NegotiateAPIVersion: true})
	failed := d.settle()
	switch {
	case ctx.Err() != nil:
		err = fmt.Errorf("docker engine at %s: %w", t, context.Cause(ctx))
	case failed != nil && !errors.Is(failed, context.DeadlineExceeded):
		err = explain(t, failed)
	case failed != nil || within.Err() != nil:
		err = silent(t, limit, cmp.Or(failed, within.Err()))
	default:
		err = judge(t, ping, c.ClientVersion(), err)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// prepare returns a client that has sent nothing yet. Errors are *Unreachable.
func prepare(t Target) (*client.Client, *dialer, error) {
	if err := t.check(); err != nil {
		return nil, nil, err
	}
	d, err := newDialer(t)
	if err != nil {
		return nil, nil, t.unusable(err, addresses)
	}
	var options []client.Opt
	if t.scheme() == "ssh" {
		// The transport is replaced after the host is set, because setting the host gives it the proxies
		// of the environment, which do not apply to connections over ssh.
		over := &http.Transport{DialContext: d.dial, MaxIdleConnsPerHost: 6, IdleConnTimeout: 30 * time.Second}
		options = append(options, client.WithHost("http://"+client.DummyHost),
			client.WithHTTPClient(&http.Client{Transport: over, CheckRedirect: client.CheckRedirect}),
			client.WithAPIVersionFromEnv())
	} else {
		endpoint := docker.Endpoint{
			EndpointMeta: dockercontext.EndpointMetaBase{Host: t.Host, SkipTLSVerify: t.skipVerify}, TLSData: t.tls,
		}
		if options, err = endpoint.ClientOpts(); err != nil {
			return nil, nil, t.unusable(err, t.useCertificates())
		}
	}
	options = append(options, client.WithDialContext(d.dial))
	if len(t.headers) > 0 {
		options = append(options, client.WithHTTPHeaders(t.headers))
	}
	c, err := client.New(options...)
	if err != nil {
		return nil, nil, t.unusable(err, "check the address and "+client.EnvOverrideAPIVersion+", or name another engine with "+flag)
	}
	return c, d, nil
}

// judge decides from an engine's first answer whether nettoll can use it. version is the API version
// that the client uses now; err is the error of the request.
func judge(t Target, ping client.PingResult, version string, err error) error {
	asked := os.Getenv(client.EnvOverrideAPIVersion)
	wrong := func(reason, remedy string) error {
		return &Unreachable{Target: t, Reason: reason, Remedy: remedy, Err: err}
	}
	switch {
	case err != nil && ping.APIVersion == "":
		return explain(t, err)
	case ping.APIVersion == "":
		return wrong(notEngine, fix)
	case versions.LessThan(ping.APIVersion, client.MinAPIVersion):
		return wrong(fmt.Sprintf("its API has version %s, but nettoll needs at least %s", ping.APIVersion, client.MinAPIVersion),
			"upgrade it to Docker 19.03 or later")
	case err != nil:
		return wrong("it answers: "+words(err), "see its log")
	case ping.OSType == "windows":
		return wrong("it runs Windows containers, but nettoll measures Linux ones",
			"switch it to Linux containers, or name another engine with "+flag)
	case asked != "" && (versions.LessThan(version, client.MinAPIVersion) || versions.LessThan(ping.APIVersion, version)):
		return wrong(fmt.Sprintf("%s is %s, which is not between %s and the engine's %s",
			client.EnvOverrideAPIVersion, version, client.MinAPIVersion, ping.APIVersion), "unset "+client.EnvOverrideAPIVersion)
	}
	return nil
}

// dialer opens the connections of a client. Until the engine has answered, it keeps the first failure:
// the client library hides some failures behind its own messages, and tries a second time, which for ssh
// would be a second login.
type dialer struct {
	open func(ctx context.Context, network, address string) (net.Conn, error)

	mu       sync.Mutex
	answered bool
	failure  error
}

// newDialer returns a dialer for a target. A Unix socket is always the target's, whatever the address; an
// address over TCP may be that of a proxy.
func newDialer(t Target) (*dialer, error) {
	direct := net.Dialer{Timeout: limit, KeepAlive: 30 * time.Second}
	d := &dialer{open: direct.DialContext}
	switch t.scheme() {
	case "ssh":
		args, err := sshArgs(t.Host)
		if err != nil {
			return nil, err
		}
		logins := make(chan struct{}, mostLogins)
		d.open = func(ctx context.Context, _, _ string) (net.Conn, error) {
			select {
			case logins <- struct{}{}:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			return dialSSH(args, d.note, func() { <-logins })
		}
	case "unix":
		d.open = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return direct.DialContext(ctx, "unix", t.address())
		}
	}
	return d, nil
}

// dial is the DialContext of an http.Transport.
func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	d.mu.Lock()
	failure := d.failure
	d.mu.Unlock()
	if failure != nil {
		return nil, failure
	}
	conn, err := d.open(ctx, network, address)
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

// settle ends the recording of failures and returns the one that was recorded: from now on each
// connection fails on its own.
func (d *dialer) settle() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.answered = true
	return d.failure
}
