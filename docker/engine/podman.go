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
	v, err := e.version(ctx)
	for _, part := range v.Components {
		if strings.HasPrefix(part.Name, "Podman") {
			version = part.Version
		}
	}
	return version, err
}

// version returns what the engine says of its version, for which it is asked once.
func (e *Engine) version(ctx context.Context) (client.ServerVersionResult, error) {
	if known := e.versions.Load(); known != nil {
		return *known, nil
	}
	v, err := e.Client.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return client.ServerVersionResult{}, failed(err, "ask the engine for its version")
	}
	e.versions.Store(&v)
	return v, nil
}

// podmanBridge returns the device of a bridge network, by the network's id.
func (e *Engine) podmanBridge(ctx context.Context, id string) (device string, err error) {
	var n struct {
		Device string `json:"network_interface"`
	}
	err = e.askPodman(ctx, http.MethodGet, "networks/"+url.PathEscape(id)+"/json", nil, &n)
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
	if reason := e.askPodman(ctx, http.MethodPost, "containers/"+id+"/init", nil, nil); reason != nil {
		return reason
	}
	return err
}

// importToPodman makes an image of the archive of a root file system. By Docker's API, Podman would leave a copy of the archive in its
// folder for temporary files (as of 4.3).
func (e *Engine) importToPodman(ctx context.Context, ref string, changes []string, root io.Reader) error {
	return e.askPodman(ctx, http.MethodPost, "images/import?"+url.Values{"reference": {ref}, "changes": changes}.Encode(), root, nil)
}

// askPodman sends a request of Podman's own API, with the body of an archive unless that is nil, and decodes the answer into out, unless that is nil.
// Errors are Podman's.
func (e *Engine) askPodman(ctx context.Context, method, path string, body io.Reader, out any) error {
	dial := e.Client.Dialer()
	own := http.Client{Transport: &http.Transport{
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
		DisableKeepAlives: true,
	}}
	const oldest = "v4.0.0" // of the API, which later versions serve as well
	req, err := http.NewRequestWithContext(ctx, method, "http://"+client.DummyHost+"/"+oldest+"/libpod/"+path, body)
	if err != nil {
		return err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/x-tar")
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
