package reference

import "testing"

func TestEmbedded(t *testing.T) {
	files, err := data.ReadDir("data")
	if err != nil || len(files) != len(Names()) {
		t.Errorf("%d files, %d names: %v", len(files), len(Names()), err)
	}
	for _, name := range Names() {
		s, err := load(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if s.Name != name || s.Title == "" || len(s.Tables) == 0 || len(s.Conclusions) == 0 || len(s.Tools) == 0 {
			t.Errorf("%s lacks something: %+v", name, s)
		}
	}
	if len(Sources()) != len(Names()) {
		t.Errorf("%d sources, want %d", len(Sources()), len(Names()))
	}
	if _, ok := ByName("../data/icc-2014"); ok {
		t.Error("a path is no name")
	}
}
