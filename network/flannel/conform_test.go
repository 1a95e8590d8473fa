package flannel_test

import (
	"strings"
	"testing"
	"time"

	"nettoll/internal/testutil"
	"nettoll/network/flannel"
	"nettoll/network/networktest"
)

func TestMain(m *testing.M) { testutil.Main(m) }

func TestConformance(t *testing.T) {
	for _, tech := range flannel.All(nil) {
		if !strings.Contains(tech.About, "cloud") {
			t.Run(tech.Name, func(t *testing.T) { networktest.ConformAfter(t, 300*time.Millisecond, tech) })
		}
	}
}
