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
	Peer    int  // index of the other end or of the parent, in whatever namespace that is; 0 is none
	Home    Home // of the peer
	Master  int  // index of the bridge that it is a port of; 0 is none
	MTU     int  // bytes
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
		d, _ := describe(l)
		all = append(all, d)
	}
	return all, nil
}

// Interface finds a device. It is an error if nothing is counted there.
func (n *NS) Interface(name string) (Interface, error) {
	l, err := n.Link(name)
	if err != nil {
		return Interface{}, err
	}
	d, counts := describe(l)
	if !counts {
		return d, fmt.Errorf("device %s counts nothing", name)
	}
	return d, nil
}

func describe(l netlink.Link) (d Interface, counts bool) {
	a := l.Attrs()
	d = Interface{
		Name: a.Name, Kind: l.Type(), Index: a.Index, Peer: a.ParentIndex, Home: Home(a.NetNsID), Master: a.MasterIndex, MTU: a.MTU,
	}
	if a.Statistics == nil {
		return d, false
	}
	d.Packets = a.Statistics.RxPackets + a.Statistics.TxPackets
	d.Bytes = a.Statistics.RxBytes + a.Statistics.TxBytes
	return d, true
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
