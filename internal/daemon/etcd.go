package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"strconv"

	"nettoll/internal/undo"
	"nettoll/internal/wrap"
	"nettoll/platform"
)

// Etcd is a key-value store with a single member, on a host.
type Etcd struct {
	*Daemon
	URL string // for clients on the underlay
	ns  string
	url string // for the host itself
}

const (
	etcdClients = 2379 // assigned by IANA
	etcdPeers   = 2380
)

// EtcdProgram is the program etcd.
var EtcdProgram = Program{Name: "etcd", Get: platform.Install("etcd-server")}

// StartEtcd runs the program etcd at path on a host, with its data in dir. It listens on the host's
// underlay address and on its loopback.
func StartEtcd(ctx context.Context, stack *undo.Stack, path string, h platform.Host, dir string) (*Etcd, error) {
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
	var err error
	e.Daemon, err = Start(ctx, stack, h, Spec{
		Name: "etcd", Path: path,
		Args: []string{
			"--name", h.Name(), "--data-dir", filepath.Join(dir, "etcd"), "--log-level", "warn",
			"--listen-client-urls", e.URL + "," + e.url, "--advertise-client-urls", e.URL,
			"--listen-peer-urls", at(self, etcdPeers), "--initial-advertise-peer-urls", at(self, etcdPeers),
			"--initial-cluster", h.Name() + "=" + at(self, etcdPeers),
			// The store exists for one measurement only, in memory.
			"--unsafe-no-fsync",
		},
		Ready: e.healthy,
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

func (e *Etcd) healthy(ctx context.Context) error {
	said, err := Ask(ctx, e.ns, http.MethodGet, e.url+"/health", nil, nil)
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
	_, err = Ask(ctx, e.ns, http.MethodPost, e.url+"/v3/kv/put", nil, body)
	return wrap.Error(err, "etcd: put %s", key)
}
