package plan

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"nettoll/record"
)

// YAML writes the suite as a file that says all of it, the defaults included, and that Load
// reads as the same suite.
func (s Suite) YAML() (string, error) {
	text, err := yaml.MarshalWithOptions(s,
		yaml.Flow(false), yaml.IndentSequence(true),
		yaml.CustomMarshaler(func(r Ratio) ([]byte, error) { return []byte(r.String()), nil }),
		yaml.CustomMarshaler(func(t Topology) ([]byte, error) { return []byte(t.String()), nil }),
		yaml.CustomMarshaler(func(u Underlay) ([]byte, error) { return []byte(strconv.Quote(shapeText(u))), nil }),
		yaml.CustomMarshaler(func(w Workload) ([]byte, error) { return []byte(w.flow()), nil }),
	)
	if err != nil {
		return "", fmt.Errorf("write suite %s: %w", s.Name, err)
	}
	out := string(text)
	if !s.Turns { // which the key's absence would deny
		out += "turns: false\n"
	}
	return out, nil
}

// shapeText is a shape as a file has it: one that is none has a name there.
func shapeText(u Underlay) string {
	if text := u.String(); text != "" {
		return text
	}
	return "none"
}

// flow is a workload with its options as a file has it, on one line.
func (w Workload) flow() string {
	parts := []string{"name: " + w.Name}
	for _, d := range w.given() {
		c := record.Cell{Options: w.Options}
		text := d.Text(c)
		if n, ok := d.Raw(c); ok {
			text = inUnit(n, d.Unit)
		} else if !d.Switch() {
			text = strconv.Quote(text)
		}
		parts = append(parts, keyOf(d)+": "+text)
	}
	if len(w.Tools) > 0 {
		parts = append(parts, "tools: ["+strings.Join(w.Tools, ", ")+"]")
	}
	if len(parts) == 1 {
		return w.Name
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
