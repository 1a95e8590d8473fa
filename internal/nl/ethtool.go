package nl

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"nettoll/internal/netns"
	"nettoll/internal/wrap"
	"nettoll/record"
)

// Ethtool asks the drivers of devices in a network namespace what the program ethtool asks them, by the requests of
// linux/ethtool.h. Errors are those of ioctl(2): EOPNOTSUPP means that a driver does not answer a request.
type Ethtool struct{ socket int }

// WithEthtool calls fn for the network namespace at path; "" means the current one.
func WithEthtool(path string, fn func(Ethtool) error) error {
	var e Ethtool
	err := netns.Do(path, func() (err error) {
		e.socket, err = unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return fmt.Errorf("ethtool: %w", err)
	}
	defer unix.Close(e.socket)
	return fn(e)
}

// answer has the kernel answer a request about a device; the answer takes the place of the request.
func answer[T any](e Ethtool, device string, request *T) error {
	if len(device) >= unix.IFNAMSIZ {
		return unix.ENODEV
	}
	r := struct { // struct ifreq
		name    [unix.IFNAMSIZ]byte
		request *T
		_       [16]byte
	}{request: request}
	copy(r.name[:], device)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(e.socket), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&r)))
	runtime.KeepAlive(request)
	if errno != 0 {
		return errno
	}
	return nil
}

// Feature is the state of a feature of a device.
type Feature struct {
	On    bool
	Fixed bool // it cannot be changed
}

// Constants of linux/ethtool.h.
const (
	setOfFeatures = 4  // ETH_SS_FEATURES
	nameLength    = 32 // ETH_GSTRING_LEN, bytes
)

// maxFeatures is room for the features of kernels to come: Linux 6.18 has 64.
const maxFeatures = 256

// featureWords are the words that hold a bit for each feature.
const featureWords = maxFeatures / 32

// featureNames is struct ethtool_gstrings.
type featureNames struct {
	command, set, count uint32
	names               [maxFeatures][nameLength]byte
}

// featureStates is struct ethtool_gfeatures.
type featureStates struct {
	command, words uint32
	word           [featureWords]struct{ available, requested, active, neverChanged uint32 }
}

// featureChanges is struct ethtool_sfeatures.
type featureChanges struct {
	command, words uint32
	word           [featureWords]struct{ valid, requested uint32 }
}

// names returns the kernel's names of all features, by their bits.
func (e Ethtool) names(device string) (all []string, err error) {
	count := struct { // struct ethtool_sset_info
		command, _ uint32
		sets       uint64
		count      uint32
	}{command: unix.ETHTOOL_GSSET_INFO, sets: 1 << setOfFeatures}
	if err := answer(e, device, &count); err != nil {
		return nil, err
	}
	if count.count > maxFeatures {
		return nil, fmt.Errorf("the kernel has %d features, more than %d", count.count, maxFeatures)
	}
	are := &featureNames{command: unix.ETHTOOL_GSTRINGS, set: setOfFeatures, count: count.count}
	if err := answer(e, device, are); err != nil {
		return nil, err
	}
	for _, name := range are.names[:min(are.count, maxFeatures)] {
		text, _, _ := bytes.Cut(name[:], []byte{0})
		all = append(all, string(text))
	}
	return all, nil
}

// Features returns the features of a device, by the kernel's names, such as "rx-gro".
func (e Ethtool) Features(device string) (map[string]Feature, error) {
	names, err := e.names(device)
	if err != nil {
		return nil, err
	}
	state := &featureStates{command: unix.ETHTOOL_GFEATURES, words: featureWords}
	if err := answer(e, device, state); err != nil {
		return nil, err
	}
	all := make(map[string]Feature, len(names))
	for i, name := range names {
		if is, bit := state.word[i/32], uint32(1)<<(i%32); name != "" {
			all[name] = Feature{On: is.active&bit != 0, Fixed: is.available&bit == 0 || is.neverChanged&bit != 0}
		}
	}
	return all, nil
}

// Change turns features of a device on or off. It is no error if the driver refuses.
func (e Ethtool) Change(device string, to map[string]bool) error {
	names, err := e.names(device)
	if err != nil {
		return err
	}
	changes, known := &featureChanges{command: unix.ETHTOOL_SFEATURES, words: uint32(len(names)+31) / 32}, 0
	for i, name := range names {
		on, ok := to[name]
		if !ok {
			continue
		}
		known++
		is, bit := &changes.word[i/32], uint32(1)<<(i%32)
		if is.valid |= bit; on {
			is.requested |= bit
		}
	}
	if known < len(to) {
		return errors.New("the kernel does not know all of these features")
	}
	return answer(e, device, changes)
}

// Driver returns the name of a device's driver.
func (e Ethtool) Driver(device string) (string, error) {
	is, err := unix.IoctlGetEthtoolDrvinfo(e.socket, device)
	if err != nil {
		return "", err
	}
	return unix.ByteSliceToString(is.Driver[:]), nil
}

// Speed returns the rate of a device's link in Mbit/s, or 0 if the driver does not know it.
func (e Ethtool) Speed(device string) (int, error) {
	is := struct { // struct ethtool_cmd
		command, _, _ uint32
		low           uint16
		_             [6]uint8
		_, _          uint32
		high          uint16
		_             [2]uint8
		_             [3]uint32
	}{command: unix.ETHTOOL_GSET}
	if err := answer(e, device, &is); err != nil {
		return 0, err
	}
	// SPEED_UNKNOWN has all bits of both halves set; some drivers know only of the lower one.
	if speed := uint32(is.high)<<16 | uint32(is.low); speed != 1<<16-1 && speed != 1<<32-1 {
		return int(speed), nil
	}
	return 0, nil
}

// Channels returns how many queues of a device receive and transmit.
func (e Ethtool) Channels(device string) (receive, transmit int, err error) {
	is := struct { // struct ethtool_channels
		command, _, _, _, _      uint32
		rx, tx, others, combined uint32
	}{command: unix.ETHTOOL_GCHANNELS}
	err = answer(e, device, &is)
	return int(is.combined + is.rx), int(is.combined + is.tx), err
}

// Rings returns how many packets a device's rings have room for.
func (e Ethtool) Rings(device string) (receive, transmit int, err error) {
	is := struct { // struct ethtool_ringparam
		command, _, _, _, _ uint32
		rx, _, _, tx        uint32
	}{command: unix.ETHTOOL_GRINGPARAM}
	err = answer(e, device, &is)
	return int(is.rx), int(is.tx), err
}

// coalesce is struct ethtool_coalesce.
type coalesce struct {
	command                 uint32
	rxUsecs, rxFrames, _, _ uint32
	txUsecs, txFrames, _, _ uint32
	_                       uint32
	adaptiveRx, adaptiveTx  uint32
	_                       [11]uint32
}

// Coalesce returns how a device gathers packets before it interrupts.
func (e Ethtool) Coalesce(device string) (*record.Coalesce, error) {
	is := coalesce{command: unix.ETHTOOL_GCOALESCE}
	if err := answer(e, device, &is); err != nil {
		return nil, err
	}
	return is.told(), nil
}

// told leaves out limits that adapt.
func (is coalesce) told() *record.Coalesce {
	c := record.Coalesce{AdaptiveRx: is.adaptiveRx != 0, AdaptiveTx: is.adaptiveTx != 0}
	if !c.AdaptiveRx {
		c.RxUsecs, c.RxFrames = int(is.rxUsecs), int(is.rxFrames)
	}
	if !c.AdaptiveTx {
		c.TxUsecs, c.TxFrames = int(is.txUsecs), int(is.txFrames)
	}
	return &c
}

// txChecksum is the kernel's name of the feature that "ethtool -K DEVICE tx off" turns off for a veth
// device.
const txChecksum = "tx-checksum-ip-generic"

// CompleteChecksums makes the kernel compute the checksums, and do the segmentation, of packets that
// leave through a device of the namespace at path. Otherwise both are left to hardware that a virtual
// device does not have, and a program that receives the frames gets wrong ones.
func CompleteChecksums(path, device string) error {
	return WithEthtool(path, func(e Ethtool) error {
		return wrap.Error(e.Change(device, map[string]bool{txChecksum: false}), "turn %s of %s off", txChecksum, device)
	})
}

// Offload reports whether an offload, by the kernel's name, is on for a device of the namespace at
// path.
func Offload(path, device, name string) (on bool, err error) {
	err = WithEthtool(path, func(e Ethtool) error {
		state, err := e.Features(device)
		on = state[name].On
		return wrap.Error(err, "offloads of %s", device)
	})
	return on, err
}
