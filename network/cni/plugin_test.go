package cni_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/network/cni"
	"nettoll/platform/lab"
)

// Parts of test plugins: adds ignores all commands except ADD, makes makes a device, and gives
// gives it an address.
const (
	adds  = `[ "$CNI_COMMAND" = ADD ] || exit 0; `
	makes = adds + `
nsenter --net="$CNI_NETNS" ip link add eth0 type veth peer name other
nsenter --net="$CNI_NETNS" ip link set eth0 up
`
	gives = `nsenter --net="$CNI_NETNS" ip addr add 10.1.0.${CNI_CONTAINERID##*c}/16 dev eth0; echo '{"cniVersion": "1.0.0"}'`
)

// script writes a plugin that supports version 1.0.0 and runs body on every command other than
// VERSION. It returns the folder.
func script(t *testing.T, name, body string) string {
	t.Helper()
	dir := t.TempDir()
	text := `#!/bin/sh
if [ "$CNI_COMMAND" = VERSION ]; then echo '{"cniVersion": "1.0.0", "supportedVersions": ["1.0.0"]}'; exit; fi
echo "$CNI_COMMAND $CNI_CONTAINERID" >>"${0%/*}/calls"
` + body + "\n"
	iferr.Fatal(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755))
	return dir
}

func conflist(t *testing.T, version, plugin string) *cni.Conflist {
	t.Helper()
	list, err := cni.Load(write(t, fmt.Sprintf(`{"name": "mine", "cniVersion": %q, "plugins": [{"type": %q}]}`, version, plugin)))
	iferr.Fatal(t, err)
	return list
}

var pair = network.Topology{Hosts: 1, Servers: 1, Clients: 1}

func TestPluginsThatFail(t *testing.T) {
	ids := map[string]bool{}
	for body, want := range map[string]string{
		adds + `echo '{"cniVersion": "1.0.0", "code": 100, "msg": "no tunnels left", "details": "4 of 4"}'; exit 1`: "no tunnels left; 4 of 4",
		adds + `echo "panic: one" >&2; echo two >&2; exit 2`:                                                        "exit status 2: panic: one | two",
		adds + `echo no JSON; exit 3`:          "exit status 3: no JSON",
		adds + `exit 4`:                        "exit status 4, and it said nothing",
		adds + `exec sleep 60`:                 "it did not end within PATIENCE",
		adds + `sleep 60 & sleep 60`:           "it did not end within PATIENCE",
		adds + `yes | head -c 3000000; exit 0`: "it wrote more than 1048576 bytes",
		adds:                                   "failed to unmarshal raw result: unexpected end of JSON input",
		adds + `echo '{"cniVersion": "1.0.0", "ips": [null]}'`: "its result has null among ips, interfaces or routes",
	} {
		err := failure(t, body, want, 700*time.Millisecond, ids)
		if err != nil && strings.Contains(body, "sleep") { // on a busy machine, it has not been called by then
			err = failure(t, body, want, 20*time.Second, ids)
		}
		iferr.Error(t, err)
	}
}

// failure connects a pair by a plugin that fails, and returns what is not as it should be. A plugin that sleeps has the given
// time, which want calls PATIENCE. ids are those of containers so far.
func failure(t *testing.T, body, want string, patience time.Duration, ids map[string]bool) error {
	t.Helper()
	in := cni.Folders{script(t, "broken", body)}
	tech := cni.New(conflist(t, "1.0.0", "broken"), in)
	if strings.Contains(body, "sleep") {
		tech = cni.Hurried(conflist(t, "1.0.0", "broken"), in, patience)
	}
	n, err := tech.Connect(t.Context(), pair, lab.New())
	if err == nil {
		n.Close(context.Background())
	}
	want = `h1c1: plugin type="broken" failed (add): ` + strings.ReplaceAll(want, "PATIENCE", patience.String())
	if err == nil || err.Error() != want {
		return fmt.Errorf("%s:\n%v, want\n%s", body, err, want)
	}
	calls, err := os.ReadFile(filepath.Join(in[0], "calls"))
	said := strings.Fields(string(calls))
	if err != nil || len(said) != 4 || said[0] != "ADD" || said[2] != "DEL" || said[1] != said[3] || !strings.HasSuffix(said[1], "-h1c1") || ids[said[1]] {
		return fmt.Errorf("%s: the calls were %q, %v", body, calls, err)
	}
	ids[said[1]] = true // plugins keep state by it, and several networks can stand at once
	return nil
}

// A process that a plugin leaves running may hold its outputs open.
func TestPluginThatLeavesAProcess(t *testing.T) {
	in := cni.Folders{script(t, "broken", `setsid sleep 60 & echo '{"cniVersion": "1.0.0"}'`)}
	_, err := cni.New(conflist(t, "1.0.0", "broken"), in).Connect(t.Context(), pair, lab.New())
	if want := "h1c1: the plugins made no device eth0"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestPluginsThatDoNotWhatTheySay(t *testing.T) {
	for body, want := range map[string]string{
		makes + `echo '{"cniVersion": "1.0.0"}'`: "h1c1: the plugins gave eth0 no address; the conflist may lack an ipam",
		makes + `nsenter --net="$CNI_NETNS" ip addr add 10.1.0.2/16 dev eth0; echo '{"cniVersion": "1.0.0", "ips": [{"address": "10.1.0.3/16"}]}'`:                 "h1c1: the plugins report the address 10.1.0.3, but eth0 does not have it",
		makes + `nsenter --net="$CNI_NETNS" ip addr add 10.1.0.2/16 dev eth0; echo '{"cniVersion": "1.0.0", "ips": [{"address": "10.1.0.2/16", "interface": 3}]}'`: "h1c1: result of the plugins: address 10.1.0.2 belongs to interface 3 of 0",
	} {
		in := cni.Folders{script(t, "liar", body)}
		_, err := cni.New(conflist(t, "1.0.0", "liar"), in).Connect(t.Context(), pair, lab.New())
		if err == nil || err.Error() != want {
			t.Errorf("%s:\n%v, want\n%s", body, err, want)
		}
	}
}

func TestPluginOfAnotherVersion(t *testing.T) {
	in := cni.Folders{script(t, "old", "exit 1")}
	_, err := cni.New(conflist(t, "1.1.0", "old"), in).Connect(t.Context(), pair, lab.New())
	if want := `plugin old does not support config version "1.1.0"`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if _, err := os.Stat(filepath.Join(in[0], "calls")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the plugin was called: %v", err)
	}
}
