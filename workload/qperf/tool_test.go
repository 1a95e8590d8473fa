package qperf

import (
	"testing"

	"nettoll/internal/testutil"
	"nettoll/record"
	"nettoll/workload/workloadtest"
)

func TestMain(m *testing.M) { testutil.Main(m) }

func TestConform(t *testing.T) { workloadtest.Conform(t, Tool, "") }

func TestArguments(t *testing.T) {
	const head, head6, rest = "198.18.0.1 -lp 20002 -ip 20003 -ws 1 ", "2001:2::1 -lp 20002 -ip 20003 -ws 1 ", "-t 1 -uu -ub -un -e 12 -vvs -vvt -vvu "
	job := workloadtest.Job
	workloadtest.Arguments(t, Tool, []workloadtest.Commands{
		{"stream", job(record.TCPStream, record.Options{}), "-lp 20002", head + rest + "tcp_bw"},
		{"stream with all", job(record.TCPStream, record.Options{MessageSize: 4096, Window: 131072}), "-lp 20002", head + rest + "-m 4096 -sb 131072 tcp_bw"},
		{"rr", job(record.TCPRR, record.Options{}), "-lp 20002", head + rest + "-m 1 tcp_lat"},
		{"datagrams", job(record.UDPStream, record.Options{}), "-lp 20002", head + rest + "-m 1400 udp_bw"},
		{"datagrams with size", job(record.UDPStream, record.Options{MessageSize: 100}), "-lp 20002", head + rest + "-m 100 udp_bw"},
		{"rr in datagrams", job(record.UDPRR, record.Options{Window: 4096}, workloadtest.Pair("c", "s", "2001:2::1")), "-lp 20002", head6 + rest + "-m 1 -sb 4096 udp_lat"},
	})
}
