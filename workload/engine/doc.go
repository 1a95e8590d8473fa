// Package engine is nettoll's own generator of traffic. It measures a network
// and tries hard not to measure itself.
//
// # The two halves
//
// Tool, made by New, plans a trial and orchestrates it; Handlers are the half
// that works inside an agent, where the sockets are. A trial goes
//
//	serve     every server listens, with a cookie made for this trial
//	connect   every client makes all its connections; each begins with the cookie
//	          and is acknowledged when the server's thread for it is ready
//	start     all begin at once: warm-up, then the window
//	stop      clients first; connections are reset, so that nothing of this trial
//	          is still in flight during the next
//
// # A flow
//
// A flow is one connection. At either end it has one operating system thread,
// pinned if that was asked for, which makes blocking system calls on a plain
// socket and nothing else. A workload (workloads.go) is a function that makes one
// such call, for each end; flow.run calls it until told to stop.
//
// The loop stays clear of Go's scheduler, which would otherwise add to every
// latency: system calls are raw, so the scheduler does not know that the thread
// sleeps; nothing is allocated; functions of the loop are nosplit, because the
// stack check at the beginning of any other is where the scheduler takes a thread
// that has run for 10 ms. The price is that a sleeping flow keeps one of Go's
// processors. So there are more of these than flows, and nothing that stops the
// world (garbage collection above all) happens until the flows have ended; see
// process.go. A receive or send of a stream that waits longer than pollInterval
// returns, so that the flow notices that it is to stop; flows that exchange
// transactions have no such timer and are woken by halt.
//
// # The window
//
// Every agent takes t0 = now + warm-up and t1 = t0 + duration on its own
// CLOCK_MONOTONIC when start reaches it. The end that measures looks at the clock
// after each system call. What it had counted before the first call that returned
// at or after t0, and before the first that returned at or after t1, are taken from
// each other: payload of exactly t1-t0, off by at most one read at each edge.
//
//   - tcp_stream is measured where the payload arrives. The sender goes on until
//     the receiver's window is closed.
//   - tcp_rr is measured at the client. A transaction counts if it began at or after
//     t0 and ended at or before t1; its latency is from just before the system call
//     that sends the request to just after the one that received the last byte
//     of the response. The loop is closed: one transaction at a time on each flow, so
//     a stall delays those behind it instead of appearing in each of them.
//
// A flow that received nothing before t0, or nothing in the window, fails the trial
// with its name. It is never counted as zero.
//
// # Limits of what is said
//
// Latencies are kept in an HdrHistogram from 1 ns to one hour with three significant
// digits: exact below 2048 ns, and otherwise rounded up by less than 0.1 %. The CPU time of a
// process is exact, but the kernel splits it into user and system by sampling
// ticks. Flows that share a CPU wake and switch as several programs would; a program
// that serves them all from one thread, as iperf3 did before 3.16, can carry more
// over one CPU. TCP_INFO is of the sending client, at the end, over the whole connection.
package engine
