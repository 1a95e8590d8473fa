package pgbench

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"nettoll/internal/program"
	"nettoll/workload"
)

// shell is what initdb runs the server by (popen(3)): the only tool that puts one into images.
const shell = "/bin/sh"

// libraries are those that initdb has the server load.
var libraries = []string{"plpgsql.so", "dict_snowball.so"}

// Pack implements workload.Packer. A new database is made of files that lie beside the server.
func (tool Tool) Pack() (pack workload.Pack, err error) {
	p, err := tool.find()
	if err != nil {
		return pack, err
	}
	bin := filepath.Dir(p.postgres)
	pack.Programs = []string{p.pgbench, p.postgres, filepath.Join(bin, initdb), shell}
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
		if path, err = (program.Paths{}).Find(config, debianPackage); err != nil {
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
