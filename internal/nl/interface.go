package nl

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nettoll/internal/netns"
)

// Interface is a network device, by what joins it to others and what it has carried.
type Interface struct {
	Name    string
	Kind    string // veth, bridge, vxlan, …
	Index   int
	Peer    int // index of the other end or of the parent, in whatever namespace that is; 0 is none
	Master  int // index of the bridge that it is a port of; 0 is none
	MTU     int // bytes
	Packets uint64
	Bytes   uint64 // received and sent, together
}

// Interfaces lists the devices of the namespace.
func (n *NS) Interfaces() ([]Interface, error) {
	var links []netlink.Link
	err := again(func() (err error) {
		links, err = n.LinkList()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list devices: %w", err)
	}
	all := make([]Interface, 0, len(links))
	for _, l := range links {
		a := l.Attrs()
		d := Interface{Name: a.Name, Kind: l.Type(), Index: a.Index, Peer: a.ParentIndex, Master: a.MasterIndex, MTU: a.MTU}
		if st := a.Statistics; st != nil {
			d.Packets, d.Bytes = st.RxPackets+st.TxPackets, st.RxBytes+st.TxBytes
		}
		all = append(all, d)
	}
	return all, nil
}

// HasDevice says whether the namespace at path has a device. Unlike questions by route
// netlink it is answered at once while the kernel makes or removes others.
func HasDevice(path, name string) (has bool, err error) {
	err = netns.Do(path, func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		req, err := unix.NewIfreq(name)
		if err != nil {
			return err
		}
		err = unix.IoctlIfreq(fd, unix.SIOCGIFINDEX, req)
		if errors.Is(err, unix.ENODEV) {
			return nil
		}
		has = err == nil
		return err
	})
	if err != nil {
		err = fmt.Errorf("find device %s: %w", name, err)
	}
	return has, err
}
