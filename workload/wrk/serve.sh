# Becomes nginx. Arguments: nginx, size of the file. Standard input: the configuration.
set -e
mount -t tmpfs tmpfs /dev/shm
cd /dev/shm
cat >nginx.conf
head -c "$2" /dev/zero >body
ulimit -S -n "$(ulimit -H -n)"
exec "$1" -p /dev/shm -e stderr -c nginx.conf
