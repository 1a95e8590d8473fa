package plan

import (
	"bytes"
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

	"nettoll/record"
)

// Limits of a suite file, so that a file that is none costs neither memory nor time.
const (
	maxBytes  = 1 << 20
	maxTokens = 20_000 // the parser's time grows with their square
	maxDepth  = 8      // nested lists and mappings; a suite needs 3
)

// Load reads a suite file and validates it. The name is what errors call the
// file. Each of its own errors is a *FieldError, whose text is one line:
// "file:line:column: what is wrong; what would fix it".
//
// The file holds one YAML document without anchors, aliases, tags and merge keys:
// a suite is short enough to be written out.
func Load(name string, r io.Reader) (Suite, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err != nil {
		return Suite{}, fmt.Errorf("read suite %s: %w", name, err)
	}
	d := decoder{file: name, at: make(map[string]string)}
	if len(text) > maxBytes {
		return Suite{}, d.faultAt(1, 1, "the file is longer than %d bytes; a suite file is shorter", maxBytes)
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if !utf8.Valid(text) {
		line, column := invalid(text)
		return Suite{}, d.faultAt(line, column, "not UTF-8; save the file in that encoding")
	}
	root, err := d.parse(string(text))
	if err != nil {
		return Suite{}, err
	}
	s := Default()
	base := filepath.Base(name)
	s.Name = strings.TrimSuffix(base, filepath.Ext(base))
	if err := d.decode(root, &s); err != nil {
		return Suite{}, err
	}
	s.file, s.at = name, d.at
	s.eased = s.written("tools") && !s.written("workloads")
	return s, s.Validate()
}

// invalid is the place of the first byte that is not UTF-8.
func invalid(text []byte) (line, column int) {
	line, column = 1, 1
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && n == 1:
			return line, column
		case r == '\n':
			line, column = line+1, 1
		default:
			column++
		}
		text = text[n:]
	}
	return line, column
}

// parse reads the text as YAML and gives the body of its only document. The
// parser is given no text that it would take long or deep recursion for, and
// should it give up by a panic over what people write, that is an error too.
func (d *decoder) parse(text string) (root ast.Node, err error) {
	defer func() {
		if p := recover(); p != nil {
			root, err = nil, d.faultAt(1, 1, "the YAML parser cannot read this file (%s); write it in a simpler way", oneLine(fmt.Sprint(p)))
		}
	}()
	tokens := lexer.Tokenize(text)
	if err := d.checkTokens(tokens); err != nil {
		return nil, err
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, d.syntax(err)
	}
	for _, doc := range file.Docs {
		if doc.Body != nil {
			return doc.Body, nil
		}
	}
	return nil, d.faultAt(1, 1, "the file is empty; name at least networks, such as networks: [bridge]")
}

// syntax makes one line of the parser's error.
func (d *decoder) syntax(err error) error {
	const fix = "check indentation (spaces, no tabs), colons, brackets and quotes here"
	var e yaml.Error
	if errors.As(err, &e) && e.GetToken() != nil {
		return d.fault(e.GetToken(), "", "not YAML: %s; %s", oneLine(e.GetMessage()), fix)
	}
	return d.faultAt(1, 1, "not YAML: %s; %s", oneLine(err.Error()), fix)
}

func oneLine(text string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(text, "\t", `\t`)), " ")
}

// checkTokens refuses what a suite has no need of, and a second document.
func (d *decoder) checkTokens(tokens token.Tokens) error {
	if len(tokens) > maxTokens {
		return d.fault(tokens[maxTokens], "", "more than %d words and signs; a suite file is shorter", maxTokens)
	}
	begun, ended := false, false // the document
	flow, line, entries := 0, 0, 0
	for _, tk := range tokens {
		if tk.Position.Line != line {
			line, entries = tk.Position.Line, 0
		}
		if text := unread(tk); text != "" {
			return d.fault(tk, "", "%s", text)
		}
		switch tk.Type {
		case token.CommentType:
			continue
		case token.DocumentEndType:
			ended = true
			continue
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow--
		case token.SequenceEntryType:
			entries++
		}
		if flow > maxDepth || entries > maxDepth {
			return d.fault(tk, "", "nested more than %d deep; a suite has lists of names and mappings only", maxDepth)
		}
		if ended || begun && tk.Type == token.DocumentHeaderType {
			return d.fault(tk, "", "a second document begins here; write each suite in a file of its own")
		}
		begun = true
	}
	return nil
}

// unread says of a token that suites do not have what to write instead, and nothing of any other.
func unread(tk *token.Token) string {
	switch tk.Type {
	case token.AnchorType, token.AliasType, token.MergeKeyType:
		return "anchors and aliases are not read; write the value out"
	case token.TagType:
		return "tags are not read; write the value without " + tk.Value
	case token.DirectiveType:
		return "directives are not read; delete the line"
	case token.MappingKeyType:
		return "keys with a question mark are not read; write key: value"
	}
	return ""
}

// decoder fills a suite from a YAML tree and remembers where each field stood.
// It is stricter than the library's, whose own strictness is about keys alone: that one
// makes 1 of 1.5 and of "1" and text of a number, and passes over null. Here no value becomes
// another type in silence, and what is wrong has its fix beside it.
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
		return d.block(n, path, v, must("a mapping", "for example {network: ovs, reason: it is not a network yet}"))
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
