# Runs wrk twice, the first time for what is not to be counted, and becomes the second.
# Arguments: wrk, seconds before the window, seconds of the window, wrk's own.
# Standard input: the script.
set -e
mount -t tmpfs tmpfs /dev/shm
cat >/dev/shm/done.lua
ulimit -S -n "$(ulimit -H -n)"
wrk=$1 warmup=$2 window=$3
shift 3
[ "$warmup" = 0 ] || "$wrk" -d "$warmup"s "$@" >/dev/null
exec "$wrk" -d "$window"s -s /dev/shm/done.lua "$@"
