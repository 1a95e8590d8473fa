package cni

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/containernetworking/cni/pkg/invoke"

	"nettoll/internal/beside"
	"nettoll/platform"
)

// Folders are where plugins are looked for, the first first.
type Folders []string

// Usual are the folders where plugins are as a rule: that beside nettoll, unless others could
// have put plugins there, and those of System.
func Usual() Folders {
	own, err := beside.Find("cni")
	if err != nil {
		return System()
	}
	return append(Folders{own}, System()...)
}

// System are the folders where container runtimes and Debian have plugins.
func System() Folders { return Folders{"/opt/cni/bin", "/usr/lib/cni", "/usr/libexec/cni"} }

// find gives the path of a plugin that can be run.
func (in Folders) find(plugin string) (string, error) {
	path, err := invoke.FindInPath(plugin, in)
	if err != nil {
		return "", errors.New("it is in none of " + in.String() + passedOver())
	}
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o111 == 0 {
		return "", errors.New(path + " cannot be executed")
	}
	return path, nil
}

// passedOver says why the folder beside nettoll is not looked into, where there is one.
func passedOver() string {
	if _, err := beside.Find("cni"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "; " + err.Error()
	}
	return ""
}

// missing is the error of a plugin that is not there.
func (in Folders) missing(plugin string) error {
	_, err := in.find(plugin)
	if err == nil {
		return nil
	}
	return &platform.Unsupported{
		Feature: "the CNI plugin " + plugin, Option: "the program " + plugin,
		Remedy: "apt install containernetworking-plugins, or --cni-bin with the folder that it is in", Err: err,
	}
}

func (in Folders) String() string {
	if len(in) == 0 {
		return "no folder"
	}
	return strings.Join(in, ", ")
}
