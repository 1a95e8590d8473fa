package flanneld_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nettoll/internal/flanneld"
	"nettoll/internal/testutil/iferr"
)

func TestMTU(t *testing.T) {
	const good = "FLANNEL_NETWORK=198.19.0.0/16\nFLANNEL_SUBNET=198.19.16.1/20\nFLANNEL_IPV6_SUBNET=2001:2:0:2::1/64\nFLANNEL_MTU=1450\nFLANNEL_IPMASQ=false\n"
	file := filepath.Join(t.TempDir(), "subnet.env")
	if _, err := flanneld.MTU(file, 1, true); err == nil || err.Error() != "it has written no lease" {
		t.Errorf("no file: %v", err)
	}
	without6 := strings.Replace(good, "FLANNEL_IPV6_SUBNET", "FLANNEL_IPV7_SUBNET", 1)
	for _, c := range []struct {
		text string
		six  bool
		want string // of the error; empty: none
	}{
		{good, true, ""},
		{good, false, ""},
		{without6, false, ""},
		{without6, true, `flanneld's subnet file: FLANNEL_IPV6_SUBNET is "", not the host's 2001:2:0:2::1/64`},
		{strings.Replace(good, "19.16.1", "19.32.1", 1), true, `flanneld's subnet file: FLANNEL_SUBNET is "198.19.32.1/20", not the host's 198.19.16.1/20`},
		{"", false, `flanneld's subnet file: FLANNEL_SUBNET is "", not`},
		{strings.Replace(good, "1450", "many", 1), true, "flanneld's subnet file: FLANNEL_MTU: "},
	} {
		iferr.Fatal(t, os.WriteFile(file, []byte(c.text), 0o600))
		mtu, err := flanneld.MTU(file, 1, c.six)
		if c.want == "" && (mtu != 1450 || err != nil) || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%q, with IPv6 %v: %d, %v, want %q", c.text, c.six, mtu, err, c.want)
		}
	}
}
