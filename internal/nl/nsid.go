package nl

import (
	"fmt"
	"os"
)

// Home is where the other end of a device is, or its parent: the number that the
// device's namespace has for that one.
type Home int

// Here is the device's own namespace.
const Here Home = -1

// HomeOf gives the number that this namespace has for the one at path. It has one as soon
// as it was asked for a device with an end there; until then it is Here.
func (n *NS) HomeOf(path string) (Home, error) {
	f, err := os.Open(path)
	if err != nil {
		return Here, fmt.Errorf("open network namespace: %w", err)
	}
	defer f.Close()
	id := int(Here)
	err = again(func() (err error) {
		id, err = n.GetNetNsIdByFd(int(f.Fd()))
		return err
	})
	if err != nil {
		return Here, fmt.Errorf("find number of network namespace: %w", err)
	}
	return Home(id), nil
}
