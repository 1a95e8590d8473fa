package platform_test

import (
	"errors"
	"fmt"

	"nettoll/platform"
)

// An Unsupported error reports what is missing, and what would fix it.
func ExampleUnsupported() {
	var err error = &platform.Unsupported{
		Feature: "macvlan devices", Option: "CONFIG_MACVLAN", Remedy: "modprobe macvlan", Err: errors.New("operation not supported"),
	}
	fmt.Println(err)
	fmt.Println(errors.Is(err, platform.ErrUnsupported))
	// Output:
	// macvlan devices: not supported here (needs CONFIG_MACVLAN): operation not supported
	// true
}
