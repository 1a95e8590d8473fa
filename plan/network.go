package plan

import (
	"fmt"
	"slices"
	"strings"
)

// allNetworks is every network of a platform.
const allNetworks = "all"

// named is a network that a suite names, on a platform.
type named struct {
	name     string // as cells have it
	platform string
	kind     Network
	field    string // that names it; empty where it came with "all"
	moved    bool   // the suite means it on another platform: what does not fit is left out
}

// home is the platform that names without a prefix mean.
func (s Suite) home(known Known) string {
	if s.Platform == "" && len(known.Platforms) > 0 {
		return known.Platforms[0].Name
	}
	return s.Platform
}

// networks looks up what the suite names. Each stands there once. What is left out,
// since the suite was moved to another platform, is told by the skips.
func (s Suite) networks(known Known) (nets []named, skips []Skip, err error) {
	if s.Platform != "" && !slices.Contains(known.platforms(), s.Platform) {
		return nil, nil, s.unknown("platform", "platform", s.Platform, known.platforms())
	}
	seen := make(map[string]int)
	add := func(n named) {
		if i, ok := seen[n.name]; !ok {
			seen[n.name] = len(nets)
			nets = append(nets, n)
		} else if nets[i].field == "" {
			nets[i].field = n.field
		}
	}
	for i, text := range s.Networks {
		field := fmt.Sprintf("networks[%d]", i)
		platform, name, err := s.split(text, field, known)
		if err != nil {
			return nil, nil, err
		}
		moved := s.moved && name == text
		several, all := known.usual(text), name == allNetworks
		if all {
			several = known.on(platform)
		} else if len(several) > 0 {
			platform = text
		}
		for _, t := range several {
			add(named{known.name(platform, t.Name), platform, t, "", false})
		}
		if all || len(several) > 0 {
			continue
		}
		t, ok := known.find(platform, name)
		if moved && !ok {
			t, ok = known.like(platform, name)
		}
		switch {
		case ok:
			n := named{known.name(platform, t.Name), platform, t, field, moved}
			if why, _ := s.unfit(n); why != "" && moved {
				skips = append(skips, Skip{Network: text, Reason: why})
			}
			add(n)
		case moved && len(known.elsewhere(platform, name)) > 0:
			skips = append(skips, Skip{Network: text, Reason: fmt.Sprintf("%s has no network %s", platform, name)})
		default:
			return nil, nil, s.unknownNetwork(field, platform, name, known)
		}
	}
	for _, t := range s.regained(known) {
		add(named{known.name(s.Platform, t.Name), s.Platform, t, "", true})
	}
	if len(nets) == 0 {
		return nil, nil, s.fault("platform", "%s has none of the networks that are named; name others, or another platform", s.home(known))
	}
	return nets, once(skips), nil
}

// regained are networks that the suite left out because the platform it was written
// for has none, and the one that it was moved to has.
func (s Suite) regained(known Known) (all []Network) {
	for _, k := range s.Skips {
		if t, ok := known.find(s.Platform, k.Network); ok && s.moved {
			all = append(all, t)
		}
	}
	return all
}

// split tells the platform and the name of a network.
func (s Suite) split(text, field string, known Known) (platform, name string, err error) {
	platform, name, ok := strings.Cut(text, ":")
	if !ok {
		return s.home(known), text, nil
	}
	if !slices.Contains(known.platforms(), platform) {
		return "", "", s.unknown(field, "platform", platform, known.platforms())
	}
	return platform, name, nil
}

// look finds a network of a platform, which a field names.
func (s Suite) look(field, platform, name string, known Known) (named, error) {
	t, ok := known.find(platform, name)
	if !ok {
		return named{}, s.unknownNetwork(field, platform, name, known)
	}
	return named{name: known.name(platform, name), platform: platform, kind: t}, nil
}

// clusters are names that people try, of networks that are there only in a cluster.
var clusters = []string{"cilium", "kubernetes", "k8s", "antrea", "kube-router"}

// unknownNetwork is the fault of a field that names a network which its platform
// does not have. One that another platform has was probably meant there.
func (s Suite) unknownNetwork(field, platform, name string, known Known) error {
	if others := known.elsewhere(platform, name); len(others) > 0 {
		return s.fault(field, "%s has no network %q; did you mean %q? nettoll list networks shows all",
			platform, name, others[0]+":"+name)
	}
	if slices.Contains(known.platforms(), name) {
		return s.fault(field, "%s is a platform; write %s:%s for all of its networks. nettoll list networks %s shows them", name, name, allNetworks, name)
	}
	if slices.Contains(clusters, name) {
		return s.fault(field, "%s needs a cluster with its agents, which nettoll does not start; calico-… and flannel-… can be measured without one, and what a CNI plugin builds by itself (--cni-conf)", name)
	}
	var here []string
	for _, t := range known.on(platform) {
		here = append(here, t.Name)
	}
	return s.unknown(field, "network", name, here)
}
