# The two commands that everyone needs are "make test" and "go run ./cmd/nettoll run".

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := build

# What "make tools" builds is found there, by nettoll and by its tests.
export PATH := $(CURDIR)/bin:$(PATH)

.PHONY: build
build: ## the programs, as bin/nettoll and bin/nettoll-agent
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -tags "source_$$(.ci/source)" -o bin/ ./cmd/nettoll ./cmd/nettoll-agent

.PHONY: tools
tools: ## programs that networks are made of and no distribution has, or has too old, as bin/…
	.ci/tools

.PHONY: test
test: needs lint ## all levels of tests; some checks take turns, and run in one of four runs
	.ci/test

.PHONY: test-all
test-all: needs lint ## both, and nothing takes turns
	.ci/test all
	.ci/test-vm all

.PHONY: test-vm
test-vm: needs tools ## networks and delays whose modules this kernel may lack, in a virtual machine (root, Debian)
	.ci/test-vm

.PHONY: lint
lint: ## formatting and vet
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); echo "run gofmt -w on these"; exit 1; }
	go vet ./...

.PHONY: lines
lines: ## how many lines of code and of tests each folder has, without blank ones and comments; AT= names another commit
	.ci/lines $(AT)

# Where docker.io has no docker command, since Debian 13, that is in docker-cli.
.PHONY: needs
needs: ## programs that the tests use, from the distribution
	.ci/needs iproute2 iputils-ping nftables util-linux chromium iperf iperf3 netperf qperf sockperf nuttcp wrk nginx-light redis-server redis-tools postgresql \
		docker.io iptables openssh-client etcd-server tcpdump bird2 openvswitch-switch ipset containernetworking-plugins wireguard-tools rpm man-db qemu-user-static \
		$$(command -v docker >/dev/null || echo docker-cli)

.PHONY: release
release: ## a release as dist/…; VERSION= names it, if no tag does
	.ci/release "$(VERSION)"

.PHONY: test-release
test-release: needs ## a release is made twice, and installed and used in every way that there is
	.ci/test-release

.PHONY: fuzz
fuzz: ## every fuzz target for a while
	.ci/fuzz 30s

.PHONY: bench
bench: ## ratios, measured side by side in one run; PART= names some of its parts alone
	.ci/needs iproute2 iperf3 qperf sockperf netperf
	go run ./bench $(PART)

# Three hours: docs/measured/README.md says how long each part takes, and how to do less of it.
.PHONY: judge
judge: ## what nettoll says of networks whose truth is known otherwise; the run files stay in .cache/judge
	go run ./bench equivalence alone rates slower twins busy keep=.cache/judge

.PHONY: update
update: ## write golden files, the schema, the network pages and the picture in the README anew
	go test ./plan ./report -update
	go test -p 1 -timeout 30m ./network/... -update

.PHONY: help
help:
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12
