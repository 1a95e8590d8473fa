package plan

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/invopop/jsonschema"
)

var update = flag.Bool("update", false, "write suite.schema.json anew")

// mapped are the types that a file writes in another way than Go does.
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
		return &jsonschema.Schema{Type: "string", Pattern: `^((rate|delay)=[0-9.]+[a-zA-Z]+(, *|$))*$`}
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
	for key, values := range map[string][]any{
		"families": {4, 6}, "placements": {"same", "distinct", "free"},
	} {
		p, _ := s.Properties.Get(key)
		p.Items.Enum = values
	}
	between := func(s *jsonschema.Schema, low, high int) {
		s.Minimum, s.Maximum = json.Number(strconv.Itoa(low)), json.Number(strconv.Itoa(high))
	}
	for key, high := range map[string]int{
		"servers": MaxServers, "clients": MaxEndpoints, "min_rounds": maxRounds, "max_rounds": maxRounds,
	} {
		p, _ := s.Properties.Get(key)
		between(p, 1, high)
	}
	hosts, _ := s.Properties.Get("hosts")
	between(hosts.Items, 1, MaxHosts)
	seed, _ := s.Properties.Get("seed")
	seed.Minimum = "0"
	streams, _ := s.Definitions["Workload"].Properties.Get("streams")
	between(streams, 1, maxStreams)
	workloads, _ := s.Properties.Get("workloads")
	workloads.Items = &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "string"}, workloads.Items}}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

func TestSchema(t *testing.T) {
	want := generate(t)
	if *update {
		if err := os.WriteFile("suite.schema.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(want), string(Schema())); diff != "" {
		t.Errorf("suite.schema.json is not what Suite says; go test ./plan -run Schema -update mends it (-want +got)\n%s", diff)
	}
}
