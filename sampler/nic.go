package sampler

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"nettoll/internal/nl"
	"nettoll/record"
)

// NIC describes a device of the network namespace that this process is in. It reads below proc and sys, where they show
// that device.
func NIC(device, proc, sys string) (record.NIC, error) {
	n := record.NIC{Device: device}
	index := 0
	err := nl.With("", func(in *nl.NS) error {
		link, err := in.Link(device)
		if err != nil {
			return err
		}
		a := link.Attrs()
		index, n.MTU, n.Receive, n.Transmit = a.Index, a.MTU, a.NumRxQueues, a.NumTxQueues
		return nil
	})
	if err != nil {
		return n, fmt.Errorf("sampler: network card %s: %w", device, err)
	}
	if n.Offloads, err = offloads(device); err != nil {
		return n, err
	}
	err = nl.WithEthtool("", func(tool nl.Ethtool) error {
		// Not every driver answers each of these.
		n.Driver, _ = tool.Driver(device)
		n.Speed, _ = tool.Speed(device)
		// The numbers of queues so far are how many the driver has room for; channels are those in use.
		if receive, transmit, err := tool.Channels(device); err == nil && receive > 0 {
			n.Receive, n.Transmit = receive, transmit
		}
		n.ReceiveRing, n.TransmitRing, _ = tool.Rings(device)
		n.Coalesce, _ = tool.Coalesce(device)
		return nil
	})
	if err != nil {
		return n, fmt.Errorf("sampler: %w", err)
	}
	at := filepath.Join(sys, "class/net", device)
	if shown, err := number(filepath.Join(at, "ifindex"), 0); err != nil || shown != index {
		return n, nil // sysfs shows the devices of another namespace
	}
	n.RPS = values(filepath.Join(at, "queues/rx-*/rps_cpus"))
	for _, number := range interrupts(at) {
		n.Interrupts = append(n.Interrupts, values(filepath.Join(proc, "irq", number, "smp_affinity_list"))...)
	}
	n.Interrupts = once(n.Interrupts)
	if near := cpuList(onBus(at) + "/local_cpulist"); len(near) < len(cpuList(filepath.Join(sys, "devices/system/cpu/online"))) {
		n.Near = near
	}
	return n, nil
}

// onBus returns the folder in sysfs of what is on the bus (Documentation/ABI/testing/sysfs-bus-pci) and has a card, which is the
// folder of the network device.
func onBus(card string) string {
	device := card + "/device"
	if bus, err := os.Readlink(device + "/subsystem"); err == nil && filepath.Base(bus) == "virtio" {
		device += "/.." // filepath.Join would take it for the card's folder
	}
	return device
}

// interrupts returns the numbers of a card's interrupts: those signalled by messages, or otherwise the one that it has by a
// line.
func interrupts(card string) (numbers []string) {
	device := onBus(card)
	byMessage, _ := os.ReadDir(device + "/msi_irqs")
	numbers = record.Each(byMessage, os.DirEntry.Name)
	if line, err := number(device+"/irq", 0); err == nil && line > 0 && len(numbers) == 0 {
		numbers = []string{strconv.Itoa(line)}
	}
	return numbers
}

// values returns what the files of a pattern hold, each value once.
func values(pattern string) (all []string) {
	paths, _ := filepath.Glob(pattern)
	for _, path := range paths {
		if b, err := os.ReadFile(path); err == nil {
			all = append(all, strings.TrimSpace(string(b)))
		}
	}
	return once(all)
}

func once(all []string) []string {
	slices.Sort(all)
	return slices.Compact(all)
}
