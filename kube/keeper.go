package kube

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"nettoll/agent"
	"nettoll/internal/bootstrap"
	"nettoll/internal/wrap"
)

// How long objects stay on a cluster of the user's without nettoll.
const (
	// keeperTTL is how long the cluster keeps a keeper that has ended, with everything that belongs to it. Its
	// controllers take some seconds more.
	keeperTTL = 30 * time.Second
	// keeperLife is how long a keeper and its pods may exist, in whatever state they are: a pod that cannot be started does not
	// end by itself if nettoll is killed meanwhile, but uses nothing of its node. All others end with nettoll. So it is long, since
	// networks whose trials are whole and long may stand for hours.
	keeperLife = 24 * time.Hour
	// firstByte is how long a pod waits for nettoll to attach to it.
	firstByte = 60 * time.Second
	// receiving is how long the agent may then be on its way: it has some megabytes.
	receiving = 5 * time.Minute
)

// keeper is a Job with one pod, an agent that does nothing but live as long as nettoll. When it has ended, for whatever
// reason, the Job has finished, and the cluster removes it after a while, with all objects that it owns.
type keeper struct {
	name  string // of the Job
	uid   string
	own   *Own
	pod   *Pod
	began time.Time
	spent bool // something of it could not be removed; the next network gets another one

	networks int // that stand, and belong to it

	agents   map[string]*Container // on nodes, by the nodes' names in the cluster
	observed int                   // pods of such agents made so far
}

// keep makes a keeper.
func (o *Own) keep(ctx context.Context, number int) (_ *keeper, err error) {
	k := &keeper{name: o.prefix() + strconv.Itoa(number), own: o, began: time.Now(), agents: map[string]*Container{}}
	c := o.cluster(k)
	on := &Node{Host: ownNode{"keeper", o}, cluster: c}
	k.pod = &Pod{Name: k.name, spec: PodSpec{Node: on}, mark: bootstrap.Mark()}
	k.pod.Containers = []*Container{{name: "keeper", pod: k.pod}}
	template := k.pod.object()
	about := template["metadata"].(fields)
	labels := fields{}
	maps.Copy(labels, about["labels"].(fields))
	labels["sidecar.istio.io/inject"] = "false" // with a sidecar, which does not end, the job would not
	about["labels"], about["annotations"] = labels, fields{"linkerd.io/inject": "disabled"}
	// A Job's pod that is refused shows only in events, which not everybody may read. So the same pod is tried first.
	if err := o.try(ctx, c, template); err != nil {
		return nil, err
	}
	job := fields{
		"apiVersion": "batch/v1", "kind": "Job", "metadata": fields{"name": k.name, "labels": labels},
		"spec": fields{
			"backoffLimit": 0, "ttlSecondsAfterFinished": int(keeperTTL.Seconds()), "activeDeadlineSeconds": int(keeperLife.Seconds()),
			"template": fields{"metadata": fields{"labels": labels, "annotations": about["annotations"]}, "spec": template["spec"]},
		},
	}
	var made struct{ Metadata struct{ UID string } }
	if err := o.entrance.Ask(ctx, http.MethodPost, k.path(), job, &made); err != nil {
		if !errors.As(err, new(*Status)) { // it may have been made all the same, and a pod that cannot be started would stay
			_ = k.drop(context.WithoutCancel(ctx))
		}
		return nil, fmt.Errorf("make the job %s: %w", k.name, o.refused("jobs", err))
	}
	k.uid = made.Metadata.UID
	defer func() {
		if err == nil {
			return
		}
		if left := k.end(context.WithoutCancel(ctx)); left != nil {
			o.old = append(o.old, k)
			err = errors.Join(err, left)
		}
	}()
	if err := c.until(ctx, k.found); err != nil {
		return nil, o.refused("pods", err)
	}
	return k, wrap.Error(c.await(ctx, k.pod), "start a pod")
}

// try has the API server check a pod without making it.
func (o *Own) try(ctx context.Context, c *Cluster, pod fields) error {
	return o.refused("pods", o.entrance.Ask(ctx, http.MethodPost, c.in("pods")+"?dryRun=All", pod, nil))
}

// path returns the path of Jobs in the API, or of one of them.
func (k *keeper) path(name ...string) string {
	return strings.Join(append([]string{"/apis/batch/v1/namespaces/" + k.own.entrance.namespace + "/jobs"}, name...), "/")
}

// found finds the keeper's pod, whose name the cluster has made up.
func (k *keeper) found(ctx context.Context) (missing, err error) {
	all, err := k.own.pods(ctx, KeeperLabel, k.name)
	if len(all) == 0 {
		return errors.New("the job " + k.name + " has no pod (kubectl get events -n " + k.own.entrance.namespace + " tells whether the cluster's job controller was refused it)"), err
	}
	k.pod.Name = all[0].Metadata.Name
	return nil, err
}

// pods lists the pods that have a label.
func (o *Own) pods(ctx context.Context, key, value string) ([]podState, error) {
	var all struct{ Items []podState }
	err := o.entrance.Ask(ctx, http.MethodGet, o.cluster(nil).in("pods")+"?labelSelector="+url.QueryEscape(key+"="+value), nil, &all)
	return all.Items, err
}

// lost returns why the keeper has ended; nil: it has not.
func (k *keeper) lost() error {
	if first := k.pod.Containers[0].first; first != nil {
		return first.Err()
	}
	return nil
}

// lasts reports whether a network can be built that the keeper will outlive.
func (k *keeper) lasts() bool {
	return k.lost() == nil && !k.spent && time.Since(k.began) < keeperLife/2
}

// end removes the keeper with everything that it owns, and returns when all is gone.
func (k *keeper) end(ctx context.Context) error {
	k.pod.Containers[0].close()
	for _, agent := range k.agents {
		agent.close()
	}
	err := k.drop(ctx)
	if err == nil || Absent(err) {
		err = k.own.cluster(k).until(ctx, k.gone)
	}
	return wrap.Error(k.own.refused("jobs", err), "kubernetes: remove the job %s", k.name)
}

// drop has the cluster remove the keeper with everything that it owns.
func (k *keeper) drop(ctx context.Context) error {
	// Without a policy, the API would leave what the Job owns.
	foreground := fields{"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Foreground"}
	return k.own.entrance.Ask(ctx, http.MethodDelete, k.path(k.name), foreground, nil)
}

// gone asks whether neither the Job nor a pod of it is left: a pod that was made a moment before the Job was
// removed can outlast it.
func (k *keeper) gone(ctx context.Context) (missing, err error) {
	missing = errors.New("something of it is still there")
	if err := k.own.entrance.Ask(ctx, http.MethodGet, k.path(k.name), nil, nil); !Absent(err) {
		return missing, err
	}
	left, err := k.own.pods(ctx, KeeperLabel, k.name)
	if len(left) == 0 {
		missing = nil
	}
	return missing, err
}

// received returns the script of a container's first process, which receives the agent. It first waits for a byte from
// nettoll, since what it writes before nettoll is attached is lost. It ends if no byte comes, or no agent after that. The
// shell itself stays: nothing can kill the first process of a PID namespace from within, so all others are killed. In a
// container that shares the PID namespace of its node (shared), it is the shell that is killed, and nothing else: the
// container's runtime then ends the rest.
func received(mark string, shared bool) string {
	return receivedWithin(mark, shared, firstByte, receiving)
}

func receivedWithin(mark string, shared bool, first, whole time.Duration) string {
	seconds := func(d time.Duration) string { return strconv.Itoa(int(d.Seconds())) }
	all := "-1"
	if shared {
		all = "$$"
	}
	return strings.NewReplacer("FIRST", seconds(first), "WHOLE", seconds(whole), "ALL", all, "WATCH", bootstrap.WatchEnv, "SCRIPT", bootstrap.Script(mark)).Replace(
		`exec 3<&0; (sleep FIRST && kill -9 ALL) & w=$!; ` +
			`(read x || exit 1; kill $w; (sleep WHOLE && kill -9 ALL) & export WATCH=$!; exec 3<&-; SCRIPT) <&3 & wait $!`)
}

// inject sends the agent to a container's first process, and returns it with a function that stops the heartbeats.
func (o *Own) inject(ctx context.Context, s *stream, mark string) (*agent.Client, func(), error) {
	if _, err := s.Stdin().Write([]byte("\n")); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("write to it: %w", err), s.Kill())
	}
	p, err := bootstrap.Inject(ctx, s, mark, o.o.Agents.For)
	switch {
	case err != nil && (ctx.Err() != nil || errors.Is(err, bootstrap.ErrNoAgent)): // the image is not at fault
		return nil, nil, fmt.Errorf("send the agent: %w", err)
	case err != nil:
		return nil, nil, fmt.Errorf("send the agent to the image %s: %w; name another image with --image", o.o.Image, err)
	}
	c := agent.Dial(p)
	beating, stop := context.WithCancel(context.Background())
	go bootstrap.Beating(beating, c, &o.pulse, bootstrap.Beat, bootstrap.Silence, func() { _ = s.Kill() })
	return c, stop, nil
}
