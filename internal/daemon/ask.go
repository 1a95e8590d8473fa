package daemon

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"

	"nettoll/internal/netns"
)

const (
	// asking bounds one request.
	asking = 10 * time.Second
	// longestAnswer is more than any answer of a daemon or of an API server of Kubernetes has, in bytes.
	longestAnswer = 8 << 20
)

// Transport returns a transport of HTTP that dials from the network namespace at path.
func Transport(path string) *http.Transport {
	return &http.Transport{DialContext: func(ctx context.Context, network, addr string) (c net.Conn, err error) {
		doing := netns.Do(path, func() error {
			c, err = (&net.Dialer{}).DialContext(ctx, network, addr)
			return err
		})
		return c, doing
	}}
}

// Ask sends a single request from the network namespace at path; see AskBy.
func Ask(ctx context.Context, path, method, url string, header http.Header, body []byte, fine ...int) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, asking)
	defer cancel()
	once := Transport(path)
	once.DisableKeepAlives = true
	return AskBy(ctx, &http.Client{Transport: once}, method, url, header, body, fine...)
}

// Refusal is the error of an answer whose status says that it is none.
type Refusal struct {
	Code  int           // of HTTP
	After time.Duration // when to ask again, as the server says; 0 is unknown
	text  string
}

func (r *Refusal) Error() string { return r.text }

// AskBy sends a request, within the time of ctx, and returns the answer. A status other than 200 is a Refusal, except
// those in fine.
func AskBy(ctx context.Context, client *http.Client, method, url string, header http.Header, body []byte, fine ...int) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, header)
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(io.LimitReader(resp.Body, longestAnswer))
	if err == nil && resp.StatusCode != http.StatusOK && !slices.Contains(fine, resp.StatusCode) {
		seconds, _ := strconv.ParseUint(resp.Header.Get("Retry-After"), 10, 16) // or a date, which is not worth the trouble
		err = &Refusal{
			Code: resp.StatusCode, After: time.Duration(seconds) * time.Second,
			text: fmt.Sprintf("%s %s: %s", req.URL.Path, resp.Status, bytes.TrimSpace(said)),
		}
	}
	return said, err
}
