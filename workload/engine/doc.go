// Package engine is nettoll's own traffic generator. Its design keeps its own cost out of the figures
// as far as possible.
//
// # The two halves
//
// Tool, made by New, plans a trial and orchestrates it; Handlers are the half that works inside an
// agent, where the sockets are. A trial has these phases:
//
//	compare   clocks of ends on different machines are compared, over the network
//	serve     every server listens, with a cookie made for this trial
//	connect   every client makes all its flows; each begins with the cookie
//	          and is acknowledged when the server's thread for it is ready
//	align     every agent is asked for its clock
//	start     all begin at the same time: warm-up, then the window
//	steady    every agent is asked for its clock again: none may have jumped
//	stop      clients first; connections are reset, so that nothing of this trial
//	          is still in flight during the next
//	alike     after turns, clocks of ends on different machines are compared again
//
// # A flow
//
// A flow is one connection, or in UDP two sockets that send to each other. At either end it has one
// operating system thread, pinned if requested, which makes blocking system calls on a plain socket
// and nothing else (a receiver of datagrams naps between them, see napTime). A kind (workloads.go)
// has a function for each end that makes one such call; flow.run calls it until the flow is
// stopped.
//
// The streams of TCP that a process has on one CPU are the exception: one thread serves them all
// (poller.go). It polls their sockets, which do not block, and makes one such call for each flow
// that is ready before it polls again. Everything else is the same as for a flow with a thread of
// its own; what both do about a call that has returned is in flow.stepped. Streams that are not
// pinned and senders with a given rate keep a thread each.
//
// A workload is a list of kinds for each client:
//
//	tcp_stream          stream.go     an upload, or a download
//	tcp_bidir           bidir.go      an upload and a download
//	tcp_rr              rr.go         an exchange of requests and responses
//	paced_rr            paced.go      the same, when they are due
//	latency_under_load  underload.go  an exchange among uploads
//	tcp_crr             crr.go        a connection for each exchange
//	udp_stream          udpstream.go  datagrams; tally.go counts those that are lost
//	udp_rr              udprr.go      an exchange of datagrams
//	http                http.go       requests of a web client to a web server
//
// The loop stays clear of Go's scheduler, which would otherwise add to every latency: system calls
// are raw, so the scheduler does not know that the thread sleeps; nothing is allocated; functions
// of the loop are nosplit, because the stack check at the beginning of any other function is where
// the scheduler preempts a thread that has run for 10 ms. The price is that a sleeping flow keeps
// one of Go's processors. So there are more processors than flows, and nothing that stops the world
// (garbage collection above all) happens until the flows have ended; see process.go. A call that
// waits longer than pollInterval returns, so that the flow notices when it is to stop; flows that
// exchange transactions on one connection have no such timer and are woken by halt. HTTP is the
// exception: it measures programs that run on Go's scheduler.
//
// # The window
//
// All agents have the same window, t0 to t1. All are asked at once, several times, for their
// CLOCK_MONOTONIC; the offset of a clock is known to within half of the time that the fastest
// answer took, and an offset no larger than that time is taken to be zero, as on one machine. Then
// all are told when to begin, by their own clocks, early enough for the slowest. If an agent is told
// too late to keep the window, the trial ends with workload.ErrLate and can be run again.
//
// The end that measures reads the clock after each system call. The edges of the window, and of its
// ten equal parts, are cut by the first call to return at or after them that brought something: the
// data that this call brought is taken to have arrived evenly since the previous such call. So
// payload and rates are off by less than one read at each edge, and a flow that had no CPU for
// longer than the window lasts has the rate of one read in the time that it waited.
//
//   - Streams are measured where the payload arrives. The sender continues until the receiver's
//     window is closed.
//   - Transactions are measured at the client. The latency is from just before the system call that
//     sends the request (or makes its connection) to just after the one that received the last byte
//     of the response (or closed its connection). Which transactions count is described below.
//   - The bytes of datagrams are counted as those of streams. Losses are derived from the numbers
//     of datagrams. The window has the numbers after the highest that had come when it opened, up to
//     the highest that had come when it closed. Those of them that have not come by the end are
//     lost, or were dropped by the receiver's socket: as many as the kernel reports with the
//     datagram after the gap (SO_RXQ_OVFL).
//
// A window closes when it is over and its flow has received something since it opened, and when the
// transaction in progress has ended. A thread without a CPU, a peer without one, and a
// retransmitted segment can delay that, and are waited for: failing such a trial would leave out
// the slow ones and favour whatever network they were measured on. If flows received nothing while
// the window was open, a warning says how many. A flow that receives nothing for lastWait after it
// either is broken and fails the trial, unless many flows share the path; see judge.go.
//
// # Turns
//
// A job can coexist with others and take turns with them: its connections are made once (Stand),
// and its flows run in several turns (Turns), each with time to settle and a window, and sleep
// between them; see turns.go. All agents are told of all turns before the first, so that a window
// contains nothing but the traffic itself. The end that leads, which is the sender of a stream or
// the requester, stops by the clock. A sender continues for overrun after the window, so that a read
// after its end closes it at the receiver; data then in flight has drainTime to arrive, and what does
// not arrive is recorded. A requester signals the end with its last request, since the end that
// answers does not look at a clock. A window in which nothing arrived counts as zero: it is not
// waited for, because the next turn belongs to another network.
//
// # Which transactions count
//
// Transactions that begin in [t0, t1) count, each with all of its latency, including any part after
// t1. Whether one counts does not depend on how long it takes. If only those counted that begin and
// end in the window, one that takes L would count with the probability (W-L)/W, W being t1-t0, and
// a stall as long as the window never would; if all that touch the window counted, the probability
// would be (W+L)/W.
//
// There are two exceptions, so that a flow that stands still is not left out. A transaction that
// began before t0 and ends after t1 is the only one of its flow, and counts; so transactions that
// take longer than W occur as often as their share of time suggests, L/W times as often as they
// begin. Where networks take turns it counts in the first of its flow's windows that count, and
// covers the others: each copy would have all of its latency, most of which was spent in turns of
// other networks. And a thread that had no CPU between two transactions for all of the window counts the
// next one, with nothing covered.
//
// A transaction that has not ended lastWait after the window counts with the age that it has
// reached: it takes at least that long. So do the requests of paced_rr that were due in the window
// and had not been sent when the request in progress at t1 was answered. The number of both is
// recorded (unfinished). Rates count the transactions that ended in the window, and one across an
// edge in proportion.
//
// The loop is closed except for paced_rr: the next transaction begins when the one before has
// ended. A stall is one slow transaction among thousands, though in an open system it would hit
// every request that arrives meanwhile (coordinated omission: Gil Tene, How NOT to measure latency,
// 2013). Percentiles of these latencies are over transactions; for percentiles over time, see the
// analysis, which weights each transaction with its duration. To check both, the share of the
// flows' time in the window during which transactions that count were under way is recorded
// (covered). The rest was spent in transactions that began before the window, on lost datagrams, or
// between transactions without a CPU.
//
// # Strangers
//
// Every connection, and every datagram, carries the trial's cookie or part of it, and anything that
// does not is turned away; connections, greetings, and requests of tcp_crr and http are counted. In tcp_crr the cookie is the beginning of the request, and
// costs no round trip. The first packet always comes from the client, and everything goes to the
// one port of the pair, TCP or UDP.
//
// # Limits of the results
//
// Latencies are kept in an HdrHistogram from 1 ns to one hour with three significant digits: exact
// below 2048 ns, and otherwise rounded up by less than 0.1 %; the mean is that of the histogram.
// The CPU time of a process is exact, but the kernel splits it into user and system by sampling
// ticks. Streams that are pinned to one CPU are served by one thread, as by iperf3 before 3.16; a
// program with a thread for each carries less over one CPU, above all under BBR. Where other
// programs want the same CPU, the one thread has one share of it. Other flows that share a CPU wake
// and switch as several programs would. TCP_INFO is
// that of the sending end, at the end, over the whole connection. Jitter is the mean over the
// window of RFC 3550's running value, from the sender's clock before the system call to the
// kernel's time of arrival; with GSO it is that of batches, and a batch that the socket drops is
// taken to be as large as those that came.
package engine
