package main

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	specs "github.com/opencontainers/image-spec/specs-go"
	spec "github.com/opencontainers/image-spec/specs-go/v1"

	"nettoll/docker/rootfs"
)

// dockerManifest is the file manifest.json of images that "docker load" reads.
type dockerManifest struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// architectures maps the machines of programs to their names in Go and in images.
var architectures = map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64"}

// writeImage writes the image of both programs, with one layer, as an archive that both has the OCI image layout
// and can be read by "docker load". nettoll has the same path as in the images that nettoll makes for itself, so
// that "--docker-image" can name this one.
func writeImage(w io.Writer, version, nettoll, agent, license, notices string) error {
	made, err := epoch()
	if err != nil {
		return err
	}
	arch, err := architecture(nettoll)
	if err != nil {
		return err
	}
	texts := map[string]string{}
	for _, f := range []string{license, notices} {
		b, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		texts["/usr/share/doc/nettoll/"+path.Base(f)] = string(b)
	}
	root, err := rootfs.Static(texts,
		rootfs.Program{File: nettoll, Path: rootfs.AgentPath}, rootfs.Program{File: agent, Path: rootfs.AgentPath + "-agent"})
	if err != nil {
		return err
	}
	var layer bytes.Buffer
	if err := root.Stream(&layer); err != nil {
		return err
	}
	// A tag cannot contain a plus sign.
	return writeArchive(w, layer.Bytes(), arch, strings.ReplaceAll(version, "+", "-"), made)
}

func architecture(file string) (string, error) {
	f, err := elf.Open(file)
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	defer f.Close()
	if arch := architectures[f.Machine]; arch != "" {
		return arch, nil
	}
	return "", fmt.Errorf("%s is for %v, which no release is made for", file, f.Machine)
}

func writeArchive(w io.Writer, layer []byte, arch, tag string, made time.Time) error {
	files := map[string][]byte{}
	blob := func(mediaType string, b []byte) spec.Descriptor {
		d := spec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(b), Size: int64(len(b))}
		files[inArchive(d)] = b
		return d
	}
	text := func(v any) []byte {
		b, err := json.Marshal(v)
		if err != nil { // all of them are structs of strings and numbers
			panic(err)
		}
		return b
	}
	content := blob(spec.MediaTypeImageLayer, layer)
	config := blob(spec.MediaTypeImageConfig, text(spec.Image{
		Created:  &made,
		Platform: spec.Platform{Architecture: arch, OS: "linux"},
		Config: spec.ImageConfig{
			Entrypoint: []string{rootfs.AgentPath},
			Env:        []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"},
			WorkingDir: "/tmp",
			Labels: map[string]string{
				spec.AnnotationTitle: "nettoll", spec.AnnotationVersion: tag, spec.AnnotationLicenses: "Apache-2.0",
			},
		},
		RootFS:  spec.RootFS{Type: "layers", DiffIDs: []digest.Digest{content.Digest}},
		History: []spec.History{{Created: &made, CreatedBy: "nettoll release"}},
	}))
	manifest := blob(spec.MediaTypeImageManifest, text(spec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: spec.MediaTypeImageManifest,
		Config: config, Layers: []spec.Descriptor{content},
	}))
	manifest.Platform = &spec.Platform{Architecture: arch, OS: "linux"}
	manifest.Annotations = map[string]string{spec.AnnotationRefName: tag}
	files[spec.ImageIndexFile] = text(spec.Index{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: spec.MediaTypeImageIndex, Manifests: []spec.Descriptor{manifest},
	})
	files[spec.ImageLayoutFile] = text(spec.ImageLayout{Version: spec.ImageLayoutVersion})
	files["manifest.json"] = text([]dockerManifest{{inArchive(config), []string{"nettoll:" + tag}, []string{inArchive(content)}}})

	t := tar.NewWriter(w)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(files[name])), ModTime: made}); err != nil {
			return err
		}
		if _, err := t.Write(files[name]); err != nil {
			return err
		}
	}
	return t.Close()
}

// inArchive returns the path of a blob in an archive.
func inArchive(d spec.Descriptor) string {
	return path.Join(spec.ImageBlobsDir, d.Digest.Algorithm().String(), d.Digest.Encoded())
}
