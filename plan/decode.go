package plan

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"nettoll/record"
)

// decoder fills a suite from a YAML tree and remembers where each field stood.
// It is stricter than a general decoder: no key may be unknown or twice there,
// and no value becomes another type in silence.
type decoder struct {
	file string
	at   map[string]string // field: file:line:column
}

func (d *decoder) faultAt(line, column int, format string, args ...any) error {
	return &FieldError{At: fmt.Sprintf("%s:%d:%d", d.file, line, column), Text: fmt.Sprintf(format, args...)}
}

func (d *decoder) fault(tk *token.Token, field, format string, args ...any) error {
	return &FieldError{At: d.where(tk), Field: field, Text: fmt.Sprintf(format, args...)}
}

func (d *decoder) where(tk *token.Token) string {
	if tk == nil || tk.Position == nil {
		return d.file + ":1:1"
	}
	return fmt.Sprintf("%s:%d:%d", d.file, tk.Position.Line, tk.Position.Column)
}

func (d *decoder) decode(root ast.Node, s *Suite) error {
	m, ok := root.(*ast.MappingNode)
	if !ok {
		return d.fault(firstToken(root), "", "a suite is a mapping, this is %s; write for example networks: [bridge]", describe(root))
	}
	return d.mapping(m, "", reflect.ValueOf(s).Elem())
}

// firstToken is the token that the node begins with.
func firstToken(n ast.Node) *token.Token {
	switch n := n.(type) {
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return firstToken(n.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return firstToken(n.Key)
	case *ast.LiteralNode:
		return n.Start
	}
	return n.GetToken()
}

// keysOf maps the keys of a struct to the indices of its fields, and gives the
// keys in order.
func keysOf(t reflect.Type) (map[string]int, []string) {
	index := make(map[string]int)
	var keys []string
	for i := range t.NumField() {
		if key, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ","); key != "" {
			index[key] = i
			keys = append(keys, key)
		}
	}
	return index, keys
}

// Take has the suite say under a key what another one does.
func (s *Suite) Take(key string, from Suite) {
	index, _ := keysOf(reflect.TypeOf(from))
	reflect.ValueOf(s).Elem().Field(index[key]).Set(reflect.ValueOf(from).Field(index[key]))
}

func (d *decoder) mapping(n *ast.MappingNode, path string, v reflect.Value) error {
	index, keys := keysOf(v.Type())
	workload, named := v.Addr().Interface().(*Workload)
	if named {
		keys = slices.Concat(keys, optionKeys())
	}
	lines := make(map[string]int)
	for _, pair := range n.Values {
		name, ok := pair.Key.(ast.Node).(*ast.StringNode)
		if !ok {
			return d.fault(firstToken(pair.Key), path, "%s is not a key; the keys are %s", describe(pair.Key), strings.Join(keys, ", "))
		}
		key := name.Value
		i, ok := index[key]
		option, isOption := optionOf(key)
		isOption = named && isOption
		if !ok && !isOption {
			return d.fault(firstToken(pair.Key), path, "unknown key %q; %s", key, mean(key, keys, "the keys are "+strings.Join(keys, ", ")))
		}
		if line, twice := lines[key]; twice {
			return d.fault(firstToken(pair.Key), path, "key %q is given twice, first in line %d; delete one", key, line)
		}
		lines[key] = name.Token.Position.Line
		field := key
		if path != "" {
			field = path + "." + key
		}
		if _, null := pair.Value.(*ast.NullNode); null || pair.Value == nil {
			return d.fault(firstToken(pair.Key), field, "has no value; write one or delete the key")
		}
		var err error
		switch {
		case isOption:
			err = d.option(pair.Value, field, option, workload)
		case v.Type().Field(i).Tag.Get("sweep") != "":
			err = d.sweep(pair.Value, field, v.Field(i))
		default:
			err = d.value(pair.Value, field, v.Field(i))
		}
		if err != nil {
			return err
		}
	}
	if named && lines["name"] == 0 {
		return d.fault(firstToken(n), path, "has no name; write for example name: tcp_rr")
	}
	return nil
}

// option decodes an option of a workload: sizes and rates as flags have them, all else as
// any value.
func (d *decoder) option(n ast.Node, path string, option record.Dimension, w *Workload) error {
	c := record.Cell{Options: w.Options}
	field := reflect.ValueOf(option.Field(&c))
	switch option.Unit {
	case "B":
		field = reflect.ValueOf((*Size)(field.Interface().(*int)))
	case "bit/s":
		field = reflect.ValueOf((*BitRate)(field.Interface().(*int)))
	}
	if err := d.value(n, path, field.Elem()); err != nil {
		return err
	}
	w.Options = c.Options
	return nil
}

// sweep decodes a value, or a list of values that are measured in turn.
func (d *decoder) sweep(n ast.Node, path string, v reflect.Value) error {
	if _, ok := n.(*ast.SequenceNode); ok {
		return d.value(n, path, v)
	}
	one := reflect.MakeSlice(v.Type(), 1, 1)
	if err := d.value(n, path, one.Index(0)); err != nil {
		return err
	}
	v.Set(one)
	return nil
}

func (d *decoder) value(n ast.Node, path string, v reflect.Value) (err error) {
	d.at[path] = d.where(firstToken(n))
	one, single := scalar(n)
	text, isText := plainText(n)
	_, whole := n.(*ast.IntegerNode)
	must := func(be, fix string) error {
		return d.fault(firstToken(n), path, "must be %s, is %s; write %s", be, describe(n), fix)
	}
	switch p := v.Addr().Interface().(type) {
	case interface{ Set(string) error }:
		if !single {
			return must("one value", "it as one text")
		}
		if err := p.Set(one); err != nil {
			return d.fault(firstToken(n), path, "%s", err)
		}
	case *time.Duration:
		if *p, err = time.ParseDuration(one); err != nil {
			return d.fault(firstToken(n), path, "%s is not a length of time; write a number and its unit such as 300ms, 1s or 2m", describe(n))
		}
	case *string:
		if *p = text; !isText && single {
			return d.fault(firstToken(n), path, "must be text, is %s; put it in quotes", describe(n))
		} else if !isText {
			return must("text", "one text")
		}
	case *bool:
		b, ok := n.(*ast.BoolNode)
		if !ok {
			return d.fault(firstToken(n), path, "%s is not a truth value; write true or false", describe(n))
		}
		*p = b.Value
	case *int:
		if *p, err = strconv.Atoi(one); err != nil || !whole {
			return must("a whole number", "digits only")
		}
	case *uint64:
		if *p, err = strconv.ParseUint(one, 10, 64); err != nil || !whole {
			return must("a whole number from 0 to 2^64-1", "digits only")
		}
	case *float64:
		var ok bool
		if *p, ok = decimal(one, 0); !ok || isText {
			return must("a number", "for example 0.139")
		}
	case *Workload:
		if p.Name = text; !isText {
			return d.block(n, path, v, must("a name or a mapping", "for example tcp_rr or {name: tcp_rr, streams: 4}"))
		}
	case *Skip:
		return d.block(n, path, v, must("a mapping", "for example {network: ovs, reason: it is not a technique yet}"))
	case **Published:
		*p = new(Published)
		return d.block(n, path, v.Elem(), must("a mapping", "for example {duration: 5s, rounds: 10}"))
	default:
		return d.list(n, path, v)
	}
	return nil
}

// block decodes a mapping, or says what the node must be instead.
func (d *decoder) block(n ast.Node, path string, v reflect.Value, must error) error {
	if m, ok := n.(*ast.MappingNode); ok {
		return d.mapping(m, path, v)
	}
	return must
}

func (d *decoder) list(n ast.Node, path string, v reflect.Value) error {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		fix := "write its items in brackets"
		if text, ok := scalar(n); ok {
			fix = fmt.Sprintf("write %s: [%s]", path, text)
		}
		return d.fault(firstToken(n), path, "must be a list, is %s; %s", describe(n), fix)
	}
	if len(seq.Values) == 0 {
		return d.fault(firstToken(n), path, "is an empty list; name at least one or delete the key")
	}
	list := reflect.MakeSlice(v.Type(), len(seq.Values), len(seq.Values))
	for i, item := range seq.Values {
		if err := d.value(item, fmt.Sprintf("%s[%d]", path, i), list.Index(i)); err != nil {
			return err
		}
	}
	v.Set(list)
	return nil
}

// scalar is the text of a single value, as it was written.
func scalar(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode, *ast.BoolNode:
		return n.GetToken().Value, true
	}
	return plainText(n)
}

func plainText(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	}
	return "", false
}

// describe says what a value is.
func describe(n ast.Node) string {
	if text, ok := plainText(n); ok {
		const most = 40 // runes shown
		if r := []rune(text); len(r) > most {
			text = string(slices.Concat(r[:most], []rune("…")))
		}
		return fmt.Sprintf("the text %q", text)
	}
	switch n.(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return "the number " + n.GetToken().Value
	case *ast.BoolNode:
		return "the truth value " + n.GetToken().Value
	case *ast.SequenceNode:
		return "a list"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	}
	return "nothing"
}
