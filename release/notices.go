package main

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// notice matches the names of files that must be passed on together with a program.
var notice = regexp.MustCompile(`(?i)^(licen[sc]e|copying|copyright|notice|patents|authors|contributors)([-_.].*)?$`)

// choices matches folders of licences among which users of a module may choose.
var choices = regexp.MustCompile(`(?i)^licen[sc]es$`)

// chosen is the licence chosen for a module that leaves a choice, with the statement that this licence requires.
var chosen = map[string]struct{ file, says string }{
	"github.com/golang/freetype": {
		"licenses/ftl.txt",
		"Used under the FreeType License. Portions of this software are copyright © The FreeType Project\n(www.freetype.org). All rights reserved.",
	},
}

// writeNotices writes the licences of the modules in the programs. Each line of in names a module, its version, its
// folder and the folder of a package of it that is linked, as .ci/release asks "go list" for them. A module without
// a licence may not be passed on, so that is an error.
func writeNotices(w io.Writer, in io.Reader, goLicence string) error {
	type module struct {
		path, root string
		files      map[string]bool
	}
	modules := map[string]module{} // by path and version
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		f := strings.Split(lines.Text(), "\t")
		if len(f) != 4 {
			return fmt.Errorf("notices: %q is not a module, its version, its folder and that of a package", lines.Text())
		}
		name, dir := f[0]+" "+f[1], f[3]
		if _, known := modules[name]; !known {
			modules[name] = module{f[0], f[2], map[string]bool{}}
		}
		if err := collect(modules[name].files, f[0], modules[name].root, dir); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if len(modules) == 0 {
		return fmt.Errorf("notices: no modules were named on standard input")
	}
	fmt.Fprintf(w, "nettoll is under the Apache License, version 2.0: see the file LICENSE. The programs also\n"+
		"hold the works below, each under its own licence.\n")
	if err := section(w, "The Go programming language and its library", "", "", []string{goLicence}); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(modules)) {
		m := modules[name]
		if len(m.files) == 0 {
			return fmt.Errorf("notices: %s has no licence, or one in a file whose name is not known as such", name)
		}
		if err := section(w, name, chosen[m.path].says, m.root, slices.Sorted(maps.Keys(m.files))); err != nil {
			return err
		}
	}
	return nil
}

// collect adds the notices in a package's folder and in its parents, up to the module's.
func collect(files map[string]bool, module, root, dir string) error {
	for {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			switch {
			case e.IsDir() && choices.MatchString(e.Name()):
				choice, known := chosen[module]
				if !known {
					return fmt.Errorf("notices: %s lets its users choose one of the licences in %s, and nobody has", module, path)
				}
				files[filepath.Join(root, choice.file)] = true
			case e.Type().IsRegular() && notice.MatchString(e.Name()) && !strings.HasSuffix(e.Name(), ".go"):
				files[path] = true
			}
		}
		if dir == root || len(dir) <= len(root) {
			return nil
		}
		dir = filepath.Dir(dir)
	}
}

// decoded returns a text in UTF-8; some licences are in Latin 1, whose code points are the same.
func decoded(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	letters := make([]rune, len(b))
	for i, c := range b {
		letters[i] = rune(c)
	}
	return string(letters)
}

// section writes the notices of one work.
func section(w io.Writer, title, says, root string, files []string) error {
	line := strings.Repeat("=", 80)
	fmt.Fprintf(w, "\n%s\n%s\n%s\n", line, title, line)
	if says != "" {
		fmt.Fprintf(w, "\n%s\n", says)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return fmt.Errorf("notices: %s: %w", title, err)
		}
		if root != "" {
			name, err := filepath.Rel(root, f)
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "\n--- %s\n", filepath.ToSlash(name))
		}
		text := strings.TrimRight(strings.ReplaceAll(decoded(b), "\r\n", "\n"), "\n")
		if _, err := fmt.Fprintf(w, "\n%s\n", strings.TrimLeft(text, "\n")); err != nil {
			return err
		}
	}
	return nil
}
