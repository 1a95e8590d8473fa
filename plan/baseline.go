package plan

import (
	"slices"

	"nettoll/record"
)

// base is what the cells of a number of hosts are compared with.
type base struct {
	named
	chosen string // as cells have it: empty is what record.Native says
}

// baselines gives the network that the cells of each number of hosts are compared
// with: the one that the suite names; or else the native of the first platform
// beyond the default that it names a network of; or else record.Native. fits are the
// numbers of hosts that each network is measured on.
func (s Suite) baselines(known Known, nets []named, fits [][]int) (map[int]base, error) {
	candidates, err := s.candidates(known, nets)
	if err != nil {
		return nil, err
	}
	all := make(map[int]base)
	for i, net := range nets {
		for _, h := range fits[i] {
			b, ok := all[h]
			if !ok {
				at := slices.IndexFunc(candidates, func(c named) bool { return c.kind.spans(h) })
				switch {
				case at >= 0:
					b = base{candidates[at], candidates[at].name}
				case s.Baseline != "":
					c := candidates[0]
					return nil, s.fault("baseline", "%s makes sense on %s, %s is measured on %d; change hosts, or name another baseline",
						c.name, c.kind.span(), net.name, h)
				default:
					b = base{named: named{name: record.Native(h)}}
				}
				if b.name == record.Native(h) {
					b.chosen = ""
				}
				all[h] = b
			}
			if err := s.checkBaseline(known, net, b, h); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// candidates are the networks that may be the baseline, the likeliest first.
func (s Suite) candidates(known Known, nets []named) (all []named, err error) {
	const field = "baseline"
	if s.Baseline != "" {
		platform, name, err := s.split(s.Baseline, field, known)
		if err != nil {
			return nil, err
		}
		net, err := s.look(field, platform, name, known)
		return []named{net}, err
	}
	for _, net := range nets {
		native := known.native(net.platform)
		if native == "" {
			continue
		}
		base, err := s.look(field, net.platform, native, known)
		if err != nil {
			return nil, err
		}
		all = append(all, base)
	}
	return all, nil
}

// native is what the networks of a platform are compared with, where
// that is not the default platform's.
func (k Known) native(platform string) string {
	for i, p := range k.Platforms {
		if p.Name == platform && i > 0 {
			return p.Native
		}
	}
	return ""
}

// checkBaseline refuses to compare a network with a baseline that does not carry its
// IP versions, or with one of the lab where its own platform has hosts of another kind.
func (s Suite) checkBaseline(known Known, net named, b base, hosts int) error {
	for _, f := range s.Families {
		if net.kind.speaks(f) && !b.kind.speaks(f) {
			return s.fault("baseline", "%s carries IPv%s only, %s is measured over IPv%d too; change families, or name another baseline",
				b.name, list(b.kind.Families), net.name, f)
		}
	}
	if native := known.native(net.platform); native != "" && s.Baseline == "" && b.platform == "" {
		return s.fault("baseline", "%s has no native on %d hosts to compare %s with; change hosts, or name a baseline",
			net.platform, hosts, net.name)
	}
	return nil
}
