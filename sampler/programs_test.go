package sampler

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"nettoll/internal/testutil/bpfprogram"
	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/machine"
)

// TestRunsOfPrograms has a program run, which filters what a socket receives. This process has runs counted only between the calls that
// say so: the kernel counts on as long as another one wants it, such as that of a test on a cluster.
func TestRunsOfPrograms(t *testing.T) {
	filter, idle := bpfprogram.Load(t, unix.BPF_PROG_TYPE_SOCKET_FILTER, "nettoll_filter", -1), bpfprogram.Load(t, unix.BPF_PROG_TYPE_SCHED_CLS, "nettoll_idle", 0)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	iferr.Fatal(t, err)
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	iferr.Fatal(t, unix.SetsockoptInt(pair[1], unix.SOL_SOCKET, unix.SO_ATTACH_BPF, filter))
	send := func(times int) {
		t.Helper()
		for range times {
			_, err := unix.Write(pair[0], []byte{1})
			iferr.Fatal(t, err)
			_, err = unix.Read(pair[1], make([]byte, 1))
			iferr.Fatal(t, err)
		}
	}
	var counts runCount
	find := func(name string) Program {
		t.Helper()
		all, err := Programs()
		iferr.Fatal(t, err)
		slices.Reverse(all) // the kernel may not have removed those of a test before yet
		i := slices.IndexFunc(all, func(p Program) bool { return p.Name == name })
		if i < 0 {
			t.Fatalf("%s is not among %+v", name, all)
		}
		return all[i]
	}
	_, err = counts.read(true)
	iferr.Fatal(t, err)
	before := find("nettoll_filter")
	const counting = "anon_inode:bpf-stats" // the file that has the kernel count
	if n := machine.Descriptors(t, counting); n != 1 {
		t.Errorf("%d files have runs counted", n)
	}
	send(7)
	listed, err := counts.read(true)
	iferr.Fatal(t, err)
	after, other := find("nettoll_filter"), find("nettoll_idle")
	if !slices.Contains(listed, after) {
		t.Errorf("%+v is not among %+v", after, listed)
	}
	if none, err := counts.read(false); none != nil || err != nil {
		t.Errorf("%+v, %v", none, err)
	}
	if after.Runs-before.Runs != 7 || after.Type != "socket_filter" {
		t.Errorf("before: %+v, after: %+v", before, after)
	}
	if other.Runs != 0 || other.Type != "sched_cls" {
		t.Errorf("%+v, file descriptor %d", other, idle)
	}
	if n := machine.Descriptors(t, counting); n != 0 || counts.ends != nil {
		t.Errorf("runs are still counted: %d files, %v", n, counts.ends)
	}
}
