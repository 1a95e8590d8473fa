package bootstrap

import (
	"fmt"
	"strings"
)

// What the script says, each on a line of its own after the mark.
const (
	saysMachine = "machine" // KIND, as uname -m names it
	saysBy      = "by"      // SSH_CONNECTION, or nothing
	saysSend    = "send"    // the program can be sent
	saysFail    = "fail"    // CODE [DETAIL...]
	saysHello   = "hello"   // the agent itself, which runs
)

// Codes of failures.
const (
	lacksProgram = "lacks"   // NAME of a program that the script needs
	noProc       = "noproc"  // there is no /proc
	noPlace      = "noplace" // FOLDER:REASON,...: no folder takes the program
	wrongSum     = "sum"     // what arrived is not what was sent
)

// Reasons why a folder does not take the program.
const (
	closed = "closed" // nothing can be made there
	noExec = "noexec" // programs there cannot be started
	noRoom = "noroom" // it does not fit
)

// Needs returns the programs that Script runs, besides the shell.
func Needs() []string {
	return []string{"head", "gzip", "sha256sum", "mktemp", "chmod", "rm", "cat", "uname"}
}

// script is what sh runs on the other machine. It is one line without single quotes, backslashes or exclamation
// marks, so that every login shell passes it on as it is. It asks for the program only where an executable file can
// be made, and asks again in the next folder if it did not fit. The agent starts from a file that has no name any
// more: by /proc, which needs the file to be on a file system that allows programs. head may read more than it was asked
// for, but nothing is lost by that, since nothing is sent after the program before the script has answered. The shell
// has the file open all the time, which shows that the folder is in use: see Folders. It is not ended by SIGPIPE, so that it
// removes the folder also if the connection has gone, and it asks for what nobody will send. (A Go program has its own
// handler of that signal, so the agent and its programs do not inherit this.)
var script = strings.Join([]string{
	`m=MARK; u=$(umask); umask 077; trap "" PIPE; echo; echo "$m ` + saysMachine + ` $(uname -m)"; echo "$m ` + saysBy + ` ${1:-$SSH_CONNECTION}"`,
	`for p in head gzip sha256sum mktemp chmod rm cat; do command -v $p >/dev/null || { echo "$m ` + saysFail + ` ` + lacksProgram + ` $p"; exit 1; }; done`,
	`[ -e /proc/self/exe ] || { echo "$m ` + saysFail + ` ` + noProc + `"; exit 1; }`,
	`w=`,
	`for p in PLACES; do ` + strings.Join([]string{
		`d=$(mktemp -d "$p/nettoll-XXXXXX" 2>/dev/null) || { w="$w$p:` + closed + `,"; continue; }`,
		`: 2>/dev/null >"$d/a"`,
		`exec 8<"$d/a"`,
		`chmod 700 "$d/a"`,
		`"$d/a" 2>/dev/null || { w="$w$p:` + noExec + `,"; rm -rf "$d"; continue; }`, // an empty script
		`echo "$m ` + saysSend + `"`,
		`read n h || { rm -rf "$d"; exit 1; }`,
		`head -c "$n" | { gzip -dc 2>/dev/null >"$d/a" || { cat >/dev/null; false; }; } || { w="$w$p:` + noRoom + `,"; rm -rf "$d"; continue; }`,
		`s=$(sha256sum <"$d/a")`,
		`[ "${s%% *}" = "$h" ] || { rm -rf "$d"; echo "$m ` + saysFail + ` ` + wrongSum + `"; exit 1; }`,
		`exec 9<"$d/a" 8<&-`,
		`rm -rf "$d"`,
		`cd /`,
		`umask "$u"`,
		`exec /proc/self/fd/9 agent injected "$m"`,
	}, "; ") + `; done`,
	`echo "$m ` + saysFail + ` ` + noPlace + ` $w"`,
	`exit 1`,
}, "; ")

// places are the folders that are tried, in this order. Those in memory come first.
var places = []string{"/run", "/tmp", "/var/tmp", home, "/dev/shm"}

// home stands for the user's own folder.
const home = `"${HOME:-/}"`

// Script returns what sh runs on the other machine, as the argument of its option -c. The mark tells its lines, and the
// agent's, from those that a login shell prints. sudo hides the environment: then the value of SSH_CONNECTION is the first
// argument.
func Script(mark string) string { return scriptIn(mark, strings.Join(places, " ")) }

func scriptIn(mark, places string) string {
	return strings.NewReplacer("MARK", mark, "PLACES", places).Replace(script)
}

// failure returns what a failure of the script means.
func failure(code, detail string) error {
	switch code {
	case lacksProgram:
		return fmt.Errorf("there is no program %s, which receiving the agent takes; install it there", detail)
	case noProc:
		return fmt.Errorf("/proc is not mounted there")
	case wrongSum:
		return fmt.Errorf("the agent did not arrive as it was sent: its SHA-256 differs")
	case noPlace:
		return fmt.Errorf("no folder takes the agent: %s; make room in one of them, or mount one without noexec", reasons(detail))
	}
	return fmt.Errorf("it fails with %s %s", code, detail)
}

// reasons returns why folders were refused, as text.
func reasons(list string) string {
	var all []string
	for one := range strings.SplitSeq(strings.TrimSuffix(list, ","), ",") {
		at := strings.LastIndex(one, ":")
		if at < 0 {
			continue
		}
		said := map[string]string{closed: "cannot be written to", noExec: "does not let programs run", noRoom: "has no room"}[one[at+1:]]
		all = append(all, one[:at]+" "+said)
	}
	return strings.Join(all, ", ")
}
