package plan

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"nettoll/internal/oneline"
	"nettoll/record"
)

// Limits of a suite file, so that a file that is not a suite costs neither memory nor time.
const (
	maxBytes  = 1 << 20
	maxLines  = 5_000
	maxTokens = 20_000 // the parser's time grows with their square
)

// Load reads a suite file and validates it. The name is what errors call the file. Each of its own errors is a
// *FieldError, whose text is one line: "file:line:column: what is wrong; what would fix it".
//
// The file holds one YAML document without anchors, aliases, tags and merge keys: a suite is short enough to be
// written out.
func Load(name string, r io.Reader) (Suite, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err != nil {
		return Suite{}, fmt.Errorf("read suite %s: %w", name, err)
	}
	d := decoder{file: name, at: make(map[string]string)}
	if len(text) > maxBytes {
		return Suite{}, d.fault(nil, "", "the file is longer than %d bytes; a suite file is shorter", maxBytes)
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if !utf8.Valid(text) {
		return Suite{}, d.fault(invalid(text), "", "not UTF-8; save the file in that encoding")
	}
	root, err := d.parse(string(text))
	if err != nil {
		return Suite{}, err
	}
	m, ok := root.(*ast.MappingNode)
	if !ok {
		return Suite{}, d.fault(firstToken(root), "", "a suite is a mapping, this is %s; write for example networks: [bridge]", describe(root))
	}
	s := Default()
	base := filepath.Base(name)
	s.Name = strings.TrimSuffix(base, filepath.Ext(base))
	if err := d.mapping(m, "", reflect.ValueOf(&s).Elem()); err != nil {
		return Suite{}, err
	}
	s.file, s.at = name, d.at
	s.eased = s.written("tools") && !s.written("workloads")
	return s, s.Validate()
}

// invalid returns the place of the first byte that is not UTF-8.
func invalid(text []byte) *token.Token {
	good := 0
	for r, n := utf8.DecodeRune(text); r != utf8.RuneError || n != 1; r, n = utf8.DecodeRune(text[good:]) {
		good += n
	}
	line := bytes.LastIndexByte(text[:good], '\n') + 1
	return &token.Token{Position: &token.Position{Line: bytes.Count(text[:good], []byte("\n")) + 1, Column: utf8.RuneCount(text[line:good]) + 1}}
}

// parse reads the text as YAML and returns the body of its only document. Text that would take the parser too long
// is refused first, and a panic of the parser becomes an error.
func (d *decoder) parse(text string) (root ast.Node, err error) {
	defer func() {
		if p := recover(); p != nil {
			root, err = nil, d.fault(nil, "", "the YAML parser cannot read this file (%s); write it in a simpler way", oneline.Words(fmt.Sprint(p)))
		}
	}()
	if lines := strings.Split(text, "\n"); len(lines) > maxLines { // the lexer's time grows with their square
		return nil, d.fault(&token.Token{Position: &token.Position{Line: maxLines + 1, Column: 1}}, "", "more than %d lines; a suite file is shorter", maxLines)
	}
	tokens := lexer.Tokenize(text)
	if err := d.checkTokens(tokens); err != nil {
		return nil, err
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, d.syntax(err)
	}
	for _, doc := range file.Docs {
		begin := doc.Start
		if begin == nil && doc.Body != nil {
			begin = firstToken(doc.Body)
		}
		if root != nil && begin != nil {
			return nil, d.fault(begin, "", "a second document begins here; write each suite in a file of its own")
		}
		root = doc.Body
	}
	if root == nil {
		return nil, d.fault(nil, "", "the file is empty; name at least networks, such as networks: [bridge]")
	}
	return root, nil
}

// syntax puts the parser's error on one line.
func (d *decoder) syntax(err error) error {
	text, at := err.Error(), (*token.Token)(nil)
	if e, ok := errors.AsType[yaml.Error](err); ok && e.GetToken() != nil {
		text, at = e.GetMessage(), e.GetToken()
	}
	return d.fault(at, "", "not YAML: %s; check indentation (spaces, no tabs), colons, brackets and quotes here", oneline.Words(strings.ReplaceAll(text, "\t", `\t`)))
}

// checkTokens refuses YAML features that a suite does not need.
func (d *decoder) checkTokens(tokens token.Tokens) error {
	if len(tokens) > maxTokens {
		return d.fault(tokens[maxTokens], "", "more than %d words and signs; a suite file is shorter", maxTokens)
	}
	for _, tk := range tokens {
		switch tk.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType:
			return d.fault(tk, "", "anchors and aliases are not read; write the value out")
		case token.TagType:
			return d.fault(tk, "", "tags are not read; write the value without %s", tk.Value)
		case token.DirectiveType:
			return d.fault(tk, "", "directives are not read; delete the line")
		case token.MappingKeyType:
			return d.fault(tk, "", "keys with a question mark are not read; write key: value")
		}
	}
	return nil
}

// decoder fills a suite from a YAML tree and remembers where each field was written. It is stricter than the
// library's decoder, which is strict about keys only: that one reads 1.5 and "1" as 1 and numbers as text, and
// ignores null. Here no value silently changes its type, and each error says how to fix it.
type decoder struct {
	file string
	at   map[string]string // field: file:line:column
}

// fault returns an error at a token, or at the beginning of the file.
func (d *decoder) fault(tk *token.Token, field, format string, args ...any) error {
	return &FieldError{At: d.where(tk), Field: field, Text: fmt.Sprintf(format, args...)}
}

func (d *decoder) where(tk *token.Token) string {
	if tk == nil || tk.Position == nil {
		return d.file + ":1:1"
	}
	return fmt.Sprintf("%s:%d:%d", d.file, tk.Position.Line, tk.Position.Column)
}

// firstToken returns the token that the node begins with.
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

// keysOf maps the keys of a struct to the indices of its fields, and returns the keys in order.
func keysOf(t reflect.Type) (map[string]int, []string) {
	index := make(map[string]int)
	var keys []string
	for i := range t.NumField() {
		if key, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ","); key != "" && key != "-" {
			index[key] = i
			keys = append(keys, key)
		}
	}
	return index, keys
}

// suiteFields are the indices of the fields of suites by key; suiteKeys are the keys in order.
var suiteFields, suiteKeys = keysOf(reflect.TypeFor[Suite]())

// Keys returns the keys that a suite file can have, but for those of conditions.
func Keys() []string { return slices.Clone(suiteKeys) }

// field returns the field of a key.
func (s *Suite) field(key string) reflect.Value {
	return reflect.ValueOf(s).Elem().Field(suiteFields[key])
}

// Take sets the field of a key to its value in another suite.
func (s *Suite) Take(key string, from Suite) { s.field(key).Set(from.field(key)) }

// keyed are the dimensions that are keys of a mapping, by its type.
var keyed = map[reflect.Type][]record.Dimension{
	reflect.TypeFor[Suite](): record.Dimensions(record.Condition), reflect.TypeFor[Workload](): record.Dimensions(record.Option),
}

func (d *decoder) mapping(n *ast.MappingNode, path string, v reflect.Value) error {
	index, keys := keysOf(v.Type())
	suite, _ := v.Addr().Interface().(*Suite)
	workload, named := v.Addr().Interface().(*Workload)
	for _, o := range keyed[v.Type()] {
		keys = append(keys, o.Identifier())
	}
	lines := make(map[string]int)
	for _, pair := range n.Values {
		name, ok := pair.Key.(ast.Node).(*ast.StringNode)
		if !ok {
			return d.fault(firstToken(pair.Key), path, "%s is not a key; the keys are %s", describe(pair.Key), strings.Join(keys, ", "))
		}
		key := name.Value
		i, ok := index[key]
		dimension, isDimension := record.First(keyed[v.Type()], func(o record.Dimension) bool { return o.Identifier() == key })
		if !ok && !isDimension {
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
		case isDimension && named:
			err = d.option(pair.Value, field, dimension, workload)
		case isDimension:
			err = d.condition(pair.Value, field, dimension, suite)
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

// option decodes an option of a workload: sizes and rates as flags accept them, all others as any value.
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

// condition decodes the values of a condition.
func (d *decoder) condition(n ast.Node, path string, condition record.Dimension, s *Suite) error {
	list := reflect.New(reflect.SliceOf(reflect.TypeOf(condition.Value(record.Cell{})))).Elem()
	if err := d.sweep(n, path, list); err != nil {
		return err
	}
	for i := range list.Len() {
		s.Conditions[path] = append(s.Conditions[path], list.Index(i).Interface())
	}
	return nil
}

// sweep decodes a value, or a list of values to measure one after the other.
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
			return must("a number from 0 up", "for example 0.139")
		}
	case *Workload:
		if p.Name = text; !isText {
			return d.block(n, path, v, must("a name or a mapping", "for example tcp_rr or {name: tcp_rr, streams: 4}"))
		}
	case *Skip:
		return d.block(n, path, v, must("a mapping", "for example {network: ovs, reason: it is not a network yet}"))
	case **Published:
		*p = new(Published)
		return d.block(n, path, v.Elem(), must("a mapping", "for example {duration: 5s, rounds: 10}"))
	default:
		return d.list(n, path, v)
	}
	return nil
}

// block decodes a mapping, or returns must if the node is something else.
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

// scalar returns the text of a single value as it was written.
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

// describe describes a value for an error.
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

// YAML writes the suite as a complete file, defaults included, that Load reads as the same suite. A duration that the suite's file
// does not give is left out: one that is given is never shortened.
func (s Suite) YAML() (string, error) {
	if !s.written("duration") && s.Duration == Default().Duration {
		s.Duration = 0
	}
	text, err := yaml.MarshalWithOptions(s,
		yaml.Flow(false), yaml.IndentSequence(true),
		yaml.CustomMarshaler(func(r Ratio) ([]byte, error) { return []byte(r.exactly()), nil }),
		yaml.CustomMarshaler(func(v float64) ([]byte, error) { return []byte(strconv.FormatFloat(v, 'f', -1, 64)), nil }),
		yaml.CustomMarshaler(func(t Topology) ([]byte, error) { return []byte(t.String()), nil }),
		yaml.CustomMarshaler(func(u Underlay) ([]byte, error) { return []byte(strconv.Quote(cmp.Or(u.String(), unshaped))), nil }),
		yaml.CustomMarshaler(func(w Workload) ([]byte, error) { return []byte(w.flow()), nil }),
	)
	if err != nil {
		return "", fmt.Errorf("write suite %s: %w", s.Name, err)
	}
	out := string(text)
	if !s.Turns { // a missing key means true
		out += "turns: false\n"
	}
	if s.Warmup == 0 { // a missing key means the default
		out += "warmup: 0s\n"
	}
	if s.Budgeted() && s.TimeBudget == 0 { // likewise
		out += "time_budget: 0s\n"
	}
	return out, nil
}

// flow writes a workload with its options for a file, on one line.
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
		parts = append(parts, d.Identifier()+": "+text)
	}
	if len(w.Tools) > 0 {
		parts = append(parts, "tools: ["+strings.Join(w.Tools, ", ")+"]")
	}
	if len(parts) == 1 {
		return w.Name
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

//go:embed suites/*.yaml
var suites embed.FS

// DefaultSuite is the embedded suite that runs when none is named.
const DefaultSuite = "quick"

// fullSuite is the embedded suite that measures everything.
const fullSuite = "full"

// Names lists the embedded suites: the default one, the full one, then those that reproduce published measurements.
func Names() []string {
	names := []string{DefaultSuite, fullSuite}
	files, _ := suites.ReadDir("suites") // which is in the program
	for _, f := range files {
		names = record.AddNew(names, strings.TrimSuffix(f.Name(), ".yaml"))
	}
	return names
}

// Embedded loads an embedded suite.
func Embedded(name string) (Suite, error) {
	if !slices.Contains(Names(), name) {
		return Suite{}, fmt.Errorf("unknown suite %q; %s", name, listed(name, Names(), "nettoll list suites"))
	}
	file := name + ".yaml"
	text, err := suites.ReadFile("suites/" + file)
	if err != nil {
		return Suite{}, fmt.Errorf("read embedded suite: %w", err)
	}
	return Load(file, bytes.NewReader(text))
}
