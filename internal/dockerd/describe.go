package dockerd

import (
	"fmt"
	"strings"
	"sync"
)

// described is what an engine said of itself, once.
type described struct {
	once sync.Once
	text string
}

// Describe says in a few words which engine it is and what can make its networks differ
// from another's. It is empty where the engine does not say.
func (e *Engine) Describe() string {
	e.described.once.Do(func() {
		ctx, cancel := asking()
		defer cancel()
		facts, err := e.Facts(ctx)
		if err != nil {
			return
		}
		parts := []string{"Docker Engine " + facts["engine"]}
		for _, name := range []string{"storage", "runtime", "firewall", "cgroup"} {
			if v := facts[name]; v != "" {
				parts = append(parts, fmt.Sprintf("%s %s", name, v))
			}
		}
		e.described.text = strings.Join(parts, ", ")
	})
	return e.described.text
}
