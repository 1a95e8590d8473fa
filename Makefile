# The two commands that everyone needs are "make test" and "go run ./cmd/nettoll run".

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := build

# nettoll and its tests find the programs of "make tools" in bin/.
export PATH := $(CURDIR)/bin:$(PATH)
# Tests and vet compile as releases do, so that nothing is compiled twice, nor again in another clone.
export GOFLAGS := -trimpath $(GOFLAGS)
export CGO_ENABLED := 0

.PHONY: build
build: ## the programs, as bin/nettoll and bin/nettoll-agent
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -tags "source_$$(.ci/source)" -o bin/ ./cmd/nettoll ./cmd/nettoll-agent

.PHONY: tools
tools: ## programs that networks use and that distributions lack or have only in old versions, as bin/…
	.ci/tools

.PHONY: kube
kube: ## the programs of Kubernetes as bin/…: 5 to 10 minutes
	.ci/kube

.PHONY: test
test: needs lint ## all levels of tests; some checks rotate: each runs in one of four runs
	.ci/test

.PHONY: test-all
test-all: needs lint ## test, test-docker, test-kube and test-vm, without turns
	.ci/test all
	.ci/test-docker all
	.ci/test-kube all
	.ci/test-vm all

.PHONY: test-vm
test-vm: needs tools ## networks and delays whose modules this kernel may lack, in a virtual machine (root, Debian)
	.ci/test-vm

.PHONY: test-docker
test-docker: needs tools ## networks of Docker, on the current Docker Engine, which is built first (root, Debian)
	.ci/test-docker

.PHONY: test-kube
test-kube: needs tools ## networks of Kubernetes, on clusters that nettoll starts (root, Debian)
	.ci/test-kube

.PHONY: lint
lint: ## formatting and vet
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); echo "run gofmt -w on these"; exit 1; }
	go vet ./...

.PHONY: lines
lines: ## count the lines of code and of tests in each folder, without blank lines and comments; AT= names another commit
	.ci/lines $(AT)

# docker.io has no docker command since Debian 13; docker-cli has it.
.PHONY: needs
needs: ## programs that the tests use, from the distribution
	.ci/needs iproute2 ethtool iputils-ping nftables util-linux curl openssl chromium iperf iperf3 netperf qperf sockperf nuttcp wrk nginx-light redis-server redis-tools postgresql \
		docker.io podman netavark containerd runc iptables openssh-client openssh-server etcd-server tcpdump bird2 openvswitch-switch ipset containernetworking-plugins wireguard-tools passt rpm man-db qemu-user-static \
		$$(command -v docker >/dev/null || echo docker-cli)

.PHONY: release
release: ## a release as dist/…; VERSION= sets its version, if no tag does
	.ci/release "$(VERSION)"

.PHONY: test-release
test-release: needs ## make a release twice, and install and use it in every way
	.ci/test-release

.PHONY: fuzz
fuzz: ## every fuzz target for a while
	.ci/fuzz 30s

.PHONY: bench
bench: ## ratios to other tools, measured side by side in one run; PART= selects parts
	.ci/needs iproute2 iperf3 qperf sockperf netperf
	go run ./bench $(PART)

# Five hours: docs/measured/README.md lists how long each part takes, and how to run fewer.
.PHONY: judge
judge: ## check nettoll on networks whose true difference is known; the run files are kept in .cache/judge
	go run ./bench equivalence alone alone-full rates slower twins busy keep=.cache/judge

.PHONY: update
update: ## rewrite golden files, the schema, the network pages and the picture in the README
	go test ./plan ./report -update
	go test -p 1 -timeout 30m ./network/... -update

.PHONY: help
help:
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12
