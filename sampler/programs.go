package sampler

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Program is a BPF program that the kernel has loaded.
type Program struct {
	ID   uint32 `json:"id"`
	Name string `json:"name"` // at most 15 characters; "" if it has none
	Type string `json:"type"` // as bpftool names it, such as sched_cls
	Runs uint64 `json:"runs"` // how often it has run while somebody had runs counted
}

// bpfTypes are the types of programs in the order of enum bpf_prog_type in <linux/bpf.h>.
var bpfTypes = []string{
	"unspec", "socket_filter", "kprobe", "sched_cls", "sched_act", "tracepoint", "xdp", "perf_event", "cgroup_skb", "cgroup_sock",
	"lwt_in", "lwt_out", "lwt_xmit", "sock_ops", "sk_skb", "cgroup_device", "sk_msg", "raw_tracepoint", "cgroup_sock_addr",
	"lwt_seg6local", "lirc_mode2", "sk_reuseport", "flow_dissector", "cgroup_sysctl", "raw_tracepoint_writable", "cgroup_sockopt",
	"tracing", "struct_ops", "ext", "lsm", "sk_lookup", "syscall", "netfilter",
}

// bpf is the system call bpf. attr is the beginning of union bpf_attr.
func bpf(command uintptr, attr unsafe.Pointer, size uintptr) (int, error) {
	for {
		r, _, code := unix.Syscall(unix.SYS_BPF, command, uintptr(attr), size)
		switch code {
		case 0:
			return int(r), nil
		case unix.EINTR, unix.EAGAIN:
		default:
			return 0, code
		}
	}
}

// Programs lists the programs of all network namespaces, in the order of their IDs. That takes CAP_SYS_ADMIN.
func Programs() (all []Program, err error) {
	var id uint32
	for {
		next := struct{ start, next, flags uint32 }{start: id}
		_, err := bpf(unix.BPF_PROG_GET_NEXT_ID, unsafe.Pointer(&next), unsafe.Sizeof(next))
		if errors.Is(err, unix.ENOENT) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("sampler: list BPF programs: %w", err)
		}
		id = next.next
		one, err := program(id)
		if errors.Is(err, unix.ENOENT) { // it was removed meanwhile
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("sampler: read BPF program %d: %w", id, err)
		}
		all = append(all, one)
	}
}

// program reads a program.
func program(id uint32) (p Program, err error) {
	open := struct{ id, next, flags uint32 }{id: id}
	fd, err := bpf(unix.BPF_PROG_GET_FD_BY_ID, unsafe.Pointer(&open), unsafe.Sizeof(open))
	if err != nil {
		return p, err
	}
	defer unix.Close(fd)
	info := new(struct { // bpf_prog_info
		kind, id            uint32
		tag                 [8]byte
		jitedLen, xlatedLen uint32
		_                   [3]uint64 // jited_prog_insns to load_time
		createdBy, maps     uint32
		mapIDs              uint64
		name                [16]byte
		ifindex, flags      uint32
		netnsDev, netnsIno  uint64
		_                   [2]uint32 // nr_jited_ksyms, nr_jited_func_lens
		_                   [2]uint64
		_                   [2]uint32 // btf_id, func_info_rec_size
		_                   uint64
		_                   [2]uint32 // nr_func_info, nr_line_info
		_                   [2]uint64
		_                   [4]uint32 // nr_jited_line_info to nr_prog_tags
		_                   uint64
		runTime, runs       uint64
	})
	var pinned runtime.Pinner // the address is in a number
	pinned.Pin(info)
	defer pinned.Unpin()
	ask := struct {
		fd, size uint32
		info     uint64
	}{uint32(fd), uint32(unsafe.Sizeof(*info)), uint64(uintptr(unsafe.Pointer(info)))}
	if _, err := bpf(unix.BPF_OBJ_GET_INFO_BY_FD, unsafe.Pointer(&ask), unsafe.Sizeof(ask)); err != nil {
		return p, err
	}
	p = Program{ID: id, Name: unix.ByteSliceToString(info.name[:]), Type: "type " + strconv.Itoa(int(info.kind)), Runs: info.runs}
	if int(info.kind) < len(bpfTypes) {
		p.Type = bpfTypes[info.kind]
	}
	return p, nil
}

// runCount has the kernel count how often programs run, which costs each run some nanoseconds.
type runCount struct {
	mu   sync.Mutex
	fd   int // the kernel counts while it is open
	ends *time.Timer
}

// countTime is how long runs are counted if nobody ends it.
const countTime = time.Minute

// read has runs counted, unless that is so already, and lists the programs. That takes CAP_SYS_ADMIN, and Linux 5.8. With on=false,
// it ends the counting, and lists nothing.
func (r *runCount) read(on bool) ([]Program, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !on {
		r.end()
		return nil, nil
	}
	if r.ends == nil {
		var kind uint32 // BPF_STATS_RUN_TIME
		fd, err := bpf(unix.BPF_ENABLE_STATS, unsafe.Pointer(&kind), unsafe.Sizeof(kind))
		if errors.Is(err, unix.EINVAL) {
			err = errors.New("the kernel cannot do that before Linux 5.8")
		}
		if err != nil {
			return nil, fmt.Errorf("sampler: count runs of BPF programs: %w", err)
		}
		r.fd = fd
		r.ends = time.AfterFunc(countTime, func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.end()
		})
	}
	return Programs()
}

func (r *runCount) end() {
	if r.ends != nil {
		r.ends.Stop()
		r.ends = nil
		unix.Close(r.fd)
	}
}
