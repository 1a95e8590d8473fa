package dockerhost

import (
	"fmt"
	"slices"
	"strings"

	cerrdefs "github.com/containerd/errdefs"
	dockercontext "github.com/docker/cli/cli/context"
	"github.com/docker/cli/cli/context/docker"
	"github.com/docker/cli/cli/context/store"
	"github.com/moby/moby/client"

	"nettoll/plan"
)

func (f folder) contexts() *store.ContextStore {
	endpoint := store.EndpointTypeGetter(docker.DockerEndpoint, func() any { return &docker.EndpointMeta{} })
	return store.New(f.file("contexts"), store.NewConfig(nil, endpoint))
}

// byContext reads a context; from says who named it.
func (f folder) byContext(name, from string) (Target, error) {
	contexts := f.contexts()
	wrong := &Unreachable{Target: Target{Source: contextSource + oneLine(name)}}
	metadata, err := contexts.GetMetadata(name)
	if cerrdefs.IsNotFound(err) {
		wrong.Reason, wrong.Err = fmt.Sprintf("there is no such context (named by %s)", from), err
		wrong.Remedy = instead(name, from, contexts)
		return Target{}, wrong
	}
	var endpoint docker.EndpointMeta
	if err == nil {
		endpoint, err = docker.EndpointFromContext(metadata)
	}
	var tls *dockercontext.TLSData
	if err == nil {
		tls, err = dockercontext.LoadTLSData(contexts, name, docker.DockerEndpoint)
	}
	if err != nil {
		wrong.Reason, wrong.Err = oneLine(err.Error()), err
		wrong.Remedy = fmt.Sprintf("fix it with docker context update %s --docker host=HOST, or name another engine with %s", name, flag)
		return Target{}, wrong
	}
	t := Target{Host: endpoint.Host, Source: contextSource + name, tls: tls, skipVerify: endpoint.SkipTLSVerify}
	if t.Host == "" {
		t.Host = client.DefaultDockerHost
	}
	return t, t.check()
}

// contextSource begins the Source of a Target that a context gave.
const contextSource = "context "

// instead says which contexts there are.
func instead(name, from string, contexts store.Lister) string {
	const most = 10                   // names in one line
	names, _ := store.Names(contexts) // of a store that cannot be read there is nothing to suggest
	names = append([]string{defaultContext}, names...)
	remedy := ""
	if near, ok := plan.Nearest(name, names); ok {
		remedy = fmt.Sprintf("did you mean %q? ", near)
	}
	more := ""
	if len(names) > most {
		more = fmt.Sprintf(" and %d more", len(names)-most)
		names = slices.Clip(names[:most])
	}
	remedy += "contexts here: " + oneLine(strings.Join(names, ", ")) + more
	if from == flag {
		remedy += "; a machine is named as tcp://HOST:PORT or ssh://USER@HOST"
	}
	return remedy
}
