package ovs

import (
	"regexp"
	"strings"
)

// logging sends the daemons' logs to us and nowhere else, without the time, so that what is said
// twice can be told.
var logging = []string{"-vsyslog:off", "-vfile:off", "-vconsole:info", "-vPATTERN:console:%c|%p|%m"}

// complaint tells what is wrong with the datapath from the rest of a log.
func (t variant) complaint(line string) bool {
	level := strings.Contains(line, "|ERR|") || strings.Contains(line, "|WARN|")
	return level && !harmless.MatchString(line) && !(t.ports == internal && moved.MatchString(line))
}

var (
	// harmless is said of a machine that is busy, of a kernel datapath that nobody has asked for,
	// and of a limit that does not bind whoever may open AF_XDP sockets.
	harmless = regexp.MustCompile(`^(timeval|ovs_rcu|poll_loop|coverage)\b|` +
		`failed to enumerate system datapaths|setrlimit\(RLIMIT_MEMLOCK\)|Dropped \d+ log messages`)
	// moved is said of an internal port that is in its container now. It works there.
	moved = regexp.MustCompile(`: No such device$`)
)
