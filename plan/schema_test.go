package plan

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/invopop/jsonschema"

	"nettoll/internal/testutil/iferr"
	"nettoll/record"
)

var update = flag.Bool("update", false, "write suite.schema.json anew")

// mapped returns the schemas of types that a file writes differently from Go.
func mapped(t reflect.Type) *jsonschema.Schema {
	const whole = `^[0-9]+(\.[0-9]+)?`
	either := func(plain jsonschema.Schema, pattern string) *jsonschema.Schema {
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{&plain, {Type: "string", Pattern: pattern}}}
	}
	switch t {
	case reflect.TypeFor[time.Duration]():
		return either(jsonschema.Schema{Enum: []any{0}}, `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`)
	case reflect.TypeFor[Size]():
		return either(jsonschema.Schema{Type: "integer", Minimum: "1"}, whole+`[kKmMgGtT]?([iI]?[bB])?$`)
	case reflect.TypeFor[Ratio]():
		return either(jsonschema.Schema{Type: "number", Minimum: "0", Maximum: "1"}, whole+`%?$`)
	case reflect.TypeFor[Underlay]():
		return &jsonschema.Schema{Type: "string", Pattern: `^([a-zA-Z][-a-zA-Z0-9_.]*|([a-zA-Z][-a-zA-Z0-9_.]*:)?((rate|delay)=[0-9.]+[a-zA-Zµ0-9./]*(, *|$))*)$`}
	case reflect.TypeFor[BitRate]():
		return either(jsonschema.Schema{Type: "integer", Minimum: "0"}, whole+`[kKmMgGtT]?([bB][iI][tT]([sS]|/[sS]|[sS]/[sS])?)?$`)
	case reflect.TypeFor[Topology]():
		return &jsonschema.Schema{Type: "string", Pattern: `^[0-9]+[xX×][0-9]+([xX×][0-9]+)?$`}
	}
	return nil
}

func generate(t *testing.T) []byte {
	t.Helper()
	r := &jsonschema.Reflector{FieldNameTag: "yaml", ExpandedStruct: true, Anonymous: true, Mapper: mapped}
	iferr.Fatal(t, r.AddGoComments("nettoll", "./"))
	// AddGoComments takes the folder for the path below the module.
	comments := make(map[string]string)
	for k, v := range r.CommentMap {
		if rest, ok := bytes.CutPrefix([]byte(k), []byte("nettoll.")); ok {
			k = "nettoll/plan." + string(rest)
		}
		comments[k] = v
	}
	r.CommentMap = comments
	s := r.Reflect(Suite{})
	s.Title = "nettoll suite"
	def := reflect.ValueOf(Default())
	index, _ := keysOf(def.Type())
	for p := s.Properties.Oldest(); p != nil; p = p.Next() {
		if v := def.Field(index[p.Key]); !v.IsZero() && p.Value.Default == nil {
			switch v := v.Interface().(type) {
			case time.Duration:
				p.Value.Default = v.String()
			case Ratio:
				p.Value.Default = v.String()
			case []Workload:
				names := []string{}
				for _, w := range v {
					names = append(names, w.Name)
				}
				p.Value.Default = names
			default:
				p.Value.Default = v
			}
		}
	}
	families, _ := s.Properties.Get("families")
	families.Items.Enum = []any{4, 6}
	placement, _ := record.DimensionOf("placement")
	placements, _ := s.Properties.Get("placements")
	placements.Items.Enum = enum(placement)
	for _, l := range limits {
		p, _ := s.Properties.Get(l.key)
		if p.Items != nil {
			p = p.Items
		}
		p.Minimum, p.Maximum = json.Number(strconv.Itoa(l.least)), json.Number(strconv.Itoa(l.most))
	}
	seed, _ := s.Properties.Get("seed")
	seed.Minimum = "0"
	for _, d := range record.Dimensions(record.Option) {
		s.Definitions["Workload"].Properties.Set(d.Identifier(), schemaOf(d))
	}
	workloads, _ := s.Properties.Get("workloads")
	workloads.Items = &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "string"}, workloads.Items}}
	for key, i := range index {
		if p, _ := s.Properties.Get(key); def.Type().Field(i).Tag.Get("sweep") != "" {
			p.OneOf, p.Type, p.Items = oneOrMore(p.Items), "", nil
		}
	}
	after := "underlay"
	for _, d := range record.Dimensions(record.Condition) {
		one, key := schemaOf(d), d.Identifier()
		s.Properties.Set(key, &jsonschema.Schema{Description: one.Description, OneOf: oneOrMore(one)})
		one.Description = ""
		iferr.Fatal(t, s.Properties.MoveAfter(key, after))
		after = key
	}
	price, _ := s.Properties.Get("price")
	price.Minimum = "0"
	published, _ := s.Definitions["Published"].Properties.Get("workloads")
	published.Items = workloads.Items
	text, err := json.MarshalIndent(s, "", "  ")
	iferr.Fatal(t, err)
	return append(text, '\n')
}

// oneOrMore returns the schemas of a key that sweeps: one value, or a list of them.
func oneOrMore(value *jsonschema.Schema) []*jsonschema.Schema {
	items := uint64(1)
	return []*jsonschema.Schema{value, {Type: "array", Items: value, MinItems: &items}}
}

// enum returns the values of a dimension that are names.
func enum(d record.Dimension) []any {
	return record.Each(d.Values, func(value string) any { return value })
}

// schemaOf returns the schema of the value of an option or a condition.
func schemaOf(d record.Dimension) *jsonschema.Schema {
	out := &jsonschema.Schema{Type: "string", Enum: enum(d)}
	switch _, number := d.Raw(record.Cell{}); {
	case d.WrittenIn() == "B":
		out = mapped(reflect.TypeFor[Size]())
	case d.WrittenIn() == "bit/s":
		out = mapped(reflect.TypeFor[BitRate]())
	case number:
		least := d.Least
		if d.Part == record.Option && !d.Open {
			least = 1
		}
		out = &jsonschema.Schema{Type: "integer", Minimum: json.Number(strconv.Itoa(least)), Maximum: json.Number(strconv.Itoa(d.Most))}
	case d.Switch():
		out.Type = "boolean"
	}
	out.Description = strings.ToUpper(d.About[:1]) + d.About[1:]
	if len(d.Values) > 0 {
		out.Description += ": " + strings.Join(d.Values, ", ")
	}
	if one, _, _ := strings.Cut(d.Example, ","); d.Part == record.Option && one != "" {
		out.Description += ", such as " + one
	}
	out.Description += "."
	if usual := d.Default(); usual != "" {
		out.Description += " Without the key it is " + usual + "."
	}
	return out
}

// TestSchema checks that suite.schema.json, the JSON schema of suite files for editors, agrees with Suite.
func TestSchema(t *testing.T) {
	want := generate(t)
	if *update {
		iferr.Fatal(t, os.WriteFile("suite.schema.json", want, 0o644))
		return
	}
	is, err := os.ReadFile("suite.schema.json")
	iferr.Fatal(t, err)
	if diff := cmp.Diff(string(want), string(is)); diff != "" {
		t.Errorf("suite.schema.json is not what Suite says; go test ./plan -run Schema -update fixes it (-want +got)\n%s", diff)
	}
}
