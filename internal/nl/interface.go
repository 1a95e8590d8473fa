package nl

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nettoll/internal/netns"
	"nettoll/internal/wrap"
)

// Interface is a network device, with its connections to other devices and its counters.
type Interface struct {
	Name    string
	Kind    string // veth, bridge, vxlan, …
	Index   int
	Peer    int  // index of the other end or of the parent, in its own namespace; 0 means none
	Home    Home // of the peer
	Master  int  // index of the bridge that it is a port of; 0 means none
	MTU     int  // bytes
	Packets uint64
	Bytes   uint64 // received and sent, together
	In      uint64 // packets received
	InBytes uint64 // bytes received
	Up      bool
}

func (n *NS) links() ([]netlink.Link, error) {
	links, err := ask(n.LinkList)
	return links, wrap.Error(err, "list devices")
}

// Interfaces lists the devices of the namespace.
func (n *NS) Interfaces() ([]Interface, error) {
	links, err := n.links()
	all := make([]Interface, 0, len(links))
	for _, l := range links {
		d, _ := describe(l)
		all = append(all, d)
	}
	return all, err
}

// Ports returns the indexes of the ports of a bridge, and the names of those that carry no packets yet; see Running.
func (n *NS) Ports(bridge int) (indexes map[int]bool, waiting []string, err error) {
	links, err := n.links()
	indexes = map[int]bool{}
	for _, l := range links {
		a := l.Attrs()
		if a.MasterIndex != bridge {
			continue
		}
		indexes[a.Index] = true
		if a.OperState != netlink.OperUp {
			waiting = append(waiting, a.Name)
		}
	}
	return indexes, waiting, err
}

// Interface returns a device. It is an error if the device has no counters.
func (n *NS) Interface(name string) (Interface, error) {
	l, err := n.Link(name)
	if err != nil {
		return Interface{}, err
	}
	d, counts := describe(l)
	if !counts {
		return d, fmt.Errorf("device %s has no counters", name)
	}
	return d, nil
}

func describe(l netlink.Link) (d Interface, counts bool) {
	a := l.Attrs()
	d = Interface{
		Name: a.Name, Kind: l.Type(), Index: a.Index, Peer: a.ParentIndex, Home: Home(a.NetNsID), Master: a.MasterIndex, MTU: a.MTU,
		Up: a.Flags&net.FlagUp != 0,
	}
	if a.Statistics == nil {
		return d, false
	}
	d.Packets = a.Statistics.RxPackets + a.Statistics.TxPackets
	d.Bytes = a.Statistics.RxBytes + a.Statistics.TxBytes
	d.In, d.InBytes = a.Statistics.RxPackets, a.Statistics.RxBytes
	return d, true
}

// HasDevice reports whether the namespace at path has a device.
func HasDevice(path, name string) (has bool, err error) {
	err = netns.Do(path, func() error {
		_, err := indexOf(name)
		has = err == nil
		return unless(err, unix.ENODEV)
	})
	return has, wrap.Error(err, "find device %s", name)
}

// indexOf returns the index of a device of the current namespace. Unlike route netlink, this call is
// not delayed while the kernel makes or removes other devices.
func indexOf(device string) (index uint32, err error) {
	err = request(device, func(fd int, req *unix.Ifreq) error {
		err := unix.IoctlIfreq(fd, unix.SIOCGIFINDEX, req)
		index = req.Uint32()
		return err
	})
	return index, err
}

// UpHere brings a device of the current namespace up. It is for code that is in a new namespace anyway:
// a socket of route netlink would take longer than the change.
func UpHere(device string) error {
	err := request(device, func(fd int, req *unix.Ifreq) error {
		if err := unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, req); err != nil {
			return err
		}
		req.SetUint16(req.Uint16() | unix.IFF_UP)
		return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req)
	})
	return wrap.Error(err, "set %s up", device)
}

// request calls do with a socket of the current namespace and a request about a device.
func request(device string, do func(fd int, req *unix.Ifreq) error) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	req, err := unix.NewIfreq(device)
	if err != nil {
		return err
	}
	return do(fd, req)
}

// Device is the configuration of a network device.
type Device struct {
	Name, Kind string
	MTU        int
	Master     string
	Addrs      []string
}

// Devices lists the devices, sorted by name.
func (n *NS) Devices() ([]Device, error) {
	links, err := n.links()
	if err != nil {
		return nil, err
	}
	names := map[int]string{}
	for _, l := range links {
		names[l.Attrs().Index] = l.Attrs().Name
	}
	var all []Device
	for _, l := range links {
		a := l.Attrs()
		d := Device{Name: a.Name, Kind: l.Type(), MTU: a.MTU, Master: names[a.MasterIndex]}
		addrs, err := n.addresses(l)
		if err != nil {
			return nil, err
		}
		for _, a := range addrs {
			if !a.IP.IsLinkLocalUnicast() {
				d.Addrs = append(d.Addrs, a.IPNet.String())
			}
		}
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b Device) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// Home is the namespace of a device's other end, or of its parent, by the number that the device's
// namespace has for it.
type Home int

// Here is the device's own namespace.
const Here Home = -1

// HomeOf returns the number that this namespace has for the one at path. It gets a number when a
// device with an end there is first looked up; until then the result is Here.
func (n *NS) HomeOf(path string) (Home, error) {
	id := int(Here)
	err := netns.Hold(path, func(fd int) (err error) {
		id, err = ask(func() (int, error) { return n.GetNetNsIdByFd(fd) })
		return wrap.Error(err, "find number of network namespace")
	})
	if err != nil {
		return Here, err
	}
	return Home(id), nil
}

// RootQdisc returns the name of the queueing discipline at the root of a device.
func (n *NS) RootQdisc(l netlink.Link) (string, error) {
	all, err := ask(func() ([]netlink.Qdisc, error) { return n.QdiscList(l) })
	if err != nil {
		return "", fmt.Errorf("list queueing disciplines of %s: %w", l.Attrs().Name, err)
	}
	for _, q := range all {
		if q.Attrs().Parent == netlink.HANDLE_ROOT {
			return q.Type(), nil
		}
	}
	return "none", nil
}
