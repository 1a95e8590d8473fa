// Package rootfs makes the root filesystem of a container image out of programs of
// this machine: the programs, less what is only for debuggers, the libraries that
// they load, and the few files that they expect. No registry, no distribution and no
// compiler is needed, and the image holds the very programs that were asked for.
//
// The stream is the same for the same files: names are sorted, times are zero, all
// belongs to root. Image.ID is short enough for a tag.
package rootfs
