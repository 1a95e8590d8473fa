package nettoll_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"nettoll/internal/testutil/iferr"
)

// fenced matches code on lines of its own, and quoted matches code within a line.
var (
	fenced  = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	quoted  = regexp.MustCompile("`[^`\n]*`")
	linked  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	marks   = regexp.MustCompile(`[^\p{L}\p{N}\- _]`)
)

// anchors returns the anchors of a page, as sites that host repositories derive them from its headings.
func anchors(text string) (all []string) {
	for _, h := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		all = append(all, strings.ReplaceAll(marks.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-"))
	}
	return all
}

// brokenLinks returns the links of a page to files and headings that do not exist.
func brokenLinks(file string) (links int, broken []string, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, nil, err
	}
	prose := quoted.ReplaceAllString(fenced.ReplaceAllString(string(text), ""), "")
	for _, found := range linked.FindAllStringSubmatch(prose, -1) {
		to := found[1]
		if strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
			continue
		}
		links++
		name, anchor, within := strings.Cut(to, "#")
		target := file
		if name != "" {
			target = filepath.Join(filepath.Dir(file), name)
		}
		page, err := os.ReadFile(target)
		if info, e := os.Stat(target); e == nil && info.IsDir() && !within {
			continue
		}
		if err != nil || within && !slices.Contains(anchors(string(page)), anchor) {
			broken = append(broken, to)
		}
	}
	return links, broken, nil
}

func TestLinks(t *testing.T) {
	all := 0
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && file != "." || slices.Contains([]string{"testdata", "bin", "dist"}, d.Name())):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(file) != ".md":
			return nil
		}
		n, broken, err := brokenLinks(file)
		for _, to := range broken {
			t.Errorf("%s: the link to %s leads nowhere", file, to)
		}
		all += n
		return err
	})
	if err != nil || all < 10 {
		t.Errorf("%d links, %v", all, err)
	}
	page := filepath.Join(t.TempDir(), "page.md")
	text := "# A page, of `two` parts\n[here](#a-page-of-two-parts) [gone](gone.md) [no part](#no-part) `[code](x.md)`\n```\n[code](x.md)\n```\n[web](https://example.org/x)\n"
	iferr.Fatal(t, os.WriteFile(page, []byte(text), 0o644))
	if n, broken, err := brokenLinks(page); n != 3 || !slices.Equal(broken, []string{"gone.md", "#no-part"}) || err != nil {
		t.Errorf("%d links, broken are %q, %v", n, broken, err)
	}
}
