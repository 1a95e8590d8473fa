package reference

import (
	"fmt"

	"github.com/goccy/go-yaml"
)

// document is a file of data/.
type document struct {
	Title       string         `yaml:"title"`
	Year        int            `yaml:"year"`
	Placement   string         `yaml:"placement"`
	Setup       []Fact         `yaml:"setup"`
	Tools       []Tool         `yaml:"tools"`
	Networks    []Network      `yaml:"networks"`
	Instances   []InstanceType `yaml:"instances"`
	Tables      []matrix       `yaml:"tables"`
	Conclusions []Conclusion   `yaml:"conclusions"`
	Notes       []string       `yaml:"notes"`
	Charts      []string       `yaml:"charts"`
}

// matrix is a table as written: what all cells share, then columns and rows.
type matrix struct {
	Name     string   `yaml:"name"`
	Metric   string   `yaml:"metric"`
	Unit     string   `yaml:"unit"`
	Relative bool     `yaml:"relative"`
	Baseline string   `yaml:"baseline"`
	Axis     string   `yaml:"axis"`
	Tool     string   `yaml:"tool"` // none is the first of the source
	Workload string   `yaml:"workload"`
	Streams  int      `yaml:"streams"`
	At       Place    `yaml:"at"`
	Columns  []column `yaml:"columns"`
	Rows     []row    `yaml:"rows"`
}

type column struct {
	Place `yaml:",inline"`
	As    map[string]string `yaml:"as"` // where it differs from the network's
}

type row struct {
	Network string `yaml:"network"`
	Values  []any  `yaml:"values"` // a number, null, or the text that the source has instead
}

// decode reads a file of data/. What it does not know is an error, as is a table
// whose rows and columns do not fit.
func decode(name string, text []byte) (Source, error) {
	var d document
	if err := yaml.UnmarshalWithOptions(text, &d, yaml.Strict()); err != nil {
		return Source{}, fmt.Errorf("read published source %s: %w", name, err)
	}
	s := Source{
		Name: name, Title: d.Title, Year: d.Year, Placement: d.Placement, Setup: d.Setup, Tools: d.Tools,
		Networks: d.Networks, Instances: d.Instances, Conclusions: d.Conclusions, Notes: d.Notes, Charts: d.Charts,
	}
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
	t := Table{
		Name: m.Name, Metric: m.Metric, Unit: m.Unit, Relative: m.Relative, Baseline: m.Baseline,
		Axis: m.Axis, Tool: m.Tool, Workload: m.Workload, Streams: m.Streams,
	}
	if t.Tool == "" && len(s.Tools) > 0 {
		t.Tool = s.Tools[0].Name
	}
	for _, c := range m.Columns {
		t.Columns = append(t.Columns, Column{c.within(m.At)})
	}
	for _, r := range m.Rows {
		network, known := s.Network(r.Network)
		if !known {
			return Table{}, fmt.Errorf("row of %q, which is no network of the source", r.Network)
		}
		if len(r.Values) != len(m.Columns) {
			return Table{}, fmt.Errorf("%d values of %s in %d columns", len(r.Values), r.Network, len(m.Columns))
		}
		for i, v := range r.Values {
			p := Published{Network: r.Network, As: network.As, Place: t.Columns[i].Place, Metric: m.Metric, Unit: m.Unit}
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

// within fills what a place does not say from what the whole table shares.
func (p Place) within(all Place) Place {
	for _, f := range []struct{ own, shared *int }{
		{&p.Hosts, &all.Hosts}, {&p.Family, &all.Family}, {&p.Servers, &all.Servers},
		{&p.Clients, &all.Clients}, {&p.Processes, &all.Processes},
	} {
		if *f.own == 0 {
			*f.own = *f.shared
		}
	}
	if p.Underlay == "" {
		p.Underlay = all.Underlay
	}
	return p
}
