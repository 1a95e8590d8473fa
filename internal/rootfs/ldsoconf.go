package rootfs

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
)

// ldSoConf is where a distribution says where its libraries are.
const ldSoConf = "/etc/ld.so.conf"

// configured gives the folders that a file of configuration names, in order, with
// those of the files that it includes (ldconfig(8)). A file that cannot be read names
// none: musl has no such file.
func configured(file string) []string { return configuredBut(map[string]bool{}, file) }

// configuredBut does not read what was read before.
func configuredBut(read map[string]bool, file string) (folders []string) {
	if read[file] {
		return nil
	}
	read[file] = true
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line, _, _ := strings.Cut(lines.Text(), "#")
		words := strings.FieldsFunc(line, func(c rune) bool { return strings.ContainsRune(" \t\r,:", c) })
		if len(words) == 0 || words[0] == "hwcap" {
			continue
		}
		if words[0] != "include" {
			for _, folder := range words {
				folder, _, _ = strings.Cut(folder, "=") // a kind of library, as in /lib=libc6
				folders = append(folders, folder)
			}
			continue
		}
		for _, pattern := range words[1:] {
			if !filepath.IsAbs(pattern) {
				pattern = filepath.Join(filepath.Dir(file), pattern)
			}
			included, _ := filepath.Glob(pattern) // no pattern, no file
			for _, name := range included {
				folders = append(folders, configuredBut(read, name)...)
			}
		}
	}
	return folders
}
