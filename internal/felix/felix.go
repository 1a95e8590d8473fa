// Package felix runs felix, Calico's daemon, on hosts, and reads what it has written there.
package felix

import (
	"strings"
	"time"

	"nettoll/internal/daemon"
	"nettoll/platform"
)

// Program is the program calico-felix.
var Program = daemon.Program{Name: "calico-felix", Get: "make tools"}

// Programs are what felix needs, and what reads its rules.
var Programs = []daemon.Program{
	Program,
	{Name: "ipset", Get: platform.Install("ipset"), InPath: true},
	{Name: save4, Get: platform.Install("iptables"), InPath: true},
	{Name: save6, Get: platform.Install("iptables"), InPath: true},
}

// State is where a machine that has Calico itself keeps files for its CNI plugin, which another felix must not change.
const State = "/var/lib/calico"

// patience is how long felix may take to be ready: it reads all of its datastore and writes hundreds of rules.
const patience = 50 * time.Second

// Spec describes felix on a host. datastore are the variables of the environment that say where its configuration is. It is
// not known when it is ready.
func Spec(path, host string, datastore ...string) daemon.Spec {
	return daemon.Spec{
		Name: "felix", Path: path, Patience: patience, Complaint: complaint,
		Env: append(datastore,
			"FELIX_FELIXHOSTNAME="+host,
			"FELIX_LOGSEVERITYSCREEN=WARNING", "FELIX_LOGFILEPATH=none", "FELIX_LOGSEVERITYSYS=none",
			// Tables of nf_tables can be listed, so that those which felix makes can be removed.
			"FELIX_IPTABLESBACKEND=nft",
			"FELIX_USAGEREPORTINGENABLED=false", "FELIX_HEALTHENABLED=false",
			"FELIX_BPFENABLED=false", "FELIX_XDPENABLED=false",
		),
	}
}

// complaint reports whether a line of felix's log is an error that matters. Felix also logs errors when it
// cannot clean up after an earlier felix (BPF programs, tracked connections), although there was none.
func complaint(line string) bool {
	return strings.Contains(line, "[ERROR]") && !strings.Contains(line, "bpftool") && !strings.Contains(line, "conntrack")
}
