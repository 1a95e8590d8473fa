package reference

import (
	"strings"
	"testing"
)

const small = `
title: t
networks: [{name: a}, {name: b, as: bridge}]
tables:
  - name: x
    unit: us
    at: {hosts: 2, clients: 1}
    columns: [{label: one}, {label: two, clients: 2, as: {b: published}}]
    rows: [{network: a, values: [1, -2.5]}, {network: b, values: [null, "three"]}]
`

func TestDecode(t *testing.T) {
	s, err := decode("small", []byte(small))
	if err != nil {
		t.Fatal(err)
	}
	cells := s.Tables[0].Cells
	if len(cells) != 4 || cells[0].Value != 1 || cells[1].Value != -2.5 || cells[1].Clients != 2 || cells[1].Hosts != 2 || cells[0].Clients != 1 {
		t.Errorf("cells are %+v", cells)
	}
	if cells[2].As != "bridge" || cells[3].As != "published" || cells[2].Given() || cells[3].Given() {
		t.Errorf("cells are %+v", cells)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for name, change := range map[string][2]string{
		"which is no network": {"network: b,", "network: c,"},
		"values of a in 2":    {"[1, -2.5]", "[1]"},
		"bool":                {"[1, -2.5]", "[1, true]"},
		"colour":              {"unit: us", "colour: us"},
	} {
		text := strings.Replace(small, change[0], change[1], 1)
		if _, err := decode("small", []byte(text)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%q instead of %q: %v, want %q", change[1], change[0], err, name)
		}
	}
}
