package plan

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
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
