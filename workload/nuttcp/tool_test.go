package nuttcp

import (
	"testing"

	"nettoll/internal/testutil"
	"nettoll/record"
	"nettoll/workload/workloadtest"
)

func TestMain(m *testing.M) { testutil.Main(m) }

func TestConform(t *testing.T) { workloadtest.Conform(t, Tool, "-S --nofork") }

func TestArguments(t *testing.T) {
	const head, server = "-4 -P 20002 -p 20003 -fparse -vv -i1 -T3 ", "-4 -S --nofork --no3rdparty -P 20002"
	workloadtest.Arguments(t, Tool, []workloadtest.Commands{
		{"stream", job(record.TCPStream, record.Options{}), server, head + "198.18.0.1"},
		{"stream over IPv6", job(record.TCPStream, record.Options{}, workloadtest.Pair("c", "s", "2001:2::1")), "-6" + server[2:], "-6" + head[2:] + "2001:2::1"},
		{"stream back", job(record.TCPStream, record.Options{Reverse: true}), server, head + "-r -F 198.18.0.1"},
		{"stream with all", job(record.TCPStream, record.Options{MessageSize: 4096, Window: 128 << 10}), server, head + "-l4096 -w128 -ws128 198.18.0.1"},
		{"a window that is no multiple", job(record.TCPStream, record.Options{Window: 1025}), server, head + "-w2 -ws2 198.18.0.1"},
		{"datagrams", job(record.UDPStream, record.Options{}), server, head + "-u -Ru -l1400 198.18.0.1"},
		{"datagrams paced", job(record.UDPStream, record.Options{MessageSize: 1000, Bandwidth: 40e6}), server, head + "-u -R40000 -l1000 198.18.0.1"},
		{"datagrams at a snail's pace", job(record.UDPStream, record.Options{Bandwidth: 100}), server, head + "-u -R1 -l1400 198.18.0.1"},
	})
}
