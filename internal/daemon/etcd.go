package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"strconv"
	"time"

	"nettoll/internal/program"
	"nettoll/internal/undo"
	"nettoll/platform"
)

// Etcd is a store of one member, on a host.
type Etcd struct {
	*Daemon
	URL string // of clients on the underlay
	ns  string
	url string // on the host itself
}

const (
	etcdClients = 2379 // IANA's
	etcdPeers   = 2380
)

// FindEtcd gives the path of etcd.
func FindEtcd(paths program.Paths) (string, error) {
	return paths.Locate("etcd", "apt install etcd-server")
}

// StartEtcd runs etcd on a host, in dir, and listens on the host's underlay address
// and its loopback.
func StartEtcd(ctx context.Context, stack *undo.Stack, paths program.Paths, h platform.Host, dir string) (*Etcd, error) {
	path, err := FindEtcd(paths)
	if err != nil {
		return nil, err
	}
	ns := h.Facts().NetNS
	if ns == "" {
		return nil, fmt.Errorf("etcd: %s shows no network namespace", h.Name())
	}
	at := func(a netip.Addr, port int) string {
		return "http://" + net.JoinHostPort(a.String(), strconv.Itoa(port))
	}
	self := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	under := h.Uplink().Addr4.Addr()
	e := &Etcd{URL: at(under, etcdClients), url: at(self, etcdClients), ns: ns}
	e.Daemon, err = Start(ctx, stack, h, Spec{
		Name: "etcd", Path: path,
		Args: []string{
			"--name", h.Name(), "--data-dir", filepath.Join(dir, "etcd"), "--log-level", "warn",
			"--listen-client-urls", e.URL + "," + e.url, "--advertise-client-urls", e.URL,
			"--listen-peer-urls", at(self, etcdPeers), "--initial-advertise-peer-urls", at(self, etcdPeers),
			"--initial-cluster", h.Name() + "=" + at(self, etcdPeers),
			// The store lives as long as one measurement, in memory.
			"--unsafe-no-fsync",
		},
		Ready: e.healthy,
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

// asking bounds one request.
const asking = 5 * time.Second

func (e *Etcd) request(ctx context.Context, path string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, asking)
	defer cancel()
	method := http.MethodGet
	if body != nil {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, method, e.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	resp, err := HTTP(e.ns).Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s", path, resp.Status, bytes.TrimSpace(said))
	}
	return said, err
}

func (e *Etcd) healthy(ctx context.Context) error {
	said, err := e.request(ctx, "/health", nil)
	if err == nil && !bytes.Contains(said, []byte(`"true"`)) {
		err = fmt.Errorf("it is not healthy: %s", said)
	}
	return err
}

// Put stores a value, through etcd's JSON gateway.
func (e *Etcd) Put(ctx context.Context, key, value string) error {
	body, err := json.Marshal(map[string][]byte{"key": []byte(key), "value": []byte(value)})
	if err != nil {
		return err
	}
	if _, err := e.request(ctx, "/v3/kv/put", body); err != nil {
		return fmt.Errorf("etcd: put %s: %w", key, err)
	}
	return nil
}
