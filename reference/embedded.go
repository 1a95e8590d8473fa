package reference

import (
	"embed"
	"slices"
)

//go:embed data/*.yaml
var data embed.FS

// Names lists the sources' names, in the order in which the project knows them.
func Names() []string {
	return []string{ICC2014, Overlay2015, Cloud2015, HostBridge, SingleNode2017}
}

// Sources lists every source. One that cannot be read is left out: a test holds
// that all can.
func Sources() []Source {
	var out []Source
	for _, name := range Names() {
		if s, ok := ByName(name); ok {
			out = append(out, s)
		}
	}
	return out
}

// ByName finds a source.
func ByName(name string) (Source, bool) {
	if !slices.Contains(Names(), name) {
		return Source{}, false
	}
	s, err := load(name)
	return s, err == nil
}

func load(name string) (Source, error) {
	text, err := data.ReadFile("data/" + name + ".yaml")
	if err != nil {
		return Source{}, err
	}
	return decode(name, text)
}
