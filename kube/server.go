// Package kube runs Kubernetes on hosts of the lab: its API server alone, and whole clusters, whose nodes are hosts. It
// makes pods with agents in them, and services, in such clusters and in clusters of the user's.
package kube

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"nettoll/internal/daemon"
	"nettoll/internal/undo"
	"nettoll/platform"
)

// The programs of Kubernetes.
const (
	Apiserver = "kube-apiserver"
	Proxy     = "kube-proxy"
)

// Built returns a program of Kubernetes that make kube builds.
func Built(name string) daemon.Program { return daemon.Program{Name: name, Get: "make kube"} }

// apiPort is the API server's usual port.
const apiPort = 6443

// Admin is a user who may do everything.
const Admin = "nettoll"

// User is a program or person that the API server knows.
type User struct {
	Name   string
	Groups []string
}

// ServerOptions describe an API server.
type ServerOptions struct {
	Path     string       // of the program
	Etcd     *daemon.Etcd // its store
	Dir      string       // for its files
	Services [2]netip.Prefix
	Users    []User // besides Admin
	Args     []string
	// Ready returns nil once the server does what is needed; nil: it is ready when it says so.
	Ready func(context.Context, *Server) error
}

// Server is an API server on a host. Whoever has the token of one of its users has that user's rights, so the
// tokens are in files that only the lab sees, and it listens only on the underlay of the lab.
type Server struct {
	*daemon.Daemon
	*API
	Trust   string // file with the certificate by which it is known
	Account string // file with the key that signs tokens of service accounts

	dir    string
	tokens map[string]string // by user
}

// StartServer runs the API server.
func StartServer(ctx context.Context, stack *undo.Stack, h platform.Host, o ServerOptions) (*Server, error) {
	at := h.Uplink().Addr4.Addr()
	s := &Server{
		dir:   o.Dir,
		Trust: filepath.Join(o.Dir, "apiserver", "apiserver.crt"), Account: filepath.Join(o.Dir, "accounts.key"),
	}
	tokens := filepath.Join(o.Dir, "tokens.csv")
	if err := errors.Join(s.writeTokens(tokens, o.Users), writeKey(s.Account)); err != nil {
		return nil, err
	}
	requests, streams := daemon.Transport(h.Facts().NetNS), daemon.Transport(h.Facts().NetNS)
	requests.ForceAttemptHTTP2 = true
	s.API = &API{
		URL:      "https://" + net.JoinHostPort(at.String(), strconv.Itoa(apiPort)),
		requests: &http.Client{Transport: bearer{requests, s.tokens[Admin]}}, streams: &http.Client{Transport: bearer{streams, s.tokens[Admin]}},
	}
	spec := daemon.Spec{
		Name: Apiserver, Path: o.Path, Patience: Patience, Grace: grace, Complaint: Complaint, Needs: []*daemon.Daemon{o.Etcd.Daemon},
		Args: append([]string{
			"--etcd-servers=" + o.Etcd.URL, "--bind-address=" + at.String(), "--advertise-address=" + at.String(), "--secure-port=" + strconv.Itoa(apiPort),
			"--cert-dir=" + filepath.Dir(s.Trust), // which it fills
			"--token-auth-file=" + tokens,
			"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file=" + s.Account, "--service-account-signing-key-file=" + s.Account,
			"--service-cluster-ip-range=" + o.Services[0].String() + "," + o.Services[1].String(),
		}, o.Args...),
		Ready: func(ctx context.Context) error {
			if requests.TLSClientConfig == nil {
				pool, err := trust(s.Trust)
				if err != nil {
					return err
				}
				requests.TLSClientConfig, streams.TLSClientConfig = &tls.Config{RootCAs: pool}, &tls.Config{RootCAs: pool}
			}
			// It reports that it is ready a moment before the namespace and the addresses of services exist.
			for _, path := range []string{"/readyz", "/api/v1/namespaces/default"} {
				if err := s.Ask(ctx, http.MethodGet, path, nil, nil); err != nil {
					return err
				}
			}
			if o.Ready == nil {
				return nil
			}
			return o.Ready(ctx, s)
		},
	}
	// Addresses of services should be bits of a map, as before Kubernetes 1.33. It makes an object of each since, and counts all of
	// them for each new service (ipallocator.Allocator.Used): 10,000 services took many minutes. Kubernetes 1.33 is the last one
	// that leaves the choice, and those that leave none end and name what they were asked for.
	mapped := spec
	mapped.Args = append(slices.Clone(spec.Args), "--feature-gates="+allocator+"=false")
	var err error
	s.Daemon, err = daemon.Start(ctx, stack, h, mapped)
	ranged := err != nil && noMap.MatchString(err.Error())
	if ranged {
		s.Daemon, err = daemon.Start(ctx, stack, h, spec)
	}
	if err != nil {
		return nil, err
	}
	for user := range s.tokens {
		if err := s.writeConfig(user); err != nil {
			return nil, err
		}
	}
	if !ranged {
		err = s.MakeAll(ctx, 1, []Object{serviceCIDR(o.Services)})
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// allocator is the feature gate of addresses that are objects. noMap is what an API server says that cannot be without them
// (FeatureGate.Set in k8s.io/component-base); one that can names the gate, too, in a warning.
const allocator = "MultiCIDRServiceAllocator"

var noMap = regexp.MustCompile(`(cannot set|unrecognized) feature gate:? ` + allocator)

// serviceCIDR returns the object with the range of the addresses of services, which the API server makes only if each of them has an
// object, too. kube-proxy has rules of it (nftables).
func serviceCIDR(services [2]netip.Prefix) Object {
	return Object{In: "/apis/networking.k8s.io/v1/servicecidrs", Name: "kubernetes", Body: fields{
		"apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR", "metadata": fields{"name": "kubernetes"}, "spec": fields{"cidrs": services},
	}}
}

// How long a program of Kubernetes may take to start, and the API server to end.
const (
	Patience = 60 * time.Second
	grace    = 5 * time.Second
)

// anError is an error in klog's format, such as "E1121 19:33:49.123456 …".
var anError = regexp.MustCompile(`^E\d{4} `)

// usual are errors that every fresh start logs, since there are no endpoints of an earlier API server, no
// rules of an earlier kube-proxy and no system namespace yet, and the addresses of new services are not
// known everywhere at once; and those of a kube-proxy that does not hear from its API server, which may be
// stopped while payload is measured.
var usual = regexp.MustCompile(`Found stale data|Failed to list existing nftables objects|is not allocated; repairing|namespaces .*kube-system.* not found|reflector\.go|Failed to watch`)

// Complaint reports whether a line of a program's log is about a fault.
func Complaint(line string) bool { return anError.MatchString(line) && !usual.MatchString(line) }

// Config returns the file by which a user's programs find the server: a kubeconfig.
func (s *Server) Config(user string) string {
	return filepath.Join(s.dir, strings.ReplaceAll(user, ":", "-")+".kubeconfig")
}

// writeConfig writes a user's kubeconfig. JSON is YAML, too.
func (s *Server) writeConfig(user string) error {
	text, err := json.Marshal(fields{
		"apiVersion": "v1", "kind": "Config", "current-context": "lab",
		"clusters": []fields{{"name": "lab", "cluster": fields{"server": s.URL, "certificate-authority": s.Trust}}},
		"users":    []fields{{"name": user, "user": fields{"token": s.tokens[user]}}},
		"contexts": []fields{{"name": "lab", "context": fields{"cluster": "lab", "user": user}}},
	})
	if err != nil {
		return err
	}
	return os.WriteFile(s.Config(user), text, 0o600)
}

// fields is an object of the API, or of a configuration file.
type fields = map[string]any

// trust reads the certificate that the API server has made for itself.
func trust(path string) (*x509.CertPool, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate", path)
	}
	return pool, nil
}
