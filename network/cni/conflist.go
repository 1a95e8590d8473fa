package cni

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/utils"
	"github.com/containernetworking/cni/pkg/version"

	"nettoll/internal/oneline"
)

// Conflist is a user's network configuration list.
type Conflist struct {
	File string
	list *libcni.NetworkConfigList
}

// Sum returns the SHA-256 of its text, in hexadecimal.
func (c *Conflist) Sum() string { return fmt.Sprintf("%x", sha256.Sum256(c.list.Bytes)) }

// largest is the largest size of a conflist. Real ones have a few KiB.
const largest = 1 << 20 // bytes

// Load reads a conflist. The error names the file, and the position in it where known.
func Load(file string) (*Conflist, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, errors.Unwrap(err))
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: it is not a regular file", file)
	}
	text, err := io.ReadAll(io.LimitReader(f, largest+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, errors.Unwrap(err))
	}
	return parse(file, text)
}

// parse parses the text of a conflist.
func parse(file string, text []byte) (*Conflist, error) {
	if len(text) > largest {
		return nil, fmt.Errorf("%s: larger than %d bytes: it is not a conflist", file, largest)
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(text, &top); err != nil {
		return nil, at(file, text, err)
	}
	if top["plugins"] == nil && top["type"] != nil {
		return nil, fmt.Errorf(`%s: it is the configuration of one plugin and no list: put it into {"cniVersion": …, "name": …, "plugins": [ … ]}`, file)
	}
	list, err := libcni.NetworkConfFromBytes(text)
	if err == nil && !list.LoadOnlyInlinedPlugins && utils.ValidateNetworkName(list.Name) == nil {
		var further []*libcni.PluginConfig
		further, err = libcni.NetworkPluginConfsFromFiles(filepath.Dir(file), list.Name)
		list.Plugins = append(list.Plugins, further...)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %s", file, oneline.Output(strings.TrimPrefix(err.Error(), "error parsing configuration list: ")))
	}
	if bad := utils.ValidateNetworkName(list.Name); bad != nil {
		return nil, fmt.Errorf(`%s: the name %q: letters, digits and ". _ -" are allowed, and a letter or digit comes first`, file, list.Name)
	}
	if len(list.Plugins) == 0 {
		return nil, fmt.Errorf("%s: it names no plugin", file)
	}
	if known := version.All.SupportedVersions(); list.CNIVersion != "" && !slices.Contains(known, list.CNIVersion) {
		return nil, fmt.Errorf("%s: cniVersion %q is unknown; known are %s", file, list.CNIVersion, strings.Join(known, ", "))
	}
	return &Conflist{File: file, list: list}, nil
}

// at returns the error of a file that is not JSON, with the position where known.
func at(file string, text []byte, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		line, column := position(text, syntax.Offset)
		return fmt.Errorf("%s:%d:%d: not JSON; check commas, quotes and brackets here", file, line, column)
	case errors.As(err, &kind):
		return fmt.Errorf("%s: a conflist is a JSON object, and this is a JSON %s", file, kind.Value)
	}
	return fmt.Errorf("%s: %w", file, err)
}

// position returns line and column, both from 1, of the byte before offset.
func position(text []byte, offset int64) (line, column int) {
	before := text[:max(0, min(int(offset)-1, len(text)))]
	return 1 + bytes.Count(before, []byte("\n")), len(before) - bytes.LastIndexByte(before, '\n')
}

// Name returns the name that the conflist gives to its network.
func (c *Conflist) Name() string { return c.list.Name }

// Types returns the types of its plugins, in order.
func (c *Conflist) Types() (all []string) {
	for _, p := range c.list.Plugins {
		all = append(all, p.Network.Type)
	}
	return all
}

// Check checks that every plugin exists, including those that manage addresses.
func (c *Conflist) Check(in Folders) error {
	for _, p := range c.list.Plugins {
		for _, plugin := range []string{p.Network.Type, p.Network.IPAM.Type} {
			if plugin == "" {
				continue
			}
			if err := in.missing(plugin); err != nil {
				return fmt.Errorf("%s: %w", c.File, err)
			}
		}
	}
	return nil
}

// keptIn returns the list with host-local's state of addresses in the folder dir: any other folder, also one that the list
// names, is the machine's, and what is in it would outlive the lab. All hosts share dir, so that no two containers get the same
// address.
func (c *Conflist) keptIn(dir string) (*libcni.NetworkConfigList, error) {
	list := *c.list
	list.Plugins = slices.Clone(list.Plugins)
	for i, p := range list.Plugins {
		var conf struct {
			IPAM map[string]any `json:"ipam"`
		}
		if err := json.Unmarshal(p.Bytes, &conf); err != nil {
			return nil, fmt.Errorf("%s: plugin %s: %w", c.File, p.Network.Type, err)
		}
		if conf.IPAM["type"] != hostLocal {
			continue
		}
		conf.IPAM["dataDir"] = dir
		kept, err := libcni.InjectConf(p, map[string]any{"ipam": conf.IPAM})
		if err != nil {
			return nil, fmt.Errorf("%s: plugin %s: %w", c.File, p.Network.Type, err)
		}
		list.Plugins[i] = kept
	}
	return &list, nil
}

const hostLocal = "host-local"
