package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// object is a JSON object of the format.
type object map[string]any

// writeSBOM writes the components of the programs in CycloneDX 1.5 (ECMA-424), a format of software bills of
// materials: the modules that were linked into them according to Go, and Go's own library.
func writeSBOM(w io.Writer, version string, programs []string) error {
	made, err := epoch()
	if err != nil {
		return err
	}
	var ours, all []object
	linked := map[string]object{} // by their references
	for _, file := range programs {
		info, err := buildinfo.ReadFile(file)
		if err != nil {
			return err
		}
		c, err := program(file, version, info)
		if err != nil {
			return err
		}
		ours = append(ours, c)
		addLibraries(linked, info)
	}
	for _, ref := range slices.Sorted(maps.Keys(linked)) {
		all = append(all, linked[ref])
	}
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(object{
		"$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json", "bomFormat": "CycloneDX", "specVersion": "1.5",
		"version": 1, // of this document
		"metadata": object{"timestamp": made.Format(time.RFC3339), "component": object{
			"type": "application", "bom-ref": "nettoll", "name": "nettoll", "version": version,
			"licenses": []object{{"license": object{"id": "Apache-2.0"}}}, "components": ours,
		}},
		"components": all,
	})
}

// program describes one of nettoll's programs, with its hash and how it was built.
func program(file, version string, info *debug.BuildInfo) (object, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var how []object
	for _, s := range info.Settings {
		how = append(how, object{"name": "go:build:" + s.Key, "value": s.Value})
	}
	return object{
		"type": "application", "bom-ref": info.Path, "name": filepath.Base(file), "version": version,
		"hashes": []object{{"alg": "SHA-256", "content": fmt.Sprintf("%x", sha256.Sum256(b))}}, "properties": how,
	}, nil
}

// addLibraries adds the modules in a program, with their hashes in go.sum. These are Go's own hashes, of a list of
// files rather than of any one file, so they are properties.
func addLibraries(linked map[string]object, info *debug.BuildInfo) {
	add := func(name, goVersion, version string) object {
		ref := name + "@" + goVersion
		linked[ref] = object{
			"type": "library", "bom-ref": ref, "name": name, "version": version,
			"purl": "pkg:golang/" + name + "@" + strings.ReplaceAll(version, "+", "%2B"),
		}
		return linked[ref]
	}
	add("std", info.GoVersion, strings.TrimPrefix(info.GoVersion, "go"))
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		if c := add(m.Path, m.Version, m.Version); m.Sum != "" {
			c["properties"] = []object{{"name": "go:sum", "value": m.Sum}}
		}
	}
}
