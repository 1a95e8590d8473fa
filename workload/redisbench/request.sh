# Stores a value and reads it over and over with redis-benchmark.
# Arguments: redis-cli, redis-benchmark, address, port, size of the value, streams, requests
# to begin with, milliseconds before the window and of the window.
set -e
ulimit -S -n "$(ulimit -H -n)"
cli=$1 bench=$2 addr=$3 port=$4 size=$5 streams=$6 count=$7 lead=$8 window=$9
now() { echo $(($(date +%s%N) / 1000000)); }
get() {
	"$bench" -h "$addr" -p "$port" -c "$streams" -t get --csv -n "$1" || {
		status=$?
		[ $status -lt 128 ] || echo "redis-benchmark was killed by signal $((status - 128))" >&2
		exit $status
	}
}
start=$(now)
"$cli" -h "$addr" -p "$port" setrange key:__rand_int__ $((size - 1)) x
while [ $(($(now) - start)) -lt "$lead" ]; do
	said=$(get "$count")
	count=$(echo "$said" | awk -F '"' -v n="$count" -v least="$streams" '
		NR == 2 { next_n = $4 == "inf" ? n * 10 : $4 / 10 }
		END { printf "%.0f", (next_n > least) ? next_n : least }')
done
count=$((count * window * 11 / 1000))
[ "$count" -le 2147483647 ] || count=2147483647
[ "$count" -ge "$streams" ] || count=$streams
echo "$count"
get "$count"
while [ $(($(now) - start)) -lt $((lead + window)) ]; do get "$count"; done
