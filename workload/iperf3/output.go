package iperf3

// What is read of the output of -J. Pointers tell what is missing from what is zero.

type output struct {
	Start struct {
		Version   string `json:"version"`
		MSS       uint32 `json:"tcp_mss_default"`
		TestStart struct {
			Protocol string `json:"protocol"`
			Streams  int    `json:"num_streams"`
			Block    int    `json:"blksize"` // bytes of a write, or of a datagram
			Reverse  int    `json:"reverse"`
		} `json:"test_start"`
	} `json:"start"`
	Intervals []interval `json:"intervals"`
	End       struct {
		Streams         []endOfStream `json:"streams"`
		Sent            *span         `json:"sum_sent"`
		Received        *span         `json:"sum_received"`
		SentReverse     *span         `json:"sum_sent_bidir_reverse"`
		ReceivedReverse *span         `json:"sum_received_bidir_reverse"`
		CPU             struct {
			Client *float64 `json:"host_total"` // percent of one CPU
			Server *float64 `json:"remote_total"`
		} `json:"cpu_utilization_percent"`
		Congestion string `json:"sender_tcp_congestion"`
	} `json:"end"`
	Server *output `json:"server_output_json"` // of --get-server-output
	Error  string  `json:"error"`
}

type interval struct {
	Streams []span `json:"streams"`
}

type endOfStream struct {
	Sender   *span `json:"sender"`
	Receiver *span `json:"receiver"`
}

// span is a time and what happened in it, to a stream or to all of them.
type span struct {
	Socket      int      `json:"socket"`
	Seconds     *float64 `json:"seconds"`
	Bytes       *float64 `json:"bytes"`
	Retransmits *float64 `json:"retransmits"`
	Lost        *float64 `json:"lost_packets"`
	Packets     *float64 `json:"packets"`   // sent, as far as the receiver knows
	Jitter      *float64 `json:"jitter_ms"` // mean of the streams
	Cwnd        uint32   `json:"snd_cwnd"`  // bytes
	RTT         uint32   `json:"rtt"`       // µs
	RTTVar      uint32   `json:"rttvar"`    // µs
	PMTU        uint32   `json:"pmtu"`
	Omitted     bool     `json:"omitted"`
	// Sender, of an interval: this end sent. Of the end of a stream: the client did.
	Sender *bool `json:"sender"`
}
