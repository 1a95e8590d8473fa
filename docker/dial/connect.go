package dial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	dockercontext "github.com/docker/cli/cli/context"
	"github.com/docker/cli/cli/context/docker"
	"github.com/moby/moby/client"
	"github.com/moby/moby/client/pkg/versions"
)

// limit is how long an engine may take to answer for the first time.
const limit = 10 * time.Second

// Connect dials an engine, asks whether it is one, and negotiates the version of
// its API, unless DOCKER_API_VERSION says which. The caller closes the client, and
// with it the ssh programs that it has started. Errors are *Unreachable, but for
// those of a ctx that has ended.
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

// prepare makes a client that has sent nothing yet. Errors are *Unreachable.
func prepare(t Target) (*client.Client, *dialer, error) {
	if err := t.check(); err != nil {
		return nil, nil, err
	}
	d, err := newDialer(t)
	if err != nil {
		return nil, nil, t.unusable(err, addresses)
	}
	if asked := strings.TrimSpace(os.Getenv(client.EnvOverrideAPIVersion)); asked != "" && !isVersion(strings.TrimPrefix(asked, "v")) {
		return nil, nil, t.unusable(fmt.Errorf("%s is %q, which is not a version", client.EnvOverrideAPIVersion, asked),
			"write one such as "+client.MaxAPIVersion+", or unset it")
	}
	var options []client.Opt
	if t.scheme() == "ssh" {
		// The transport is exchanged after the host is set, which gives it the
		// proxies of the environment: they are not for what ssh carries.
		over := &http.Transport{DialContext: d.dial, MaxIdleConns: 6, IdleConnTimeout: 30 * time.Second}
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
		return nil, nil, t.unusable(err, fix)
	}
	return c, d, nil
}

// judge says of an engine's first answer whether nettoll can use it. version is that
// of the API that the client speaks now; err is that of the question.
func judge(t Target, ping client.PingResult, version string, err error) error {
	asked := os.Getenv(client.EnvOverrideAPIVersion)
	wrong := func(reason, remedy string) error {
		return &Unreachable{Target: t, Reason: reason, Remedy: remedy, Err: err}
	}
	switch {
	case err != nil && ping.APIVersion == "":
		return explain(t, err)
	case !isVersion(ping.APIVersion):
		return wrong(notEngine, fix)
	case versions.LessThan(ping.APIVersion, client.MinAPIVersion):
		return wrong(fmt.Sprintf("its API has version %s, and nettoll needs at least %s", ping.APIVersion, client.MinAPIVersion),
			"upgrade it to Docker 19.03 or later")
	case err != nil:
		return wrong("it answers: "+words(err), "see its log")
	case ping.OSType == "windows":
		return wrong("it runs Windows containers, and nettoll measures Linux ones",
			"switch it to Linux containers, or name another engine with "+flag)
	case asked != "" && (versions.LessThan(version, client.MinAPIVersion) || versions.LessThan(ping.APIVersion, version)):
		return wrong(fmt.Sprintf("%s is %s, which is not between %s and the engine's %s",
			client.EnvOverrideAPIVersion, version, client.MinAPIVersion, ping.APIVersion), "unset "+client.EnvOverrideAPIVersion)
	}
	return nil
}

// isVersion tells versions of the API, "1.41", from all else.
func isVersion(text string) bool {
	major, minor, ok := strings.Cut(text, ".")
	for _, part := range []string{major, minor} {
		_, err := strconv.ParseUint(part, 10, 16)
		ok = ok && err == nil
	}
	return ok
}

// dialer opens the connections of a client. Until the engine has answered, it keeps
// the first failure: the client library hides some of them behind sentences of its
// own, and asks a second time, which for ssh would be a second login.
type dialer struct {
	open func(ctx context.Context, network, address string) (net.Conn, error)

	mu       sync.Mutex
	answered bool
	failure  error
}

// newDialer opens connections for a target. A Unix socket is always that of the
// target, whatever the address; an address over TCP may be that of a proxy.
func newDialer(t Target) (*dialer, error) {
	direct := net.Dialer{Timeout: limit, KeepAlive: 30 * time.Second}
	d := &dialer{open: direct.DialContext}
	switch t.scheme() {
	case "ssh":
		args, err := sshArgs(t.Host)
		if err != nil {
			return nil, err
		}
		d.open = func(context.Context, string, string) (net.Conn, error) { return dialSSH(args, d.note) }
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

// settle ends the watch, and gives the failure that it has seen: from now on each
// connection stands for itself.
func (d *dialer) settle() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.answered = true
	return d.failure
}
