package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"nettoll/internal/oneline"
)

// Login names a cluster of the user's, as kubectl's options do. For empty fields, the current context decides.
type Login struct {
	Config    string // a kubeconfig; empty: KUBECONFIG, or ~/.kube/config, or, in a pod, that pod's own account
	Context   string
	Namespace string
	// Dial connects to the API server; nil: from this process's network.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// entrance is an API server as a context of a kubeconfig describes it.
type entrance struct {
	*API
	namespace string
	context   string // empty in a pod
	user      string
}

// Mistake is an error in what the user has named, as opposed to what a cluster does.
type Mistake struct{ error }

// Unwrap returns the error itself.
func (m Mistake) Unwrap() error { return m.error }

// errNoCluster returns the error of a machine without a kubeconfig, or of a given one without a cluster.
func errNoCluster(given string) error {
	if given != "" {
		return fmt.Errorf("--kubeconfig %s: it names no cluster; name another, or have a cluster started with --private-cluster", given)
	}
	missing := "neither KUBECONFIG nor ~/.kube/config"
	if named := os.Getenv(clientcmd.RecommendedConfigPathEnvVar); named != "" {
		missing = "nothing at " + named + ", which KUBECONFIG names"
	}
	return fmt.Errorf("no cluster is known here: there is %s; name a kubeconfig with --kubeconfig, or have a cluster started with --private-cluster", missing)
}

// open reads the kubeconfig. Nothing is asked yet. All its errors are mistakes.
func (l Login) open() (*entrance, error) {
	e, err := l.read()
	if err != nil {
		return nil, Mistake{err}
	}
	return e, nil
}

func (l Login) read() (*entrance, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = l.Config
	rules.Warner = func(error) {} // files that KUBECONFIG names need not exist
	in := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{
		CurrentContext: l.Context, Context: api.Context{Namespace: l.Namespace},
	})
	raw, err := in.RawConfig()
	if err != nil {
		return nil, unreadable(l.Config, err)
	}
	e := &entrance{context: cmp.Or(l.Context, raw.CurrentContext)}
	known := raw.Contexts[e.context]
	switch {
	case known != nil:
		e.user = known.AuthInfo
	case e.context != "":
		return nil, fmt.Errorf("there is no context %s; %s", e.context, contexts(raw))
	case len(raw.Contexts) > 0:
		return nil, fmt.Errorf("no context is current; name one with --context: %s", contexts(raw))
	}
	config, err := in.ClientConfig()
	if clientcmd.IsEmptyConfig(err) || errors.Is(err, rest.ErrNotInCluster) {
		return nil, errNoCluster(l.Config)
	}
	if err != nil {
		return nil, unreadable(l.Config, err)
	}
	if e.namespace, _, err = in.Namespace(); err != nil {
		return nil, unreadable(l.Config, err)
	}
	if l.Namespace != "" { // in a pod, the override has no effect
		e.namespace = l.Namespace
	}
	config.Dial = l.Dial
	e.API, err = newAPI(config)
	if err != nil {
		return nil, unreadable(l.Config, err)
	}
	return e, nil
}

// newAPI returns the API server of a client configuration.
func newAPI(config *rest.Config) (*API, error) {
	at, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	a := &API{URL: strings.TrimSuffix(at.String(), "/")}
	if a.requests, err = clientFor(config); err != nil {
		return nil, err
	}
	single := rest.CopyConfig(config)
	single.NextProtos = []string{"http/1.1"}
	a.streams, err = clientFor(single)
	return a, err
}

func clientFor(config *rest.Config) (*http.Client, error) {
	by, err := rest.TransportFor(config)
	return &http.Client{Transport: bounded{by}, Timeout: config.Timeout}, err
}

// bounded ends requests with their contexts, whatever they wait for: client-go waits without a bound for programs that
// provide credentials.
type bounded struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	type answer struct {
		*http.Response
		err error
	}
	answers, over := make(chan answer), make(chan struct{})
	defer close(over)
	go func() {
		resp, err := b.RoundTripper.RoundTrip(r)
		select {
		case answers <- answer{resp, err}:
		case <-over:
			if err == nil {
				resp.Body.Close()
			}
		}
	}()
	select {
	case a := <-answers:
		return a.Response, a.err
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// CloseIdleConnections does what http.Client wants of its transport.
func (b bounded) CloseIdleConnections() {
	if c, ok := b.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// Contexts returns the names of the contexts of the usual kubeconfig.
func Contexts() []string {
	raw, err := clientcmd.NewDefaultClientConfigLoadingRules().Load()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(raw.Contexts))
}

// contexts lists the contexts of a kubeconfig.
func contexts(raw api.Config) string {
	if len(raw.Contexts) == 0 {
		return "the kubeconfig has none"
	}
	return "the kubeconfig has " + strings.Join(slices.Sorted(maps.Keys(raw.Contexts)), ", ")
}

// unreadable returns the error of a kubeconfig in one line.
func unreadable(path string, err error) error {
	if path != "" && errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("--kubeconfig %s: there is no such file", path)
	}
	return fmt.Errorf("kubeconfig: %s", oneline.Words(err.Error()))
}
