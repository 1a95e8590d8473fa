package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nettoll/record"
	"nettoll/reference"
)

// Axis is something that is varied on purpose.
type Axis struct {
	Name  string `json:"name"`           // for programs, such as clients
	Title string `json:"title"`          // for people, such as clients in each container
	Unit  string `json:"unit,omitempty"` // "B", "bit/s", "1/s", or "" for counts and names
	// Numeric says that ticks have a place on a scale; else they are in order only.
	Numeric bool `json:"numeric"`
}

// axis is an Axis and how a cell stands on it. The zero axis is none.
type axis struct {
	Axis
	fits  func(record.Cell) bool    // nil is every cell
	tick  func(record.Cell) Tick    // Value orders ticks, Label tells them apart
	clear func(*record.Cell)        // what it varies
	short func(label string) string // a label for people, where it tells apart as well; nil is the label itself
}

func (a axis) holds(c record.Cell) bool { return a.fits == nil || a.fits(c) }

func (a axis) without(c record.Cell) record.Cell {
	if a.clear != nil {
		a.clear(&c)
	}
	return c
}

// ticks are those of the scenarios, each once, in order.
func (a axis) ticks(g []Scenario) []Tick {
	var out []Tick
	seen := map[Tick]bool{}
	for _, s := range g {
		if t := a.tick(s.Cell); !seen[t] {
			seen[t] = true
			out = append(out, t)
		}
	}
	slices.SortStableFunc(out, func(x, y Tick) int { return cmp.Compare(x.Value, y.Value) })
	if !a.Numeric {
		for i := range out {
			out[i].Value = float64(i)
		}
	}
	return out
}

// places finds the ticks of cells by their labels.
func (a axis) places(ticks []Tick) func(record.Cell) int {
	if a.tick == nil {
		return func(record.Cell) int { return 0 }
	}
	at := make(map[string]int, len(ticks))
	for i, t := range slices.Backward(ticks) { // of equal labels the first
		at[t.Label] = i
	}
	return func(c record.Cell) int { return at[a.tick(c).Label] }
}

// shorten gives ticks their short labels, unless two would have the same.
func (a axis) shorten(ticks []Tick) {
	if a.short == nil {
		return
	}
	count := map[string]int{}
	for _, t := range ticks {
		count[a.short(t.Label)]++
	}
	for i, t := range ticks {
		if s := a.short(t.Label); count[s] == 1 {
			ticks[i].Label = s
		}
	}
}

// axes lists what sweeps are looked for in.
func axes() []axis {
	of := func(name string) axis {
		d, _ := record.DimensionOf(name)
		_, number := d.Number(record.Cell{})
		return axis{
			Axis: Axis{Name: d.Name, Title: d.Title, Unit: d.Unit, Numeric: number},
			tick: func(c record.Cell) Tick {
				if v, ok := d.Number(c); ok {
					return Tick{float64(v), amount(v, d.Unit)}
				}
				return Tick{0, cmp.Or(d.Text(c), "as it is")}
			},
			clear: d.Clear,
		}
	}
	return []axis{
		of("clients"), of("servers"),
		{
			Axis:  Axis{Name: "servers-clients", Title: "servers x clients", Numeric: true},
			fits:  func(c record.Cell) bool { return c.Servers == c.Clients },
			tick:  func(c record.Cell) Tick { return Tick{float64(c.Clients), fmt.Sprintf("%dx%d", c.Servers, c.Clients)} },
			clear: func(c *record.Cell) { c.Servers, c.Clients = 0, 0 },
		},
		of("processes"), of("streams"), of("message-size"), of("request-size"), of("mtu"), of("rules"), of("neighbours"),
		of("bandwidth"), of("rate"), of("congestion"),
		{
			Axis:  Axis{Name: "underlay", Title: "underlay"},
			tick:  func(c record.Cell) Tick { return Tick{float64(placeOfUnderlay(c.Underlay)), c.Underlay} },
			short: labelOfUnderlay,
			clear: func(c *record.Cell) { c.Underlay = "" },
		},
	}
}

// amount writes a value of an axis for people. Zero of something that has a unit
// is the tool's own choice.
func amount(v int, unit string) string {
	switch {
	case unit == "":
		return strconv.Itoa(v)
	case v == 0 && unit == "B":
		return "default"
	case v == 0:
		return "unlimited"
	case unit == "B" && v >= 1<<20 && v%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", v>>20)
	case unit == "B" && v >= 1<<10 && v%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", v>>10)
	case unit == "bit/s" && v%1e9 == 0:
		return fmt.Sprintf("%d Gbit/s", v/1e9)
	case unit == "bit/s" && v%1e6 == 0:
		return fmt.Sprintf("%d Mbit/s", v/1e6)
	case unit == "bit/s" && v%1e3 == 0:
		return fmt.Sprintf("%d kbit/s", v/1e3)
	}
	if unit == "1/s" {
		if v%1e3 == 0 {
			return fmt.Sprintf("%d k/s", v/1e3)
		}
		return strconv.Itoa(v) + " /s"
	}
	return strconv.Itoa(v) + " " + unit
}

// instanceOf is the name of the instance that an underlay is labelled with:
// what stands before a colon, or all of it where it is no shape.
func instanceOf(underlay string) string {
	name, _, labelled := strings.Cut(underlay, ":")
	if !labelled && strings.Contains(name, "=") {
		return ""
	}
	return name
}

func labelOfUnderlay(underlay string) string {
	return cmp.Or(instanceOf(underlay), underlay, "unshaped")
}

// placeOfUnderlay orders instances as their sources do, behind all else.
func placeOfUnderlay(underlay string) int {
	return 1 + slices.IndexFunc(reference.Instances(), func(i reference.InstanceType) bool { return i.Name == instanceOf(underlay) })
}
