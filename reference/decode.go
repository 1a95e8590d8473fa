package reference

import (
	"cmp"
	"fmt"

	"github.com/goccy/go-yaml"
)

// document is a file of data/: a source with its tables as written there.
type document struct {
	Source `yaml:",inline"`
	Tables []matrix `yaml:"tables"`
}

// matrix is a table as written: what all cells share, then columns and rows.
type matrix struct {
	Table   `yaml:",inline"`
	At      Place    `yaml:"at"`
	Columns []column `yaml:"columns"`
	Rows    []row    `yaml:"rows"`
}

type column struct {
	Place `yaml:",inline"`
	As    map[string]string `yaml:"as"` // where it differs from the network's
}

type row struct {
	Network string `yaml:"network"`
	Values  []any  `yaml:"values"` // a number, null, or the source's text in place of a number
}

// decode reads a file of data/. An unknown field is an error, as is a table whose rows and columns do not match.
func decode(name string, text []byte) (Source, error) {
	var d document
	if err := yaml.UnmarshalWithOptions(text, &d, yaml.Strict()); err != nil {
		return Source{}, fmt.Errorf("read published source %s: %w", name, err)
	}
	s := d.Source
	s.Name = name
	for _, m := range d.Tables {
		t, err := m.table(s)
		if err != nil {
			return Source{}, fmt.Errorf("read published source %s: table %q: %w", name, m.Name, err)
		}
		s.Tables = append(s.Tables, t)
	}
	return s, nil
}

func (m matrix) table(s Source) (Table, error) {
	t := m.Table
	if t.Tool == "" && len(s.Tools) > 0 {
		t.Tool = s.Tools[0].Name
	}
	for _, c := range m.Columns {
		t.Columns = append(t.Columns, c.within(m.At))
	}
	for _, r := range m.Rows {
		network, known := s.Network(r.Network)
		if !known {
			return Table{}, fmt.Errorf("row of %q, which is not a network of the source", r.Network)
		}
		if len(r.Values) != len(m.Columns) {
			return Table{}, fmt.Errorf("%d values of %s in %d columns", len(r.Values), r.Network, len(m.Columns))
		}
		for i, v := range r.Values {
			p := Published{Network: r.Network, As: network.As, Place: t.Columns[i]}
			if as, other := m.Columns[i].As[r.Network]; other {
				p.As = as
			}
			if err := p.set(v); err != nil {
				return Table{}, fmt.Errorf("%s at %s: %w", r.Network, p.Label, err)
			}
			t.Cells = append(t.Cells, p)
		}
	}
	return t, nil
}

func (p *Published) set(v any) error {
	switch v := v.(type) {
	case float64:
		p.Value = v
	case uint64:
		p.Value = float64(v)
	case int64:
		p.Value = float64(v)
	case nil:
		p.Missing = "the source does not give it"
	case string:
		p.Missing = fmt.Sprintf("the source gives %q", v)
	default:
		return fmt.Errorf("value %v is a %T", v, v)
	}
	return nil
}

// within fills the unset fields of a place from those that the whole table shares.
func (p Place) within(all Place) Place {
	p.Hosts = cmp.Or(p.Hosts, all.Hosts)
	p.Family = cmp.Or(p.Family, all.Family)
	p.Servers = cmp.Or(p.Servers, all.Servers)
	p.Clients = cmp.Or(p.Clients, all.Clients)
	p.Processes = cmp.Or(p.Processes, all.Processes)
	p.Underlay = cmp.Or(p.Underlay, all.Underlay)
	return p
}
