package daemon

import (
	"context"
	"net"
	"net/http"

	"nettoll/internal/netns"
)

// HTTP is a client that speaks from the network namespace at path, with a connection for
// each request.
func HTTP(path string) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, addr string) (c net.Conn, err error) {
			doing := netns.Do(path, func() error {
				c, err = (&net.Dialer{}).DialContext(ctx, network, addr)
				return err
			})
			return c, doing
		},
	}}
}
