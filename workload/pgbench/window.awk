# Reads pgbench's log twice: a line for each transaction, of its client, number,
# latency in microseconds, script, and the time of its end in seconds and microseconds.
# Prints how often each latency occurred in the window, and what each client did.
{
	if (NF != 6 || $3 !~ /^[0-9]+$/) {
		print "nettoll unknown " $0
		exit
	}
	end = $5 * 1000000 + $6
}
pass == 1 {
	begin = end - $3
	if (!lines++ || begin < first) first = begin
	if (end > last) last = end
}
pass == 2 {
	from = first + lead * 1000000
	to = from + window * 1000000
	if (to > last) to = last
	if (end > from && end <= to) {
		latency[$3]++
		client[$1]++
	}
}
END {
	printf "nettoll window lines=%.0f us=%.0f\n", lines, to - from
	printf "nettoll clients"
	for (c in client) printf " %s:%.0f", c, client[c]
	printf "\nnettoll latency_us"
	for (us in latency) printf " %s:%.0f", us, latency[us]
	printf "\n"
}
