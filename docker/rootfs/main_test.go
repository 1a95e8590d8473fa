package rootfs

import (
	"fmt"
	"os"
	"testing"

	"nettoll/internal/testutil"
)

// says is what the test program prints as its version: it is used as a program of images, too.
const says = "the test program"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println(says)
		return
	}
	testutil.Main(m)
}
