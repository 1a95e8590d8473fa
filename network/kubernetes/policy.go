package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"nettoll/internal/await"
	"nettoll/internal/emulated"
	"nettoll/kube"
	"nettoll/network"
	"nettoll/record"
)

// silent is how long no greeting may be answered until the further policies count as enforced. Greetings are repeated every
// 40 ms meanwhile.
const silent = 2 * time.Second

// police gives the pods of the servers the further policies. It proves that the cluster enforces policies, since the API
// server accepts them in any cluster: greetings must be answered at first, not any more once the pods have only policies that
// admit nobody, and again once one more policy admits everything. That one is made last. Nodes learn of policies in the order
// in which they were made, so that they have all of them then. It is removed, and, when nothing is answered any more, made
// again: how long it takes until this is in force is measured when all others are. name is the network's.
func (n *build) police(ctx context.Context, name string) error {
	count := n.Topo.Policies
	servers, bound := n.pods[:n.Topo.Servers], kube.PolicyPatience(count)
	families, err := n.answering(ctx)
	if err != nil {
		return err
	}
	if err := n.cluster.Restrict(ctx, servers, count); err != nil {
		return err
	}
	if err = n.silence(ctx, families, bound); err == nil {
		err = n.admit(ctx, servers, families, bound)
	}
	if errors.As(err, new(*unsilenced)) { // maybe the second time only: at first, they may just not have run for seconds
		return n.cluster.Ignores(name, err)
	}
	if err != nil {
		return fmt.Errorf("with %d further policies: %w", count, err)
	}
	n.cluster.Enforces(name)
	n.Notes = append(n.Notes, fmt.Sprintf("the servers' pods have %d network policies that admit nobody, and one that admits everything: without the last, no greeting was answered", count))
	return nil
}

// admit makes the policy that admits everything, and measures how long it takes until it is in force. For that it is made twice:
// the first time, the nodes may still be working on the further policies, of which the first alone keeps greetings from the pods.
func (n *build) admit(ctx context.Context, servers []*kube.Pod, families []network.Family, bound time.Duration) error {
	if err := n.cluster.Admit(ctx, servers); err != nil {
		return err
	}
	if _, err := n.answer(ctx, families, bound); err != nil {
		return err
	}
	if err := n.cluster.Exclude(ctx); err != nil {
		return err
	}
	if err := n.silence(ctx, families, bound); err != nil {
		return err
	}
	if err := n.cluster.Admit(ctx, servers); err != nil {
		return err
	}
	admitted, f := time.Now(), families[0]
	var err error
	if n.InForce.Policy, err = n.until(ctx, n.Clients[0], 0, n.dials(n.Clients[0], n.Servers[0], f), f, bound, admitted); err != nil {
		return err
	}
	_, err = n.answer(ctx, families, bound)
	return err
}

// unsilenced is the error if servers still answered when the time was over.
type unsilenced struct{ error }

// silence waits until greetings are not answered any more.
func (n *build) silence(ctx context.Context, families []network.Family, bound time.Duration) error {
	bound = emulated.Patience(bound)
	err := await.Until(ctx, bound, 0, func(ctx context.Context) (missing, err error) {
		unanswered, err := n.greetOver(ctx, families, silent)
		for _, f := range answered(families, unanswered) {
			missing = fmt.Errorf("servers whose policies admit nobody still answer over IPv%d after %v", f, bound)
		}
		return missing, err
	})
	if errors.As(err, new(*await.Late)) {
		return &unsilenced{err}
	}
	return err
}

// answered returns the IP versions over which servers answer, be it over UDP or TCP alone.
func answered(families []network.Family, by map[network.Family]*unanswered) []network.Family {
	return record.Those(families, func(f network.Family) bool { return by[f] == nil || by[f].half })
}

// answering returns the IP versions over which servers answer.
func (n *build) answering(ctx context.Context) ([]network.Family, error) {
	families, err := n.answer(ctx, n.dialled(), kube.PolicyPatience(0))
	if len(families) == 0 {
		return nil, fmt.Errorf("before they have network policies: %w", cmp.Or(err, errors.New("the servers have no addresses")))
	}
	return families, nil
}

// answer greets the servers over IP versions. It returns those over which they answer in time, and an error if these are not
// all.
func (n *build) answer(ctx context.Context, families []network.Family, within time.Duration) ([]network.Family, error) {
	unanswered, err := n.greetOver(ctx, families, within)
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, un := range unanswered {
		texts = append(texts, un.text)
	}
	if texts != nil {
		slices.Sort(texts)
		err = errors.New(strings.Join(texts, "; "))
	}
	return slices.DeleteFunc(slices.Clone(families), func(f network.Family) bool { return unanswered[f] != nil }), err
}
