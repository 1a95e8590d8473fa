package main

import (
	"slices"

	"github.com/spf13/pflag"

	"nettoll/plan"
)

// optionFlags are the options of workloads. Those that are lists multiply the
// workloads that take them.
type optionFlags struct {
	streams                       []int
	message                       []string
	window, congestion            string
	request, response, bandwidth  string
	rate                          int
	zeroCopy, skipRxCopy, reverse bool
	noKeepAlive, gso              bool
}

func (f *optionFlags) add(fl *pflag.FlagSet) {
	fl.IntSliceVarP(&f.streams, "streams", "P", nil, "connections of each client, such as 1,4,16")
	fl.StringSliceVarP(&f.message, "message-size", "l", nil, "bytes of a write or read of a stream, such as 1K,128K")
	fl.StringVarP(&f.window, "window", "w", "", "socket buffers in bytes, such as 256K")
	fl.StringVarP(&f.congestion, "congestion", "C", "", "TCP congestion control")
	fl.BoolVarP(&f.zeroCopy, "zero-copy", "Z", false, "send with sendfile(2)")
	fl.BoolVar(&f.skipRxCopy, "skip-rx-copy", false, "the receiver discards in the kernel")
	fl.BoolVarP(&f.reverse, "reverse", "R", false, "the server sends, the client receives")
	fl.StringVarP(&f.bandwidth, "bandwidth", "b", "", "bit/s that each flow of udp_stream offers, such as 100M or 1G")
	fl.BoolVar(&f.gso, "gso", false, "udp_stream hands datagrams over in batches")
	fl.StringVar(&f.request, "request-size", "", "bytes of a request of tcp_rr and the like")
	fl.StringVar(&f.response, "response-size", "", "bytes of a response of tcp_rr and the like")
	fl.IntVar(&f.rate, "rate", 0, "transactions a second that each flow of paced_rr offers")
	fl.BoolVar(&f.noKeepAlive, "no-keep-alive", false, "http makes a connection for each request")
}

// option is a flag's change of a workload: one for each of its values.
type option struct {
	name string
	sets []func(*plan.Workload)
}

// overrideWorkloads gives the options to the workloads that have them.
func (f *runFlags) overrideWorkloads(s *plan.Suite, given func(string) bool) error {
	options, err := f.options(given)
	if err != nil || len(options) == 0 {
		return err
	}
	workloads := s.Workloads
	for _, o := range options {
		var changed []plan.Workload
		used := false
		for _, w := range workloads {
			if !plan.Takes(w.Name, o.name) {
				changed = append(changed, w)
				continue
			}
			used = true
			for _, set := range o.sets {
				c := w
				set(&c)
				changed = append(changed, c)
			}
		}
		if !used {
			return usagef("--%s: no workload of this run has it", o.name)
		}
		workloads = changed
	}
	s.SetWorkloads(workloads)
	return nil
}

// options are the flags that were given, in the order of help.
func (f *optionFlags) options(given func(string) bool) ([]option, error) {
	streams := func() (sets []func(*plan.Workload), err error) {
		for _, n := range f.streams {
			if n < 1 {
				return nil, usagef("--streams %d: at least one is needed", n)
			}
			sets = append(sets, func(w *plan.Workload) { w.Streams = n })
		}
		return sets, nil
	}
	sizes := func(name string, texts []string, field func(*plan.Workload) *plan.Size) func() ([]func(*plan.Workload), error) {
		return func() (sets []func(*plan.Workload), err error) {
			for _, text := range texts {
				size, err := plan.ParseSize(text)
				switch {
				case err != nil:
					return nil, usagef("--%s: %w", name, err)
				case size < 1:
					return nil, usagef("--%s %s: at least one byte is needed", name, text)
				}
				sets = append(sets, func(w *plan.Workload) { *field(w) = size })
			}
			return sets, nil
		}
	}
	one := func(set func(*plan.Workload)) func() ([]func(*plan.Workload), error) {
		return func() ([]func(*plan.Workload), error) { return []func(*plan.Workload){set}, nil }
	}
	bandwidth := func() ([]func(*plan.Workload), error) {
		rate, err := plan.ParseBitRate(f.bandwidth)
		switch {
		case err != nil:
			return nil, usagef("--bandwidth: %w", err)
		case rate < 1:
			return nil, usagef("--bandwidth %s: at least 1 bit/s is needed; leave it out for as fast as it goes", f.bandwidth)
		}
		return []func(*plan.Workload){func(w *plan.Workload) { w.Bandwidth = rate }}, nil
	}
	rate := func() ([]func(*plan.Workload), error) {
		if f.rate < 1 {
			return nil, usagef("--rate %d: at least 1 a second is needed", f.rate)
		}
		return []func(*plan.Workload){func(w *plan.Workload) { w.Rate = f.rate }}, nil
	}
	var all []option
	for _, o := range []struct {
		name string
		sets func() ([]func(*plan.Workload), error)
	}{
		{"streams", streams},
		{"message-size", sizes("message-size", f.message, func(w *plan.Workload) *plan.Size { return &w.MessageSize })},
		{"window", sizes("window", []string{f.window}, func(w *plan.Workload) *plan.Size { return &w.Window })},
		{"congestion", one(func(w *plan.Workload) { w.Congestion = f.congestion })},
		{"zero-copy", one(func(w *plan.Workload) { w.ZeroCopy = f.zeroCopy })},
		{"skip-rx-copy", one(func(w *plan.Workload) { w.SkipRxCopy = f.skipRxCopy })},
		{"reverse", one(func(w *plan.Workload) { w.Reverse = f.reverse })},
		{"bandwidth", bandwidth},
		{"gso", one(func(w *plan.Workload) { w.GSO = f.gso })},
		{"request-size", sizes("request-size", []string{f.request}, func(w *plan.Workload) *plan.Size { return &w.RequestSize })},
		{"response-size", sizes("response-size", []string{f.response}, func(w *plan.Workload) *plan.Size { return &w.ResponseSize })},
		{"rate", rate},
		{"no-keep-alive", one(func(w *plan.Workload) { w.NoKeepAlive = f.noKeepAlive })},
	} {
		if !given(o.name) {
			continue
		}
		sets, err := o.sets()
		if err != nil {
			return nil, err
		}
		if len(sets) == 0 {
			return nil, usagef("--%s: no value is given", o.name)
		}
		all = append(all, option{o.name, slices.Clip(sets)})
	}
	return all, nil
}
