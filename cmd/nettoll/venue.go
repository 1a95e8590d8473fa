package main

import (
	"time"

	"nettoll/network"
	"nettoll/platform"
	"nettoll/runner"
)

// venue is a platform with the drivers of the networks that are built on it.
type venue struct {
	platform platform.Platform
	about    string // in a few words
	// native is the network that stands for its hosts without containers; the
	// default platform has one for each number of hosts, as record.Native says.
	native  string
	drivers []network.Driver
	// usual are the networks that the platform's name alone means, as a network.
	usual []string
	// visit and container are how much longer than in the lab it takes to build a network
	// and to start a container, about.
	visit, container time.Duration

	prefix string // of its networks' names; empty for the default platform
}

// prefixed gives the networks of all platforms but the first their prefix.
func prefixed(all []venue) []venue {
	for i := range all {
		if i > 0 {
			all[i].prefix = all[i].platform.Name() + ":"
		}
	}
	return all
}

// name is what cells call the network of a driver.
func (v venue) name(d network.Driver) string { return v.prefix + d.Name }

// names are those of all its networks.
func (v venue) names() (names []string) {
	for _, t := range v.drivers {
		names = append(names, v.name(t))
	}
	return names
}

// find finds a driver by the name of its network on this platform.
func (v venue) find(name string) (network.Driver, bool) {
	for _, t := range v.drivers {
		if t.Name == name {
			return t, true
		}
	}
	return network.Driver{}, false
}

// recipes are all networks, by their names in cells.
func recipes(e engines) map[string]runner.Recipe {
	all := make(map[string]runner.Recipe)
	for _, v := range venues(e) {
		for _, t := range v.drivers {
			all[v.name(t)] = runner.Recipe{Platform: v.platform, Driver: t}
		}
	}
	return all
}

// namesOf are names that each platform has, in the order of these.
func namesOf(of func(venue) []string) (names []string) {
	for _, v := range venues(engines{}) {
		names = append(names, of(v)...)
	}
	return names
}

// networkNames are the names of all networks.
func networkNames() []string { return namesOf(venue.names) }

// wholeNames are what run calls all networks of each platform.
func wholeNames() []string {
	return namesOf(func(v venue) []string { return []string{v.prefix + "all"} })
}

func platformNames() []string {
	return namesOf(func(v venue) []string { return []string{v.platform.Name()} })
}

// usualNames are the platforms whose names alone mean networks.
func usualNames() []string {
	return namesOf(func(v venue) []string {
		if len(v.usual) == 0 {
			return nil
		}
		return []string{v.platform.Name()}
	})
}
