package plan

import (
	"bytes"
	"embed"

	"fmt"
	"slices"
	"strings"
)

//go:embed suites/*.yaml
var suites embed.FS

// DefaultSuite is the embedded suite that runs when none is named.
const DefaultSuite = "quick"

// fullSuite is the embedded suite that measures everything.
const fullSuite = "full"

// Names lists the embedded suites: the default one, the full one, then those of
// published measurements.
func Names() []string {
	names := []string{DefaultSuite, fullSuite}
	files, err := suites.ReadDir("suites")
	if err != nil {
		return names
	}
	for _, f := range files {
		if name := strings.TrimSuffix(f.Name(), ".yaml"); !slices.Contains(names, name) {
			names = append(names, name)
		}
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

//go:embed suite.schema.json
var schema []byte

// Schema is the JSON schema of suite files, for editors. It is generated from
// Suite by TestSchema: go test ./plan -run Schema -update.
func Schema() []byte { return schema }
