package rootfs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// data adds a file, or all files of a folder. Links are followed, and what is neither file
// nor folder is left out.
func (b *builder) data(name string) error {
	if !filepath.IsAbs(name) {
		return fmt.Errorf("%q is no absolute path", name)
	}
	return filepath.WalkDir(name, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		c, err := copyOf(path)
		if err != nil {
			return err
		}
		const everybody = 0o444 // of the image can read it, whoever could here
		return b.tree.file(path, info.Mode().Perm()|everybody, c, path+" of this machine")
	})
}
