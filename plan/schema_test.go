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
		return either(jsonschema.Schema{Type: "integer", Minimum: "1"}, whole+`[kKmMgG]?$`)
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
	if err := r.AddGoComments("nettoll", "./"); err != nil {
		t.Fatal(err)
	}
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
	for key, name := range map[string]string{"placements": "placement", "offload": "offload", "cni": "cni"} {
		d, _ := record.DimensionOf(name)
		p, _ := s.Properties.Get(key)
		for _, value := range d.Values {
			p.Items.Enum = append(p.Items.Enum, value)
		}
	}
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
		s.Definitions["Workload"].Properties.Set(keyOf(d), optionSchema(d))
	}
	workloads, _ := s.Properties.Get("workloads")
	workloads.Items = &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "string"}, workloads.Items}}
	// A key that sweeps takes one value, or a list of them.
	for key, i := range index {
		if def.Type().Field(i).Tag.Get("sweep") == "" {
			continue
		}
		p, _ := s.Properties.Get(key)
		items := uint64(1)
		p.OneOf = []*jsonschema.Schema{p.Items, {Type: "array", Items: p.Items, MinItems: &items}}
		p.Type, p.Items = "", nil
	}
	price, _ := s.Properties.Get("price")
	price.Minimum = "0"
	published, _ := s.Definitions["Published"].Properties.Get("workloads")
	published.Items = workloads.Items
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

// optionSchema returns the schema of an option's value.
func optionSchema(d record.Dimension) *jsonschema.Schema {
	out := &jsonschema.Schema{Type: "string"}
	switch _, number := d.Raw(record.Cell{}); {
	case d.Unit == "B":
		out = mapped(reflect.TypeFor[Size]())
	case d.Unit == "bit/s":
		out = mapped(reflect.TypeFor[BitRate]())
	case number:
		out = &jsonschema.Schema{Type: "integer", Minimum: "1", Maximum: json.Number(strconv.Itoa(d.Most))}
	case d.Switch():
		out.Type = "boolean"
	}
	out.Description = strings.ToUpper(d.About[:1]) + d.About[1:]
	if one, _, _ := strings.Cut(d.Example, ","); one != "" {
		out.Description += ", such as " + one
	}
	out.Description += "."
	return out
}

// TestSchema checks that suite.schema.json, the JSON schema of suite files for editors, agrees with Suite.
func TestSchema(t *testing.T) {
	want := generate(t)
	if *update {
		if err := os.WriteFile("suite.schema.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	is, err := os.ReadFile("suite.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(is)); diff != "" {
		t.Errorf("suite.schema.json is not what Suite says; go test ./plan -run Schema -update fixes it (-want +got)\n%s", diff)
	}
}
