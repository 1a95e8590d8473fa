package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"nettoll/agent"
	"nettoll/internal/atonce"
	"nettoll/internal/bootstrap"
	"nettoll/internal/oneline"
	"nettoll/platform"
	"nettoll/record"
)

// OwnOptions say how nettoll uses a cluster of the user's.
type OwnOptions struct {
	Login
	// Nodes are the names of the nodes to use, the servers' first; none: nodes of one kind that take pods are found.
	Nodes []string
	// Zones says in which zones two nodes that are found have to be: SameZone or OtherZone; empty: in any.
	Zones string
	// Tolerate are the keys of taints that do not keep nettoll's pods from a node.
	Tolerate []string
	// PodCPUs is how many CPUs each container of a measured pod requests and is limited to; 0: pods have no requests and no limits.
	PodCPUs int
	// Image is that of all pods, which has a shell; empty: DefaultImage.
	Image string
	// Run is the id of the run, from which the names of objects are made.
	Run    string
	Agents *bootstrap.Agents
	// Tools are sent to pods that lack them; nil: none are.
	Tools *bootstrap.Tools
	// NodeAgents has agents on the nodes, too: see Node.Agent. With NodeDaemons, they see the processes of the nodes. With
	// NodePrivileged, they have the capabilities to see what the nodes translate, and which BPF programs run there.
	NodeAgents     bool
	NodeDaemons    bool
	NodePrivileged bool
	Expect         string // see Cluster.Expect
}

// DefaultImage is the image of pods on clusters of the user's.
const DefaultImage = "busybox"

// OwnPods is how many pods nettoll has there at once, unless one network has more: a node usually takes 110, and has
// those of others.
const OwnPods = 64

// Own is a cluster of the user's. Everything that is made there is in one namespace and belongs to one Job, the keeper,
// whose pod ends when nettoll does: then the cluster itself removes it all.
type Own struct {
	o     OwnOptions
	pulse bootstrap.Pulse // of its pods

	mu       sync.Mutex
	entrance *entrance
	version  string
	assigned bool // OpenShift gives pods their users, and refuses those that name one
	probed   bool
	nodes    []string          // their names in the cluster, the servers' first
	zones    map[string]string // of the nodes, where they are known
	claims   map[string]Claims // of the nodes' CNI plugin
	why      []string          // why other nodes are not used
	no       error             // why the cluster refuses all pods
	blind    bool              // nodes cannot be listed, and none is named: the scheduler finds them
	keeper   *keeper
	old      []*keeper // that may have left something
	keepers  int       // made so far
	lost     bool      // a keeper has ended, and there is no other one yet
	absent   absence   // since a keeper has ended

	notes notes

	balancers  int   // made so far
	balanced   bool  // one had an address
	unbalanced error // why there are none
	policing   policing
}

// NewOwn returns the cluster. Nothing is asked yet.
func NewOwn(o OwnOptions) *Own {
	o.Image = cmp.Or(o.Image, DefaultImage)
	return &Own{o: o}
}

// Quiet has heartbeats of its pods left out until end is called.
func (o *Own) Quiet() (end func()) { return o.pulse.Hold() }

// who names the cluster for users.
func (o *Own) who() string {
	if o.entrance.context == "" {
		return "the cluster that this pod is in"
	}
	return "the cluster of the context " + o.entrance.context
}

// away is the error of an API server that does not answer.
func (o *Own) away(err error) error {
	if request, ok := errors.AsType[*url.Error](err); ok {
		err = request.Err
	}
	if text := err.Error(); strings.Contains(text, "getting credentials") { // of a program; advice of several lines may follow
		first, _, _ := strings.Cut(text, "\n")
		return fmt.Errorf("%s: there are no credentials for %s: %s", o.who(), orNobody(o.entrance.user), first)
	}
	return fmt.Errorf("%s does not answer at %s: %w", o.who(), o.entrance.URL, err)
}

// About describes the cluster for users.
func (o *Own) About() string { return "a Kubernetes cluster of the user's, " + o.version }

// Where says which cluster, namespace and nodes are used.
func (o *Own) Where() string {
	nodes := "nodes " + strings.Join(record.Each(o.nodes, o.at), ", ")
	switch {
	case o.blind && len(o.nodes) == 0:
		nodes = "nodes that its scheduler chooses"
	case o.blind:
		nodes += ", which its scheduler has chosen: without the right to list nodes, it is not known whether they are of a kind; --nodes names others"
	}
	return fmt.Sprintf("%s (%s, %s), namespace %s, %s", o.who(), o.entrance.URL, o.version, o.entrance.namespace, nodes)
}

// at returns the name of a node, with its zone, if zones were asked for.
func (o *Own) at(node string) string {
	if zone := o.zones[node]; zone != "" && o.o.Zones != "" {
		return node + " in " + zone
	}
	return node
}

// Probe finds the cluster, its nodes, and the rights that the user has, and makes nothing.
func (o *Own) Probe(ctx context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.probe(ctx)
}

func (o *Own) probe(ctx context.Context) (err error) {
	if o.probed {
		return o.no
	}
	if o.entrance, err = o.o.Login.open(); err != nil {
		return err
	}
	var v struct{ GitVersion string }
	if err := o.entrance.Ask(ctx, http.MethodGet, "/version", nil, &v); err != nil {
		return o.refused("", err)
	}
	o.version = v.GitVersion
	const group = "security.openshift.io"
	var served struct{ Name string }
	_ = o.entrance.Ask(ctx, http.MethodGet, "/apis/"+group, nil, &served) // an error says that this is no OpenShift
	o.assigned = served.Name == group
	if err := o.allowed(ctx, neededRights); err != nil {
		return err
	}
	err = o.choose(ctx)
	o.probed = err == nil
	return err
}

// right is something that a user may be allowed to do in the namespace.
type right struct{ verb, group, resource, part string }

// neededRights are the rights without which nothing can be measured. The others are for networks with services, with headless ones,
// with further services, and with policies.
var neededRights = []right{
	{"create", "batch", "jobs", ""}, {"get", "batch", "jobs", ""}, {"delete", "batch", "jobs", ""},
	{"create", "", "pods", ""}, {"get", "", "pods", ""}, {"list", "", "pods", ""}, {"delete", "", "pods", ""}, {"get", "", "pods", "attach"},
}

var (
	serviceRights  = []right{{"create", "", "services", ""}, {"get", "", "services", ""}, {"delete", "", "services", ""}}
	headlessRights = []right{{"list", "discovery.k8s.io", "endpointslices", ""}}
	furtherRights  = []right{{"create", "discovery.k8s.io", "endpointslices", ""}, {"delete", "discovery.k8s.io", "endpointslices", ""}}
	policyRights   = []right{{"create", "networking.k8s.io", "networkpolicies", ""}, {"delete", "networking.k8s.io", "networkpolicies", ""}}
)

// allowed returns an error that names the rights that are missing. If the cluster does not answer such questions, missing
// rights show later, when it refuses a request.
func (o *Own) allowed(ctx context.Context, rights []right) error {
	missing := make([]bool, len(rights))
	err := atonce.All(ctx, -1, rights, func(_ context.Context, i int, r right) error {
		var may struct {
			Status struct{ Allowed, Denied bool }
		}
		err := o.entrance.Ask(ctx, http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", fields{
			"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
			"spec": fields{"resourceAttributes": fields{
				"namespace": o.entrance.namespace, "verb": r.verb, "group": r.group, "resource": r.resource, "subresource": r.part,
			}},
		}, &may)
		var s *Status
		if err != nil && (!errors.As(err, &s) || s.Code == http.StatusUnauthorized) {
			return o.refused("", err)
		}
		missing[i] = err == nil && !may.Status.Allowed
		return nil
	})
	if err != nil {
		return err
	}
	var all []string
	for i, r := range rights {
		if missing[i] {
			all = append(all, strings.TrimSuffix(r.verb+" "+r.resource+"/"+r.part, "/"))
		}
	}
	if len(all) == 0 {
		return nil
	}
	return missingRight(strings.Join(all, ", "), "in the namespace "+o.entrance.namespace)
}

// Needs are what a network needs of a cluster besides ordinary pods.
type Needs struct {
	Pod      PodSpec // its node does not matter
	Services bool
	Headless bool // its services are headless
	Further  bool // services besides those of its pods
	Policies bool
}

// Allows returns an error that names what the cluster refuses, or which rights the user lacks, of what a network needs.
// Nothing is made.
func (o *Own) Allows(ctx context.Context, n Needs) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.probe(ctx); err != nil {
		return err
	}
	var rights []right
	for _, take := range []struct {
		needed bool
		rights []right
	}{{n.Services, serviceRights}, {n.Headless, headlessRights}, {n.Further, furtherRights}, {n.Policies, policyRights}} {
		if take.needed {
			rights = append(rights, take.rights...)
		}
	}
	if err := o.allowed(ctx, rights); err != nil {
		return err
	}
	if !n.Pod.HostNetwork && n.Pod.HostPorts == (Ports{}) && n.Pod.CPUs == 0 {
		return nil // such pods are tried when the keeper is made
	}
	k := &keeper{name: o.prefix() + "try"}
	c := o.cluster(k)
	n.Pod.Node = &Node{Host: ownNode{"try", o}, cluster: c}
	pod := &Pod{Name: k.name, spec: n.Pod, mark: bootstrap.Mark(), Containers: []*Container{{name: "try"}}}
	return o.try(ctx, c, pod.object())
}

// prefix begins the names of what is made.
func (o *Own) prefix() string {
	const shown = 10 // of the digits of a run's id
	return "nettoll-" + o.o.Run[:min(len(o.o.Run), shown)] + "-"
}

// Begin makes sure that nettoll has a keeper on the cluster, which also shows that pods of the image run there.
func (o *Own) Begin(ctx context.Context) error {
	asked := time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.begin(ctx, asked)
}

// begin is Begin for a network that was asked for at a time.
func (o *Own) begin(ctx context.Context, asked time.Time) error {
	if err := o.probe(ctx); err != nil {
		return err
	}
	if o.keeper != nil && o.keeper.lasts() {
		return o.search(ctx)
	}
	if o.keeper != nil {
		o.lost = o.lost || o.keeper.lost() != nil
		o.old = append(o.old, o.keeper)
		o.keeper = nil
	}
	if o.lost {
		if err := o.returned(ctx, asked); err != nil {
			return fmt.Errorf("kubernetes: %w", err)
		}
	}
	// Old keepers stay as long as networks that belong to them stand. If one cannot be removed now, Close tries again,
	// and otherwise the cluster removes it. Nobody waits for the end of those that the cluster removes anyway.
	_ = o.sweep(ctx, func(k *keeper) bool { return k.networks == 0 && k.lost() == nil })
	for _, k := range o.old {
		if k.lost() != nil {
			_ = k.drop(ctx)
		}
	}
	o.keepers++
	k, err := o.keep(ctx, o.keepers)
	if err != nil {
		err = fmt.Errorf("kubernetes: %w", err)
		switch {
		case !errors.Is(err, platform.ErrUnsupported):
		case o.keepers == 1:
			o.no = err
		default: // it took such pods before, so later ones may succeed again
			err = errors.New(err.Error())
		}
		return err
	}
	o.keeper, o.lost = k, false
	return o.search(ctx)
}

// Use returns the first nodes of the cluster, for pods of one network.
func (o *Own) Use(ctx context.Context, count int) (*Cluster, error) {
	asked := time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.probe(ctx); err != nil {
		return nil, err
	}
	if o.blind {
		if err := o.begin(ctx, asked); err != nil {
			return nil, err
		}
	}
	if count > len(o.nodes) {
		have := fmt.Sprintf("%d nodes that take pods; it has %s", count, strings.Join(o.nodes, ", "))
		if len(o.why) > 0 {
			have += ", and " + strings.Join(few(o.why), ", ")
		}
		remedy := "measure on one host (--hosts 1), or on a cluster with more nodes"
		if len(o.o.Nodes) > 0 || count > mostUsed { // the cluster may have more
			have, remedy = fmt.Sprintf("%d nodes", count), "name each with --nodes, or measure on one host (--hosts 1)"
		}
		return nil, &platform.Unsupported{Feature: fmt.Sprintf("kubernetes on %d hosts", count), Option: have, Remedy: remedy}
	}
	if err := o.begin(ctx, asked); err != nil {
		return nil, err
	}
	c := o.cluster(o.keeper)
	for i, name := range o.nodes[:count] {
		c.Nodes = append(c.Nodes, &Node{Host: ownNode{fmt.Sprintf("h%d", i+1), o}, Index: i, As: name, Claims: o.claims[name], cluster: c})
	}
	if o.o.NodeAgents {
		if err := o.observe(ctx, c); err != nil {
			return nil, fmt.Errorf("kubernetes: %w", err)
		}
	}
	c.keeper.networks++
	return c, nil
}

// How often, and with how many requests at a time, an API server is asked that serves others, too.
const (
	ownPause    = 200 * time.Millisecond
	ownRequests = 16
)

// cluster returns the cluster for objects that belong to a keeper. A nil keeper is for requests that make nothing.
func (o *Own) cluster(k *keeper) *Cluster {
	c := &Cluster{api: o.entrance.API, own: o, namespace: o.entrance.namespace, pause: ownPause, requests: ownRequests, policing: &o.policing}
	if k != nil {
		c.keeper, c.prefix, c.look = k, k.name+"-", o.look(k)
	}
	return c
}

// Kept reports whether the keeper of a network has ended, so that the cluster removes by itself what was made there.
func (*Own) Kept(c *Cluster) bool { return c.keeper.lost() != nil }

// Leave notes that the network on a cluster, which Use has returned, is gone.
func (o *Own) Leave(c *Cluster) {
	o.mu.Lock()
	defer o.mu.Unlock()
	c.keeper.networks--
}

// GiveUp leaves what could not be removed of a network to its keeper, which ends when no network stands that belongs to it.
func (o *Own) GiveUp(c *Cluster) {
	o.mu.Lock()
	defer o.mu.Unlock()
	c.keeper.spent = true
}

// sweep ends the old keepers that such selects, and remembers those that it could not end. The cluster removes lost keepers
// by itself.
func (o *Own) sweep(ctx context.Context, such func(*keeper) bool) error {
	var errs []error
	o.old = slices.DeleteFunc(o.old, func(k *keeper) bool {
		if !such(k) {
			return false
		}
		err := k.end(ctx)
		errs = append(errs, err)
		return err == nil
	})
	return errors.Join(errs...)
}

// Close removes everything.
func (o *Own) Close(ctx context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.entrance == nil {
		return nil
	}
	defer o.entrance.Idle()
	if o.keeper != nil {
		o.old = append(o.old, o.keeper)
		o.keeper = nil
	}
	if err := o.sweep(ctx, func(*keeper) bool { return true }); err != nil {
		return fmt.Errorf("%w; the cluster removes what is left within %v", err, keeperTTL+bootstrap.Silence)
	}
	return nil
}

// look returns what the pods of a keeper have in common: they meet the level "restricted" of pod security, unless they
// have the network of their node.
func (o *Own) look(k *keeper) look {
	name, value, _ := strings.Cut(agent.Quiet, "=")
	metadata := fields{"labels": fields{KeeperLabel: k.name}}
	if k.uid != "" {
		metadata["ownerReferences"] = []fields{{"apiVersion": "batch/v1", "kind": "Job", "name": k.name, "uid": k.uid}}
	}
	user := fields{"runAsNonRoot": true, "seccompProfile": fields{"type": "RuntimeDefault"}}
	if !o.assigned {
		user["runAsUser"], user["runAsGroup"] = nobody, nobody
	}
	return look{
		metadata: metadata,
		spec: fields{
			"activeDeadlineSeconds": int(keeperLife.Seconds()),
			"securityContext":       user,
			// The agent is received there: the image may have no folder that every user may write to.
			"volumes":     []fields{{"name": "tmp", "emptyDir": fields{}}},
			"tolerations": record.Each(o.o.Tolerate, func(key string) fields { return fields{"key": key, "operator": "Exists"} }),
		},
		container: fields{
			"image": o.o.Image, "imagePullPolicy": "IfNotPresent", "env": []fields{{"name": name, "value": value}},
			"securityContext": fields{"allowPrivilegeEscalation": false, "capabilities": fields{"drop": []string{"ALL"}}},
			"volumeMounts":    []fields{{"name": "tmp", "mountPath": "/tmp"}},
		},
		// Kubernetes gives capabilities only to root, and does not take allowPrivilegeEscalation: false beside SYS_ADMIN.
		privileged: fields{
			"runAsNonRoot": false, "runAsUser": 0, "runAsGroup": 0,
			"capabilities": fields{"drop": []string{"ALL"}, "add": []string{"NET_ADMIN", "SYS_ADMIN"}},
		},
		command: func(p *Pod) []string { // in which kubelet replaces $(NAME), and $$ by $
			return []string{"sh", "-c", strings.ReplaceAll(received(p.mark, p.spec.HostPID), "$", "$$")}
		},
		on: func(n *Node) fields {
			names, operator := o.nodes, "In"
			switch {
			case n.Not != "":
				names, operator = []string{n.Not}, "NotIn"
			case n.As != "":
				names = []string{n.As}
			}
			chosen := fields{}
			if n.As == "" { // the scheduler chooses, and some clusters also have nodes of Windows without a taint
				chosen["nodeSelector"] = fields{"kubernetes.io/os": "linux"}
			}
			if terms := record.Each(names, func(name string) fields {
				return fields{"matchFields": []fields{{"key": "metadata.name", "operator": operator, "values": []string{name}}}}
			}); len(terms) > 0 { // any of them
				chosen["affinity"] = fields{"nodeAffinity": fields{"requiredDuringSchedulingIgnoredDuringExecution": fields{"nodeSelectorTerms": terms}}}
			}
			return chosen
		},
	}
}

// KeeperLabel is on everything that is made on a cluster of the user's; its value is the name of the Job that owns it.
const KeeperLabel = "nettoll.job"

// nobody is the user, and the group, that containers run as.
const nobody = 65534

// ended returns the error of a container that does not run.
func (o *Own) ended(reason, message string) error {
	message = oneline.Words(message)
	switch {
	case strings.HasPrefix(reason, "ErrImage") || reason == "ImagePullBackOff" || reason == "InvalidImageName":
		return fmt.Errorf("the image %s cannot be had: %s; name one that the cluster can pull, with --image", o.o.Image, cmp.Or(message, reason))
	case strings.Contains(message, `"sh"`):
		return fmt.Errorf("the image %s has no shell (sh); name one that has, with --image", o.o.Image)
	}
	return fmt.Errorf("its container does not run: %s %s", reason, message)
}

// ownNode is a node of the user's.
type ownNode struct {
	name string
	own  *Own
}

// Name implements platform.Endpoint.
func (n ownNode) Name() string { return n.name }

// OnHost implements platform.Endpoint.
func (n ownNode) OnHost() string { return n.name }

// Facts implements platform.Endpoint.
func (n ownNode) Facts() platform.Facts { return platform.Facts{About: n.own.About(), Borrowed: true} }

// Uplink implements platform.Host: it is not known.
func (ownNode) Uplink() platform.Uplink { return platform.Uplink{} }

// Start implements platform.Endpoint.
func (n ownNode) Start(_ context.Context, c platform.Command) (platform.Process, error) {
	return nil, fmt.Errorf("%s: start %s: nothing is started on nodes of the user's, except in pods", n.name, c.Path)
}

// Containers implements platform.Host.
func (ownNode) Containers(context.Context, int) ([]platform.Endpoint, error) {
	return nil, alwaysConnected()
}
