package pgbench

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"nettoll/internal/program"
	"nettoll/workload"
)

// versions is where Debian has the programs of each version, outside of PATH.
const versions = "/usr/lib/postgresql/*/bin/postgres"

// find finds the programs. Those that are not given are the newest of Debian's, whose
// pgbench in PATH is a script that looks for one, or those in PATH.
func find(given program.Paths) (found program.Paths, err error) {
	all, _ := filepath.Glob(versions)
	newest := ""
	if len(all) > 0 {
		newest = slices.MaxFunc(all, func(a, b string) int { return cmp.Compare(major(a), major(b)) })
	}
	found = program.Paths{pgbench: given[pgbench], postgres: cmp.Or(given[postgres], newest)}
	look := func(name string) {
		if err == nil {
			found[name], err = found.Find(program.Program{Name: name, Package: debianPackage})
		}
	}
	look(postgres)
	bin := filepath.Dir(found[postgres])
	found[initdb] = filepath.Join(bin, initdb)
	if beside := filepath.Join(bin, pgbench); found[pgbench] == "" {
		if _, missing := os.Stat(beside); missing == nil {
			found[pgbench] = beside
		}
	}
	look(pgbench)
	look(initdb)
	return found, err
}

// major is the version in a path such as /usr/lib/postgresql/15/bin/postgres.
func major(path string) float64 {
	v, _ := strconv.ParseFloat(filepath.Base(filepath.Dir(filepath.Dir(path))), 64) // 0 where it is none
	return v
}

// shell is what initdb runs the server by (popen(3)): the only tool that puts one into images.
const shell = "/bin/sh"

// libraries are those that initdb has the server load.
var libraries = []string{"plpgsql.so", "dict_snowball.so"}

// pack has what a new database is made of, files that lie beside the server.
func pack(found program.Paths) (pack workload.Pack, err error) {
	bin := filepath.Dir(found[postgres])
	pack.Programs = []string{found[pgbench], found[postgres], found[initdb], shell}
	share, err := installed(bin, "--sharedir")
	if err != nil {
		return pack, err
	}
	lib, err := installed(bin, "--pkglibdir")
	if err != nil {
		return pack, err
	}
	pack.Data = []string{share}
	for _, name := range libraries {
		pack.Data = append(pack.Data, filepath.Join(lib, name))
	}
	return pack, nil
}

// installed asks pg_config, which lies beside the server or in PATH, for a folder of the
// installation.
func installed(bin, flag string) (string, error) {
	const config = "pg_config"
	path := filepath.Join(bin, config)
	if _, err := exec.LookPath(path); err != nil {
		if path, err = (program.Paths{}).Find(program.Program{Name: config, Package: debianPackage}); err != nil {
			return "", err
		}
	}
	said, err := program.Say(context.Background(), path, flag)
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(said) || strings.Contains(said, "\n") {
		return "", fmt.Errorf("%s %s says %q, which is no folder", path, flag, said)
	}
	return said, nil
}
