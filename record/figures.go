package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"sync"
)

// figures reads trials for somebody who wants what was measured, and not everything that was
// counted beside it.
type figures struct {
	finish    func(*Trial)
	cells     pool[Cell]
	endpoints pool[[]Endpoint]
	texts     texts
}

// figuresLine is a trial with those fields that are not decoded as they stand.
type figuresLine struct {
	*Trial
	SchemaVersion int              `json:"schema_version"`
	Cell          part[Cell]       `json:"cell"`
	Endpoints     part[[]Endpoint] `json:"endpoints"`
	Counters      checked          `json:"counters"`
}

// trial decodes a line, where it is a trial and all is well. All else, of which there is little, is
// left to those who say what is wrong.
func (f *figures) trial(line []byte) *Trial {
	if !bytes.HasPrefix(line, trialPrefix) {
		return nil
	}
	t := &Trial{}
	l := figuresLine{Trial: t, Cell: part[Cell]{from: &f.cells}, Endpoints: part[[]Endpoint]{from: &f.endpoints}}
	if json.Unmarshal(line, &l) != nil || t.Type != TypeTrial {
		return nil
	}
	t.Cell, t.Endpoints = l.Cell.value, l.Endpoints.value
	if t.Check() != nil {
		return nil
	}
	f.brief(t)
	return t
}

// brief leaves of a trial what reports are made of.
func (f *figures) brief(t *Trial) {
	t.Counters, t.Slices = nil, nil
	f.texts.share(t)
	if f.finish != nil {
		f.finish(t)
	}
}

// pool keeps what parts of lines say, so that it is decoded and held once where lines say the same: the
// cells and endpoints of a run are few, and its trials many.
type pool[T any] struct {
	sync.Mutex
	known map[[sha256.Size]byte]T // by the text
}

// part is a field of a line whose value is in a pool.
type part[T any] struct {
	from  *pool[T]
	value T
	given bool
}

// UnmarshalJSON finds the value, or decodes it.
func (p *part[T]) UnmarshalJSON(text []byte) error {
	if p.given {
		return errors.New("a key that is there twice adds to what it said before")
	}
	p.given = true
	key := sha256.Sum256(text)
	p.from.Lock()
	defer p.from.Unlock()
	value, known := p.from.known[key]
	if known {
		p.value = value
		return nil
	}
	if err := json.Unmarshal(text, &p.value); err != nil {
		return err
	}
	if p.from.known == nil {
		p.from.known = map[[sha256.Size]byte]T{}
	}
	p.from.known[key] = p.value
	return nil
}

// checked is an object of counters that nobody keeps.
type checked struct{}

// UnmarshalJSON accepts keys with whole numbers that need no second look: of up to 18 digits. That
// brackets and quotes match is known before.
func (checked) UnmarshalJSON(object []byte) error {
	odd := errors.New("something else than counters")
	if object[0] != '{' {
		return odd
	}
	before, inText, digits := byte('{'), false, 0
	for i := 1; i < len(object); i++ {
		c := object[i]
		switch {
		case inText && c == '\\':
			i++
		case c == '"' && (inText || before != ':'): // that of a key
			inText = !inText
		case inText:
		case c == ',' || c == ':' || c == '}':
			before, digits = c, 0
		case '0' <= c && c <= '9' && digits < 18:
			digits++
		default:
			return odd
		}
	}
	return nil
}

// texts are names that stand in many trials, each kept once.
type texts struct {
	sync.Mutex
	known map[string]string
}

// share has a trial use the texts that others have.
func (s *texts) share(t *Trial) {
	s.Lock()
	defer s.Unlock()
	if s.known == nil {
		s.known = map[string]string{}
	}
	t.Type = TypeTrial
	for _, text := range []*string{(*string)(&t.Status), &t.Reason, &t.Remedy} {
		s.one(text)
	}
	metrics := make(map[string]Metric, len(t.Metrics))
	for name, m := range t.Metrics {
		s.one(&name)
		s.one(&m.Unit)
		metrics[name] = m
	}
	if t.Metrics != nil {
		t.Metrics = metrics
	}
	for i := range t.Flows {
		f := &t.Flows[i]
		s.one(&f.Client)
		s.one(&f.Server)
		if f.TCP != nil {
			s.one(&f.TCP.Congestion)
		}
	}
	for i := range t.Path {
		h := &t.Path[i]
		s.one(&h.Name)
		s.one(&h.Kind)
		s.one(&h.Unit)
	}
	for i := range t.Warnings {
		s.one(&t.Warnings[i].Code)
		s.one(&t.Warnings[i].Text)
	}
	if t.CPU != nil {
		s.one(&t.CPU.Machine.Clock)
		for _, p := range append([]*ProcessCPU{&t.CPU.Client, &t.CPU.Server}, pointers(t.CPU.Daemons)...) {
			s.one(&p.Name)
			s.one(&p.Host)
		}
		for _, c := range pointers(t.CPU.Containers) {
			s.one(&c.Name)
		}
		for _, h := range pointers(t.CPU.Hosts) {
			s.one(&h.Host)
		}
	}
}

func (s *texts) one(text *string) {
	known, ok := s.known[*text]
	if !ok {
		s.known[*text], known = *text, *text
	}
	*text = known
}

func pointers[T any](all []T) []*T {
	out := make([]*T, len(all))
	for i := range all {
		out[i] = &all[i]
	}
	return out
}
