package dockerhost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	dockercontext "github.com/docker/cli/cli/context"
	"github.com/docker/cli/cli/context/docker"
	"github.com/moby/moby/client"
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
	failed := d.failed()
	d.settle()
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
	unusable := func(err error, remedy string) *Unreachable {
		return &Unreachable{Target: t, Reason: oneLine(err.Error()), Remedy: remedy, Err: err}
	}
	d, err := newDialer(t)
	if err != nil {
		return nil, nil, unusable(err, addresses)
	}
	if asked := strings.TrimSpace(os.Getenv(client.EnvOverrideAPIVersion)); asked != "" && !isVersion(strings.TrimPrefix(asked, "v")) {
		return nil, nil, unusable(fmt.Errorf("%s is %q, which is no version", client.EnvOverrideAPIVersion, asked),
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
			return nil, nil, unusable(err, t.useCertificates())
		}
	}
	options = append(options, client.WithDialContext(d.dial))
	if len(t.headers) > 0 {
		options = append(options, client.WithHTTPHeaders(t.headers))
	}
	c, err := client.New(options...)
	if err != nil {
		return nil, nil, unusable(err, fix)
	}
	return c, d, nil
}
