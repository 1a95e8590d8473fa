#!/usr/bin/env bash
# Usage: cluster.sh COMMAND [ARGUMENT...]
# Starts a Kubernetes cluster without any code of nettoll, runs a command meanwhile, and removes the cluster. It differs
# from the clusters that nettoll starts wherever clusters of users do: flannel is its network (VXLAN), with one IP version;
# controllers give nodes the addresses of their pods; kube-proxy uses nftables; the control plane is on no node; every user
# has a certificate; addresses, names and devices are others.
#
# The command finds the folder $CLUSTER with admin.kubeconfig, and USER.kubeconfig of users without any rights: tester,
# viewer. $CLUSTER_IMAGE is an image that its nodes have, with a shell. Where this script may use all CPUs of the machine,
# and they are several, $CLUSTER_CPUS is their number: then each node gives whole CPUs, except for CPU 0, to pods alone
# (kubelet's CPU manager, static). Logs of its programs are in $CLUSTER/log, and are printed if it does not start.
#
# Everything is in namespaces of this script, which end with it and with its standard input. Control groups, which are in
# no namespace, are removed by another process after that.
set -euo pipefail
script=$(realpath "${BASH_SOURCE[0]}")
services=10.96.0.0/16 pods=10.244.0.0/16
lan=192.168.77 server=https://192.168.77.1:6443
declare -A nodes=([alpha]=11 [beta]=12) # the last byte of the address

# hierarchies prints the folders of control groups: one for each controller in version 1, one in version 2.
hierarchies() {
	if [[ -e /sys/fs/cgroup/cgroup.controllers ]]; then
		echo /sys/fs/cgroup
	else
		find /sys/fs/cgroup -mindepth 2 -maxdepth 2 -name cgroup.procs -printf '%h\n'
	fi
}

# make_groups makes a control group in every hierarchy, for a node's pods.
make_groups() {
	local root dir
	for root in $(hierarchies); do
		for dir in "$root/$1" "$root/$1/"{alpha,beta}; do
			mkdir "$dir"
			if [[ -e $dir/cgroup.controllers ]]; then
				sed 's/[^ ]*/+&/g' "$dir/cgroup.controllers" >"$dir/cgroup.subtree_control"
			elif [[ -e $dir/cpuset.cpus ]]; then # no process may be in a group without any
				cat "$root/cpuset.cpus" >"$dir/cpuset.cpus"
				cat "$root/cpuset.mems" >"$dir/cpuset.mems"
			fi
		done
	done
}

# begin is what the first process does: it makes the control groups and the namespaces.
begin() {
	local group=theirs-$$
	# This process removes the control groups after the script's end. It holds the script's output open, so that whoever
	# waits for the end of that output waits until they are gone.
	setsid bash -c '
		tail --pid="$1" -f /dev/null
		for try in {1..600}; do
			left=$(find $2 -mindepth 1 -maxdepth 1 -name "$3")
			[[ $left ]] || exit 0
			find $left -depth -type d -exec rmdir {} \; 2>/dev/null
			sleep 0.1
		done
		echo "control groups are left: $left" >&2' bash $$ "$(hierarchies | tr '\n' ' ')" "$group" </dev/null &
	make_groups "$group"
	exec unshare --mount --net --pid --fork --kill-child --mount-proc --propagation private bash "$script" inside "$group" "$@"
}

# certificate makes a key and a certificate: NAME SUBJECT [ALTERNATIVE-NAMES].
certificate() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -CA ca.crt -CAkey ca.key -subj "$2" \
		-addext basicConstraints=critical,CA:false ${3:+-addext "subjectAltName=$3"} -keyout "$1.key" -out "$1.crt" 2>/dev/null
}

# kubeconfig makes a certificate with the kubeconfig of its user: NAME SUBJECT.
kubeconfig() {
	certificate "$1" "$2"
	cat >"$1.kubeconfig" <<-END
		apiVersion: v1
		kind: Config
		current-context: $1@theirs
		clusters: [{name: theirs, cluster: {server: "$server", certificate-authority: $PWD/ca.crt}}]
		users: [{name: $1, user: {client-certificate: $PWD/$1.crt, client-key: $PWD/$1.key}}]
		contexts: [{name: $1@theirs, context: {cluster: theirs, user: $1}}]
	END
}

# ask asks the API server as the administrator: PATH [OPTION...].
ask() {
	local path=$1
	shift
	curl -sS --fail-with-body --max-time 20 --cacert ca.crt --cert admin.crt --key admin.key "$@" "$server$path"
}

# until_so waits for a command to succeed.
until_so() {
	local tries
	for tries in {1..1500}; do
		if "$@" >/dev/null 2>&1; then return; fi
		sleep 0.2
	done
	echo "in five minutes, this has not come true: $*" >&2
	tail -n 5 log/* >&2
	return 1
}

# run starts a program in the background: NAME COMMAND...
run() {
	local name=$1
	shift
	"$@" >"$CLUSTER/log/$name" 2>&1 </dev/null 3<&- &
}

# image prints an image with a shell and the programs that are named, with the files that these need, in the form of
# docker save.
image() {
	local dir=$CLUSTER/image name path
	mkdir -p "$dir/root/bin"
	for name in "$@"; do
		path=$(realpath "$(command -v "$name")")
		cp "$path" "$dir/root/bin/$name"
		for path in $(ldd "$path" 2>/dev/null | grep -o '/[^ ]*'); do
			mkdir -p "$dir/root${path%/*}"
			cp -Lu "$path" "$dir/root$path"
		done
	done
	tar -C "$dir/root" -cf "$dir/layer.tar" .
	cat >"$dir/config.json" <<-END
		{"architecture": "$(dpkg --print-architecture)", "os": "linux", "config": {"Entrypoint": ["sleep", "infinity"], "Env": ["PATH=/bin"]},
		"rootfs": {"type": "layers", "diff_ids": ["sha256:$(sha256sum <"$dir/layer.tar" | cut -d' ' -f1)"]}}
	END
	echo "[{\"Config\": \"config.json\", \"RepoTags\": [\"$CLUSTER_IMAGE\"], \"Layers\": [\"layer.tar\"]}]" >"$dir/manifest.json"
	tar -C "$dir" -cf - manifest.json config.json layer.tar
}

# inside is the first process of the namespaces: it starts the control plane, and the nodes.
inside() {
	local group=$1 node
	shift
	exec 3<&0 </dev/null
	trap 'exit 143' TERM
	{ cat <&3 >/dev/null || true; kill -TERM 1; } & # PID 1 ends when its standard input does
	export CLUSTER=/run/theirs CLUSTER_IMAGE=theirs.invalid/shell:1 CLUSTER_CPUS=
	if (($(nproc) > 1 && $(nproc) == $(nproc --all))); then CLUSTER_CPUS=$(nproc); fi
	mount -t tmpfs -o mode=0755 tmpfs /run
	mkdir -p $CLUSTER/log /run/netns
	cd $CLUSTER

	ip link set lo up
	ip link add lan type bridge
	ip addr add $lan.1/24 dev lan
	ip link set lan up
	for node in "${!nodes[@]}"; do
		ip netns add "$node"
		ip link add "to-$node" type veth peer ens5 netns "$node"
		ip link set "to-$node" master lan up
		ip -n "$node" link set lo up
		ip -n "$node" addr add "$lan.${nodes[$node]}/24" dev ens5
		ip -n "$node" link set ens5 up
		ip -n "$node" route add default via $lan.1
	done

	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=theirs -keyout ca.key -out ca.crt 2>/dev/null
	certificate apiserver /CN=kube-apiserver IP:$lan.1,IP:${services%.*}.1
	certificate to-kubelet /O=system:masters/CN=to-kubelet
	kubeconfig admin /O=system:masters/CN=admin
	kubeconfig controllers /CN=system:kube-controller-manager
	kubeconfig scheduler /CN=system:kube-scheduler
	kubeconfig proxy /CN=system:kube-proxy
	kubeconfig flannel /CN=flannel
	kubeconfig tester /CN=tester
	kubeconfig viewer /CN=viewer
	openssl ecparam -genkey -name prime256v1 -noout -out accounts.key
	image sh cat chmod cp gzip head mktemp rm sha256sum sleep uname >image.tar

	run etcd etcd --data-dir $CLUSTER/etcd --unsafe-no-fsync --log-level warn
	run kube-apiserver kube-apiserver --etcd-servers=http://127.0.0.1:2379 --bind-address=$lan.1 --service-cluster-ip-range=$services \
		--tls-cert-file=apiserver.crt --tls-private-key-file=apiserver.key --client-ca-file=ca.crt --authorization-mode=Node,RBAC \
		--enable-admission-plugins=NodeRestriction --kubelet-client-certificate=to-kubelet.crt --kubelet-client-key=to-kubelet.key \
		--kubelet-preferred-address-types=InternalIP --service-account-issuer=https://theirs.invalid \
		--service-account-key-file=accounts.key --service-account-signing-key-file=accounts.key
	for node in "${!nodes[@]}"; do
		kubeconfig "$node" "/O=system:nodes/CN=system:node:$node"
		run "$node" nsenter --net="/run/netns/$node" unshare --mount --propagation private bash "$script" node "$node" "$group/$node"
	done

	until_so ask /readyz # controllers wait for 10 s, and end
	run kube-controller-manager kube-controller-manager --kubeconfig=controllers.kubeconfig --leader-elect=false --bind-address=127.0.0.1 \
		--allocate-node-cidrs --cluster-cidr=$pods --service-cluster-ip-range=$services --use-service-account-credentials \
		--service-account-private-key-file=accounts.key --root-ca-file=ca.crt --cert-dir=controllers
	run kube-scheduler kube-scheduler --kubeconfig=scheduler.kubeconfig --leader-elect=false --bind-address=127.0.0.1 --cert-dir=scheduler
	until_so ask /api/v1/namespaces/default/serviceaccounts/default
	# The rights that flannel's own manifest gives it.
	ask /apis/rbac.authorization.k8s.io/v1/clusterroles -H 'Content-Type: application/yaml' --data-binary '
metadata: {name: flannel}
rules:
- {apiGroups: [""], resources: [pods], verbs: [get]}
- {apiGroups: [""], resources: [nodes], verbs: [get, list, watch]}
- {apiGroups: [""], resources: [nodes/status], verbs: [patch]}' >/dev/null
	ask /apis/rbac.authorization.k8s.io/v1/clusterrolebindings -H 'Content-Type: application/yaml' --data-binary '
metadata: {name: flannel}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: flannel}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: flannel}]' >/dev/null
	for node in "${!nodes[@]}"; do until_so ready "$node"; done

	cd /
	"$@" 3<&- &
	wait $!
}

# ready succeeds once the cluster says that a node is ready and takes pods.
ready() {
	local is
	is=$(ask "/api/v1/nodes/$1" | tr -d ' \n')
	[[ $is == *'"type":"Ready","status":"True"'* && $is != *'"taints":'* ]]
}

# node runs the programs of a node, in its network namespace and with mounts of its own: NAME CONTROL-GROUP.
node() {
	local name=$1 group=$2 at=$lan.${nodes[$1]} dir plugins
	cd "$CLUSTER"
	dir=$CLUSTER/$name
	mkdir -p "$dir/cni" "$dir/tunables"
	mount -t tmpfs -o mode=0755 tmpfs /var/lib
	mount -t tmpfs -o mode=0755 tmpfs /var/log
	for path in /run/flannel /run/containerd; do
		mkdir -p $path
		mount -t tmpfs -o mode=0755 tmpfs $path
	done
	# kubelet sets these parameters, which are the whole machine's: here it sets copies.
	for path in vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops kernel/keys/root_maxkeys kernel/keys/root_maxbytes; do
		cp "/proc/sys/$path" "$dir/tunables/${path##*/}"
		mount --bind "$dir/tunables/${path##*/}" "/proc/sys/$path"
	done
	for path in net/ipv4/ip_forward net/bridge/bridge-nf-call-iptables; do echo 1 >"/proc/sys/$path"; done
	for plugins in "${CNI_BIN-}" /opt/cni/bin /usr/lib/cni; do [[ ! -x $plugins/host-local ]] || break; done

	cat >"$dir/containerd.toml" <<-END
		version = 2
		root = "/var/lib/containerd"
		state = "/run/containerd"
		disabled_plugins = ["io.containerd.internal.v1.opt"]
		[grpc]
		  address = "/run/containerd/containerd.sock"
		[plugins."io.containerd.grpc.v1.cri"]
		  sandbox_image = "$CLUSTER_IMAGE"
		  restrict_oom_score_adj = true
		  disable_apparmor = true
		  [plugins."io.containerd.grpc.v1.cri".cni]
		    bin_dir = "$plugins"
		    conf_dir = "$dir/cni"
	END
	run "$name-containerd" containerd --config "$dir/containerd.toml"
	until_so ctr --namespace k8s.io images import image.tar

	cat >"$dir/kubelet.yaml" <<-END
		apiVersion: kubelet.config.k8s.io/v1beta1
		kind: KubeletConfiguration
		address: $at
		authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $CLUSTER/ca.crt}}
		authorization: {mode: Webhook}
		containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
		cgroupDriver: cgroupfs
		cgroupRoot: /$group
		enforceNodeAllocatable: []
		failCgroupV1: false
		failSwapOn: false
		oomScoreAdj: 0
		localStorageCapacityIsolation: false
		resolvConf: ""
		evictionHard: {memory.available: "0%", nodefs.available: "0%", nodefs.inodesFree: "0%", imagefs.available: "0%"}
		imageGCHighThresholdPercent: 100
	END
	[[ ! $CLUSTER_CPUS ]] || printf 'cpuManagerPolicy: static\nreservedSystemCPUs: "0"\n' >>"$dir/kubelet.yaml"
	until_so ask /readyz
	run "$name-kubelet" kubelet --config="$dir/kubelet.yaml" --kubeconfig="$name.kubeconfig" --hostname-override="$name" --node-ip="$at" --cert-dir="$dir/kubelet"
	run "$name-kube-proxy" kube-proxy --kubeconfig=proxy.kubeconfig --hostname-override="$name" --proxy-mode=nftables --cluster-cidr=$pods --oom-score-adj=0 \
		--conntrack-max-per-core=0 --conntrack-min=0 --conntrack-tcp-timeout-established=0 --conntrack-tcp-timeout-close-wait=0

	# flanneld needs its node's object, with the addresses that controllers give it.
	echo "{\"Network\": \"$pods\", \"Backend\": {\"Type\": \"vxlan\"}}" >"$dir/net-conf.json"
	until_so given "$name"
	NODE_NAME=$name run "$name-flanneld" flanneld --kube-subnet-mgr --kubeconfig-file="$CLUSTER/flannel.kubeconfig" --net-config-path="$dir/net-conf.json" --iface=ens5 --ip-masq
	until_so test -s /run/flannel/subnet.env
	# The configuration that the plugin "flannel" would make of that file, for the plugins that it runs.
	. /run/flannel/subnet.env
	cat >"$dir/cni/10-flannel.conflist" <<-END
		{"cniVersion": "1.0.0", "name": "cbr0", "plugins": [
		  {"type": "bridge", "bridge": "cni0", "mtu": $FLANNEL_MTU, "isDefaultGateway": true, "hairpinMode": true, "ipMasq": false,
		   "ipam": {"type": "host-local", "ranges": [[{"subnet": "${FLANNEL_SUBNET/.1\//.0\/}"}]], "routes": [{"dst": "$FLANNEL_NETWORK"}], "dataDir": "/var/lib/cni"}},
		  {"type": "portmap", "capabilities": {"portMappings": true}}]}
	END
	wait
}

# given succeeds once a node has been given the addresses of its pods.
given() { ask "/api/v1/nodes/$1" | grep podCIDR; }

case ${1-} in
inside | node) "$@" ;;
*) begin "$@" ;;
esac
