package rootfs

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
)

// folders are those of every image: what the runtime mounts something on, and what
// programs take for granted.
var folders = map[string]fs.FileMode{
	"/dev":     0o755,
	"/proc":    0o555,
	"/root":    0o700,
	"/run":     0o755,
	"/sys":     0o555,
	"/tmp":     0o777 | fs.ModeSticky,
	"/var/tmp": 0o777 | fs.ModeSticky,
}

// texts are the files of every image.
var texts = map[string]string{
	"/etc/passwd":        "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n",
	"/etc/group":         "root:x:0:\nnogroup:x:65534:\n",
	"/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\nprotocols: files\nservices: files\n",
}

// fromHere are files of this machine that programs read where they are there: netperf
// and qperf look protocols and services up.
var fromHere = []string{"/etc/protocols", "/etc/services"}

// base adds what every image has.
func (b *builder) base() error {
	for _, name := range slices.Sorted(maps.Keys(folders)) {
		if err := b.tree.folder(name, folders[name]); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if err := b.tree.file(name, 0o644, text(texts[name]), "a file of every image"); err != nil {
			return err
		}
	}
	return nil
}

// databases adds those of this machine.
func (b *builder) databases() error {
	for _, name := range fromHere {
		c, err := copyOf(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = b.tree.file(name, 0o644, c, name+" of this machine")
		}
		if err != nil {
			return err
		}
	}
	return nil
}
