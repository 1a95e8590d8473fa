package kube

import (
	"context"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"nettoll/agent"
	"nettoll/internal/testutil/iferr"
	"nettoll/platform"
)

// APIBy returns an API server that is asked by a client.
func APIBy(client *http.Client, url string) *API {
	return &API{URL: url, requests: client, streams: client}
}

// ClusterBy returns a cluster with such an API server. Only pods and headless services can be made there.
func ClusterBy(a *API) *Cluster {
	return &Cluster{api: a, namespace: "team", pause: time.Millisecond}
}

// PodAt returns a pod with addresses.
func PodAt(name string, at ...netip.Addr) *Pod { return &Pod{Name: name, ips: at} }

// Bounded returns a transport as clients of clusters of the user's have it.
func Bounded(by http.RoundTripper) http.RoundTripper { return bounded{by} }

// Attach is attach. One message to the process takes no longer than within.
func (a *API) Attach(t *testing.T, within time.Duration) platform.Process {
	t.Helper()
	old := sendTime
	t.Cleanup(func() { sendTime = old })
	sendTime = within
	s, err := a.TryAttach()
	iferr.Fatal(t, err)
	return s
}

// TryAttach is attach.
func (a *API) TryAttach() (platform.Process, error) {
	s, err := a.attach(context.Background(), "/pod", "container")
	if err != nil {
		return nil, err
	}
	return s, nil
}

// PauseProgram is pauseProgram.
var PauseProgram = pauseProgram

// ReceivedWithin is received, with other times to wait.
func ReceivedWithin(mark string, shared bool, first, whole time.Duration) string {
	return receivedWithin(mark, shared, first, whole)
}

// Ended waits until the container's agent has ended, and returns why.
func (c *Container) Ended(t *testing.T) error {
	t.Helper()
	select {
	case <-c.first.Done():
	case <-time.After(2 * time.Minute):
		t.Fatal("the agent goes on")
	}
	return c.first.Err()
}

// Outlived returns what is said of a keeper of an age that has ended.
func (o *Own) Outlived(age time.Duration) error {
	k := &keeper{own: o, began: time.Now().Add(-age)}
	first := agent.Dial(gone{})
	<-first.Done()
	k.pod = &Pod{Name: "keeper", spec: PodSpec{Node: &Node{cluster: o.cluster(nil)}}, Containers: []*Container{{first: first}}}
	return k.fault(context.Background())
}

// Any returns the cluster as a network that makes nothing sees it.
func (o *Own) Any() *Cluster { return o.cluster(nil) }

// NextBalancer returns why no service asks for a load balancer, after others had one or, with an error, had none in time.
func (o *Own) NextBalancer(others ...error) error {
	for _, err := range others {
		_ = o.noteBalancer(err)
	}
	_, err := o.nextBalancer()
	return err
}

// RefusedPods returns what it means for a network that the API server says why it makes no pods.
func (o *Own) RefusedPods(says string) error {
	return o.cluster(nil).refused("pods", &Status{Code: http.StatusForbidden, Message: says})
}

// AboutPod returns what is recorded of where a pod on a node is.
func (o *Own) AboutPod(node string) string {
	c := &Container{pod: &Pod{spec: PodSpec{Node: &Node{cluster: o.cluster(nil)}}, at: node}}
	return c.Facts().About
}

// gone is a process that has ended.
type gone struct{ platform.Process }

func (gone) Stdin() io.WriteCloser { return gone{} }
func (gone) Stdout() io.Reader     { return strings.NewReader("") }
func (gone) Stderr() string        { return "" }
func (gone) Wait() error           { return nil }
func (gone) Kill() error           { return nil }
func (gone) Write(b []byte) (int, error) {
	return len(b), nil
}
func (gone) Close() error { return nil }

// ForgetHostPorts is forgetHostPorts on a node with so many pods that have ports of it, of which some are gone.
func ForgetHostPorts(pods, gone int) error {
	return forgetHostPorts(context.Background(), map[*Node]int{{published: &hostPorts{pods: pods}}: gone})
}

// WithoutPortmap is withoutPortmap.
var WithoutPortmap = withoutPortmap
