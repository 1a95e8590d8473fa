package weave_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"

	"nettoll/internal/nl"
	"nettoll/internal/program"
	"nettoll/internal/testutil"
	"nettoll/internal/testutil/iferr"
	"nettoll/network/weave"
)

// The fake weaver is this test program, run again. It makes weaver's devices on a host and answers
// as configured, so that faults can be produced at will; it carries no packets. It is never
// measured.
const fakeDir = "NETTOLL_TEST_FAKE_WEAVER" // the folder with its answers

func TestMain(m *testing.M) {
	if dir := os.Getenv(fakeDir); dir != "" {
		if err := fakeWeaver(dir, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, "FATA: 2021/01/25 14:03:44.000000", err)
			os.Exit(1)
		}
		return
	}
	testutil.Main(m)
}

// fake is a fake weaver under the test's control.
type fake struct {
	t   *testing.T
	dir string
}

// newFake returns a fake weaver that reports the given version, and connection for all its
// connections.
func newFake(t *testing.T, version, connection string) fake {
	t.Helper()
	f := fake{t, t.TempDir()}
	f.put("version", version)
	f.says(connection)
	self, err := os.Executable()
	iferr.Fatal(t, err)
	f.put("weaver", fmt.Sprintf("#!/bin/sh\n%s='%s' exec '%s' \"$@\"\n", fakeDir, f.dir, self))
	return f
}

func (f fake) put(name, text string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o755); err != nil {
		f.t.Fatal(err)
	}
}

// says changes the text that follows "-> 198.18.0.1:6783 " for all connections.
func (f fake) says(connection string) {
	f.t.Helper()
	f.put("connection.new", connection)
	if err := os.Rename(filepath.Join(f.dir, "connection.new"), filepath.Join(f.dir, "connection")); err != nil {
		f.t.Fatal(err)
	}
}

func (f fake) paths() program.Paths { return program.Paths{"weaver": filepath.Join(f.dir, "weaver")} }

// fakeWeaver is the program's main function.
func fakeWeaver(dir string, args []string) error {
	read := func(name string) string {
		b, _ := os.ReadFile(filepath.Join(dir, name))
		return string(b)
	}
	if slices.Equal(args, []string{"--version"}) {
		fmt.Println(read("version"))
		return nil
	}
	flags := flag.NewFlagSet("weaver", flag.ContinueOnError)
	for _, on := range []string{"no-fastdp", "no-dns", "no-discovery"} {
		flags.Bool(on, false, "")
	}
	for _, value := range []string{"datapath", "port", "nickname", "docker-api", "ipalloc-range", "db-prefix"} {
		flags.String(value, "", "")
	}
	host, control, mtu, name := flags.String("host", "", ""), flags.String("http-addr", "", ""), flags.Int("mtu", 0, ""), flags.String("name", "", "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if refusal := read("refusal"); refusal != "" {
		return errors.New(refusal)
	}
	mac, err := net.ParseMAC(*name)
	if err != nil {
		return err
	}
	if err := fakeBridge(mac, *mtu); err != nil {
		return err
	}
	if err := os.WriteFile("restart.sentinel", nil, 0o644); err != nil {
		return err
	}
	fmt.Println(read("log"))
	http.HandleFunc("/status/connections", func(w http.ResponseWriter, _ *http.Request) {
		said := read("connection")
		for i := range 3 {
			if peer := fmt.Sprintf("198.18.0.%d", i+1); peer != *host {
				fmt.Fprintf(w, "-> %-21s %s\n", peer+":6783", said)
			}
		}
	})
	http.HandleFunc("/report", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept") != "application/json" { // a format other than JSON is a template
			http.Error(w, "no template", http.StatusBadRequest)
			return
		}
		type route struct{ Dest, Via string }
		var routes []route
		for i := range 3 {
			if dest := fmt.Sprintf("7a:00:00:00:00:%02x", i+1); dest == *name || read("unrouted") == "" {
				routes = append(routes, route{dest, "00:00:00:00:00:00"})
			}
		}
		json.NewEncoder(w).Encode(map[string]any{"Version": "2.8.1", "Router": map[string]any{"UnicastRoutes": routes}})
	})
	return http.ListenAndServe(*control, nil)
}

// fakeBridge makes a weaver's devices and some of its rules.
func fakeBridge(mac net.HardwareAddr, mtu int) error {
	err := nl.With("", func(n *nl.NS) error {
		attrs := netlink.NewLinkAttrs()
		attrs.Name, attrs.MTU, attrs.HardwareAddr = weave.Bridge, mtu, mac
		if err := n.Add(&netlink.Bridge{LinkAttrs: attrs}); err != nil {
			return err
		}
		if err := n.AddPair(weave.BridgeEnd, "/proc/self/ns/net", weave.PcapEnd, mtu); err != nil {
			return err
		}
		if err := n.Master(weave.BridgeEnd, weave.Bridge); err != nil {
			return err
		}
		return n.Up(weave.Bridge, weave.BridgeEnd, weave.PcapEnd)
	})
	const guard = "-I INPUT -p tcp --dst 127.0.0.1 --dport 6784 -m addrtype ! --src-type LOCAL -m conntrack ! --ctstate RELATED,ESTABLISHED -m comment --comment"
	for _, rule := range []string{
		"-N WEAVE-EXPOSE", "-I FORWARD -o weave -j WEAVE-EXPOSE", "-I FORWARD -i weave -o weave -j ACCEPT",
		"-t nat -N WEAVE", "-t nat -A POSTROUTING -j WEAVE",
		"-N WEAVE-CANARY", "-t nat -N WEAVE-CANARY", "-t mangle -N WEAVE-CANARY",
	} {
		if err != nil {
			break
		}
		err = exec.Command("iptables", append([]string{"-w"}, strings.Fields(rule)...)...).Run()
	}
	if err == nil {
		args := append([]string{"-w"}, strings.Fields(guard)...)
		err = exec.Command("iptables", append(args, "Block non-local access to Weave Net control port", "-j", "DROP")...).Run()
	}
	return err
}
