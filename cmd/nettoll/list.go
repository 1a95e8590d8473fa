package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"nettoll/plan"
)

func (a *app) listCommand() *cobra.Command {
	var of string // whose networks are listed; "" is all
	networks := func(w *tabwriter.Writer) {
		for _, v := range catalogue(engines{cni: a.cni}) {
			for _, t := range v.drivers {
				if name := v.name(t); of == "" || of == v.plan.Name || of == name || of == t.Name || strings.HasPrefix(name, of+"-") || strings.HasPrefix(t.Name, of+"-") {
					fmt.Fprintf(w, "%s\t%s\t%s\n", name, v.planned(t).Span(), t.About)
				}
			}
		}
	}
	lists := map[string]func(*tabwriter.Writer){
		"networks":   networks,
		"techniques": networks,
		"workloads": func(w *tabwriter.Writer) {
			names, by := workloads()
			for _, name := range names {
				fmt.Fprintf(w, "%s\tby %s\n", name, strings.Join(by[name], ", "))
			}
		},
		"tools": func(w *tabwriter.Writer) {
			for _, t := range tools(a.paths) {
				kind := "built in"
				if t.Probe != nil {
					kind = "a separate program; see nettoll doctor"
				}
				kind += thisKernel.held(t)
				fmt.Fprintf(w, "%s\t%s\n", t.Name, kind)
			}
		},
		"platforms": func(w *tabwriter.Writer) {
			for _, v := range platforms() {
				about := v.about + ", the default"
				if v.with != "" {
					about = v.about + " (" + v.with + ")"
				}
				fmt.Fprintf(w, "%s\t%s\n", v.plan.Name, about)
			}
		},
		"instances": func(w *tabwriter.Writer) {
			fmt.Fprintln(w, "instance\tprovider\tUSD/h\tnetwork as advertised\tunderlay")
			for _, i := range known(a.paths, a.cni, false, false).Instances {
				shape := "write its rate: " + i.Name + ":rate=1gbit"
				if i.Rate > 0 {
					shape = plan.Underlay{Instance: i.Name, Rate: i.Rate}.String()
				}
				fmt.Fprintf(w, "%s\t%s\t%g\t%s\t%s\n", i.Name, i.Provider, i.Price, i.Network, shape)
			}
		},
		"suites": func(w *tabwriter.Writer) {
			for _, name := range plan.Names() {
				if s, err := plan.Embedded(name); err == nil {
					fmt.Fprintf(w, "%s\t%s\n", name, s.About)
				}
			}
		},
	}
	names := []string{"networks", "techniques", "workloads", "tools", "platforms", "suites", "instances"}
	return &cobra.Command{
		Use:   "list networks [PLATFORM|NAME]|workloads|tools|platforms|suites|instances",
		Short: "List what nettoll knows",
		Example: `  nettoll list networks            everything that can be measured, also: list techniques
  nettoll list networks docker     the networks of one platform
  nettoll list networks calico     the networks called calico-...
  nettoll list suites`,
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			switch {
			case len(args) == 0:
				return names, cobra.ShellCompDirectiveNoFileComp
			case len(args) == 1 && args[0] == "networks":
				return append(platformNames(), networkNames()...), cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("list what? networks, workloads, tools, platforms, suites or instances")
			}
			if lists[args[0]] == nil {
				return usagef("cannot list %q; there are networks, workloads, tools, platforms, suites and instances%s", args[0], nearest(args[0], names))
			}
			if narrow := args[0] == "networks" || args[0] == "techniques"; len(args) > 2 || len(args) == 2 && !narrow {
				return usagef("list %s: leave out %q", args[0], args[len(args)-1])
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				of = args[1]
			}
			var text strings.Builder
			w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
			lists[args[0]](w)
			if err := w.Flush(); err != nil {
				return err
			}
			if text.Len() == 0 {
				return usagef("list %s: no network or platform is called %[2]q; nettoll list %[1]s shows all%[3]s", args[0], of, nearest(of, slices.Concat(networkNames(), platformNames())))
			}
			_, err := io.WriteString(a.stdout, text.String())
			return err
		},
	}
}
