package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// bom is what we say in CycloneDX 1.5 (ECMA-424), a format of software bills of materials.
type bom struct {
	Schema      string      `json:"$schema"`
	Format      string      `json:"bomFormat"`
	SpecVersion string      `json:"specVersion"`
	Version     int         `json:"version"` // of this document
	Metadata    metadata    `json:"metadata"`
	Components  []component `json:"components"`
}

type metadata struct {
	Timestamp string    `json:"timestamp"`
	Component component `json:"component"`
}

type component struct {
	Type       string      `json:"type"`
	Ref        string      `json:"bom-ref"`
	Name       string      `json:"name"`
	Version    string      `json:"version"`
	Licenses   []license   `json:"licenses,omitempty"`
	PURL       string      `json:"purl,omitempty"`
	Hashes     []hash      `json:"hashes,omitempty"`
	Properties []property  `json:"properties,omitempty"`
	Components []component `json:"components,omitempty"`
}

type license struct {
	License struct {
		ID string `json:"id"`
	} `json:"license"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// writeSBOM writes what is in the programs: the modules that Go says were linked into them,
// and Go's own library.
func writeSBOM(w io.Writer, version string, programs []string) error {
	made, err := epoch()
	if err != nil {
		return err
	}
	whole := component{Type: "application", Ref: "nettoll", Name: "nettoll", Version: version}
	var ours license
	ours.License.ID = "Apache-2.0"
	whole.Licenses = []license{ours}
	linked := map[string]component{}
	for _, file := range programs {
		info, err := buildinfo.ReadFile(file)
		if err != nil {
			return err
		}
		c, err := program(file, version, info)
		if err != nil {
			return err
		}
		whole.Components = append(whole.Components, c)
		for _, c := range libraries(info) {
			linked[c.Ref] = c
		}
	}
	b := bom{
		Schema: "http://cyclonedx.org/schema/bom-1.5.schema.json", Format: "CycloneDX", SpecVersion: "1.5", Version: 1,
		Metadata: metadata{Timestamp: made.Format(time.RFC3339), Component: whole},
	}
	for _, ref := range slices.Sorted(maps.Keys(linked)) {
		b.Components = append(b.Components, linked[ref])
	}
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(b)
}

// program is one of ours, with its hash and how it was built.
func program(file, version string, info *debug.BuildInfo) (component, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return component{}, err
	}
	sum := sha256.Sum256(b)
	c := component{
		Type: "application", Ref: info.Path, Name: filepath.Base(file), Version: version,
		Hashes: []hash{{"SHA-256", hex.EncodeToString(sum[:])}},
	}
	for _, s := range info.Settings {
		c.Properties = append(c.Properties, property{"go:build:" + s.Key, s.Value})
	}
	return c, nil
}

// libraries are the modules in a program, with the hashes that go.sum has of them. These are
// Go's own, of a list of files, and not of any one file: so they are properties.
func libraries(info *debug.BuildInfo) []component {
	number := strings.TrimPrefix(info.GoVersion, "go")
	all := []component{{
		Type: "library", Ref: "std@" + info.GoVersion, Name: "std", Version: number, PURL: "pkg:golang/std@" + number,
	}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c := component{
			Type: "library", Ref: m.Path + "@" + m.Version, Name: m.Path, Version: m.Version,
			PURL: "pkg:golang/" + m.Path + "@" + strings.ReplaceAll(m.Version, "+", "%2B"),
		}
		if m.Sum != "" {
			c.Properties = []property{{"go:sum", m.Sum}}
		}
		all = append(all, c)
	}
	return all
}
