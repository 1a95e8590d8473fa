# Makes a database in a file system of its own and becomes its server.
# Arguments: directory of programs, port, connections. Standard input: SQL.
set -e
bin=$1 port=$2 connections=$3
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
cd /dev/shm
ulimit -S -n "$(ulimit -H -n)"
# The server refuses to be root. Who is root of a user namespace of its own has no other
# user to become, but can have another name in one more.
other=65534
as="setpriv --reuid=$other --regid=$other --clear-groups"
$as true 2>/dev/null || as="unshare --user --map-user=$other --map-group=$other"
$as true
# What it says is wanted only when it fails.
quietly() { "$@" >said 2>&1 || { tail -n 5 said >&2; exit 1; }; }
quietly $as "$bin/initdb" -D data -U postgres -A trust -E UTF8 --no-locale --no-sync --wal-segsize=1
echo 'host all all all trust' >>data/pg_hba.conf
cat >>data/postgresql.conf <<END
listen_addresses = '*'
port = $port
unix_socket_directories = ''
max_connections = $connections
dynamic_shared_memory_type = mmap
fsync = off
synchronous_commit = off
full_page_writes = off
wal_level = minimal
max_wal_senders = 0
autovacuum = off
jit = off
log_min_messages = fatal
END
cat >tables
quietly $as "$bin/postgres" --single -D data -c exit_on_error=on postgres <tables
rm said tables
exec $as "$bin/postgres" -D data
