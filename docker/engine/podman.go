package engine

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/moby/moby/client"
)

// Podman speaks Docker's API, and another one of its own at the same address, which says what Docker's does not.

// Podman returns the version of Podman if that is what the engine is, and "" otherwise.
func (e *Engine) Podman(ctx context.Context) (version string, err error) {
	if known := e.podman.Load(); known != nil {
		return *known, nil
	}
	v, err := e.Client.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return "", failed(err, "ask the engine for its version")
	}
	for _, part := range v.Components {
		if strings.HasPrefix(part.Name, "Podman") {
			version = part.Version
		}
	}
	e.podman.Store(&version)
	return version, nil
}

// podmanBridge returns the device of a bridge network, by the network's id.
func (e *Engine) podmanBridge(ctx context.Context, id string) (device string, err error) {
	var n struct {
		Device string `json:"network_interface"`
	}
	err = e.askPodman(ctx, http.MethodGet, "networks/"+url.PathEscape(id)+"/json", &n)
	if err == nil && n.Device == "" {
		err = errors.New("it has no device")
	}
	return n.Device, err
}

// unattachable returns why a container cannot be attached to. Podman prepares it for that, and says why it cannot, in an answer that
// the client library does not read.
func (e *Engine) unattachable(ctx context.Context, id string, err error) error {
	if v, _ := e.Podman(ctx); v == "" {
		return err
	}
	if reason := e.askPodman(ctx, http.MethodPost, "containers/"+id+"/init", nil); reason != nil {
		return reason
	}
	return err
}

// askPodman sends a request of Podman's own API, and decodes the answer into out, unless that is nil. Errors are Podman's.
func (e *Engine) askPodman(ctx context.Context, method, path string, out any) error {
	dial := e.Client.Dialer()
	own := http.Client{Transport: &http.Transport{
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
		DisableKeepAlives: true,
	}}
	const oldest = "v4.0.0" // of the API, which later versions serve as well
	req, err := http.NewRequestWithContext(ctx, method, "http://"+client.DummyHost+"/"+oldest+"/libpod/"+path, nil)
	if err != nil {
		return err
	}
	res, err := own.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	answer := json.NewDecoder(io.LimitReader(res.Body, 1<<20))
	if res.StatusCode >= http.StatusBadRequest {
		var wrong struct{ Message string }
		if answer.Decode(&wrong) != nil || wrong.Message == "" {
			wrong.Message = res.Status
		}
		return errors.New(wrong.Message)
	}
	if out == nil {
		return nil
	}
	return answer.Decode(out)
}
