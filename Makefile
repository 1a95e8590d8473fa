# The two commands that everyone needs are "make test" and "go run ./cmd/nettoll run".

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := build

# What "make tools" builds is found there, by nettoll and by its tests.
export PATH := $(CURDIR)/bin:$(PATH)

GOTESTSUM := go run gotest.tools/gotestsum@v1.13.0 --format pkgname

# Packages without a kernel in them: these run under the race detector, side by side.
PURE := . ./record/... ./plan/... ./reference/... ./analysis/... ./report/... ./agent/... ./internal/undo/...
# Packages that build networks and measure: one after the other, since two that
# measure at once starve each other.
REAL := ./internal/... ./platform/... ./sampler/... ./technique/... ./workload/... ./runner/... ./cmd/...

# What the programs are built from. It is a build tag, since those are kept in a program
# and can be read there: nettoll puts the nettoll-agent beside it into images only when
# both are known to be of one source.
SOURCE = find . -name '.?*' -prune -o \( -name '*.go' -o -name go.mod -o -name go.sum \) -print0 | \
	LC_ALL=C sort -z | xargs -0 cat | sha256sum | cut -c1-16

.PHONY: build
build: ## the programs, as bin/nettoll and bin/nettoll-agent
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -tags "source_$$($(SOURCE))" -o bin/ ./cmd/nettoll ./cmd/nettoll-agent

.PHONY: tools
tools: ## programs that networks are made of and no distribution has, or has too old, as bin/…
	.ci/tools

.PHONY: test
test: needs tools lint ## all levels of tests
	NETTOLL_REQUIRE="$${NETTOLL_REQUIRE-$$(.ci/have)}" $(GOTESTSUM) -- -race $(PURE)
	NETTOLL_REQUIRE="$${NETTOLL_REQUIRE-$$(.ci/have)}" $(GOTESTSUM) -- -p 1 -timeout 30m $(REAL)

# Techniques whose modules a kernel may lack. In the virtual machine, which is slow, they
# pass what tells whether they are right, and not the larger topologies. By hand, as they take
# five to ten minutes each: .ci/vm -run with TestServices and with the ipvlan networks of
# TestConformance for ./technique/docker, and ./technique/calico.
MODULES := ipvlan-l2|ipvlan-l3|ipip|gre|geneve|ipsec|wireguard|flannel-wireguard|ovs|ovs-vxlan|ovs-geneve|cni-ipvlan

.PHONY: test-vm
test-vm: needs tools ## techniques and delays whose modules this kernel may lack, in a virtual machine (root, Debian)
	VM_LIMIT=1350 .ci/vm -run '^(TestConformance|TestUnderlayDelay)$$/^($(MODULES))$$/^(hosts=1|hosts=2|wire|page_of_.*)$$|^TestEncryptedOverlay$$/^hosts=2$$' \
		./platform/lab $(addprefix ./technique/,ipvlan tunnel wireguard flannel ovs cni docker)

.PHONY: lint
lint: ## formatting and vet
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); echo "run gofmt -w on these"; exit 1; }
	go vet ./...

.PHONY: needs
needs: ## programs that the tests use, from the distribution
	.ci/needs iproute2 iputils-ping nftables util-linux chromium iperf iperf3 netperf qperf sockperf nuttcp wrk nginx-light redis-server redis-tools postgresql \
		docker.io iptables openssh-client etcd-server tcpdump bird2 openvswitch-switch ipset containernetworking-plugins wireguard-tools

.PHONY: fuzz
fuzz: ## every fuzz target for a while
	.ci/fuzz 30s

.PHONY: bench
bench: ## ratios, measured side by side in one run
	.ci/needs iproute2 iperf3 qperf sockperf netperf
	go run ./bench

.PHONY: update
update: ## write golden files, the schema and the technique pages anew
	go test ./plan ./report -update
	go test -p 1 -timeout 30m ./technique/... -update

.PHONY: help
help:
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12
