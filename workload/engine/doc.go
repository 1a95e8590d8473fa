// Package engine is nettoll's own generator of traffic. It measures a network
// and tries hard not to measure itself.
//
// # The two halves
//
// Tool, made by New, plans a trial and orchestrates it; Handlers are the half
// that works inside an agent, where the sockets are. A trial goes
//
//	serve     every server listens, with a cookie made for this trial
//	connect   every client makes all its flows; each begins with the cookie
//	          and is acknowledged when the server's thread for it is ready
//	align     every agent is asked for its clock
//	start     all begin at one time: warm-up, then the window
//	stop      clients first; connections are reset, so that nothing of this trial
//	          is still in flight during the next
//
// # A flow
//
// A flow is one connection, or in UDP two sockets that know each other. At either
// end it has one operating system thread, pinned if that was asked for, which makes
// blocking system calls on a plain socket and nothing else. A kind (workloads.go) has
// a function for each end that makes one such call; flow.run calls it until told to
// stop. A workload is a list of kinds for each client:
//
//	tcp_stream          stream.go     an upload, or a download
//	tcp_bidir           bidir.go      an upload and a download
//	tcp_rr              rr.go         an exchange of requests and responses
//	paced_rr            paced.go      the same, when they are due
//	latency_under_load  underload.go  an exchange among uploads
//	tcp_crr             crr.go        a connection for each exchange
//	udp_stream          udpstream.go  datagrams; what became of them: tally.go
//	udp_rr              udprr.go      an exchange of datagrams
//	http                http.go       the same of a web client and server
//
// The loop stays clear of Go's scheduler, which would otherwise add to every
// latency: system calls are raw, so the scheduler does not know that the thread
// sleeps; nothing is allocated; functions of the loop are nosplit, because the
// stack check at the beginning of any other is where the scheduler takes a thread
// that has run for 10 ms. The price is that a sleeping flow keeps one of Go's
// processors. So there are more of these than flows, and nothing that stops the
// world (garbage collection above all) happens until the flows have ended; see
// process.go. A call that waits longer than pollInterval returns, so that the flow
// notices that it is to stop; flows that exchange transactions on one connection have
// no such timer and are woken by halt. HTTP alone is different: there a program on
// Go's scheduler is what is measured.
//
// # The window
//
// All agents have the same window, t0 to t1. Each is asked some times what its
// CLOCK_MONOTONIC shows, all of them at once; how far it is ahead is known to half of
// the time that the fastest answer took, and is taken for nothing if it is within
// that, as on one machine. Then all are told when to begin, by their own clocks, long
// enough ahead for the slowest. One who is told too late to keep the window
// fails the trial.
//
// The end that measures looks at the clock after each system call. What it had
// counted before the first call that returned at or after t0, and before the first
// that returned at or after t1, are taken from each other: payload of exactly t1-t0,
// off by at most one read at each edge.
//
//   - Streams are measured where the payload arrives. The sender goes on until
//     the receiver's window is closed.
//   - Transactions are measured at the client. One counts if it began at or after
//     t0 and ended at or before t1; its latency is from just before the system call
//     that sends the request (or makes its connection) to just after the one that
//     received the last byte of the response. The loop is closed: one transaction at
//     a time on each flow, so a stall delays those behind it instead of appearing in
//     each of them. In paced_rr it is open, and appears.
//   - Datagrams are counted by their numbers: lost are those between the highest
//     number that had come when the window opened and the highest when it closed,
//     that have not come until the end. Of these the receiver's socket dropped as many
//     as the kernel says with the datagram behind the gap (SO_RXQ_OVFL).
//
// A flow that received nothing in the window fails the trial with its name, unless so
// many share its CPU that it may not have had a turn; see judge.go.
//
// # Strangers
//
// Every connection, and every datagram, says the trial's cookie or part of it, and
// what does not is turned away and counted. In tcp_crr the cookie is the beginning of
// the request, and costs no round trip. The first packet always comes from the client,
// and everything goes to the one port of the pair, TCP or UDP.
//
// # Limits of what is said
//
// Latencies are kept in an HdrHistogram from 1 ns to one hour with three significant
// digits: exact below 2048 ns, and otherwise rounded up by less than 0.1 %; the mean
// is that of the histogram. The CPU time of a process is exact, but the kernel splits
// it into user and system by sampling ticks. Flows that share a CPU wake and switch
// as several programs would; a program that serves them all from one thread, as
// iperf3 did before 3.16, can carry more over one CPU. TCP_INFO is of the end that
// sends, at the end, over the whole connection. Jitter is the mean over the window of
// RFC 3550's running value, from the sender's clock before the system call to the
// kernel's time of arrival; with GSO it is that of batches, and a batch that the
// socket drops is taken to be as large as those that came.
package engine
