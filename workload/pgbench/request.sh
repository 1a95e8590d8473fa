# Runs pgbench, and prints what its log says of the window.
# Arguments: pgbench, seconds before the window, of the window and to spare, pgbench's own.
# Standard input: the awk script.
set -e
pgbench=$1 lead=$2 window=$3 spare=$4
shift 4
mount -t tmpfs tmpfs /dev/shm
cat >/dev/shm/window.awk
ulimit -S -n "$(ulimit -H -n)"
# The server listens before it lets anybody in.
until said=$("$pgbench" "$@" -c 1 -j 1 -t 1 postgres 2>&1); do
	case $said in
	*'starting up'*) sleep 0.02 ;;
	*) echo "$said" >&2; exit 1 ;;
	esac
done
"$pgbench" -T $((lead + window + spare)) -l --log-prefix=/dev/shm/log "$@" postgres || {
	status=$?
	[ $status -lt 128 ] || echo "pgbench was killed by signal $((status - 128))" >&2
	exit $status
}
cd /dev/shm
awk -v lead="$lead" -v window="$window" -f window.awk pass=1 log.* pass=2 log.*
