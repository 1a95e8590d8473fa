package ssh

import (
	"testing"

	"nettoll/internal/testutil"
)

func TestMain(m *testing.M) { testutil.Main(m) }
