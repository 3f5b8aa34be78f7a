# Two commands for newcomers: `make demo` and `make test`. The rest is in `make help`; what each gate runs
# is in CONTRIBUTING.md.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
# A fresh shell may not know yet where rustup puts cargo.
export PATH := $(PATH):$(if $(CARGO_HOME),$(CARGO_HOME),$(HOME)/.cargo)/bin
TARGET_DIR := $(if $(CARGO_TARGET_DIR),$(CARGO_TARGET_DIR),target)

SESSIONS ?= 3200
CONNECTIONS ?= 50
DEPTH ?= 64
ACCOUNTS ?= 100000
DEMO_SECONDS ?= 5
# For instance --full, or --within 60 (minutes).
LAB_ARGS ?=
# Further peers of `make lab-peers`: ndb, which is built from source.
PEERS ?=
LAB_DIR ?= $(TARGET_DIR)/lab
# A release has everything: RDMA is a feature that builds for development leave out.
RELEASE := --release --locked --features rdma
BUILD_BOTH = cargo build $(RELEASE) -p scurry-cli && \
	  cargo build --release --locked --manifest-path lab/Cargo.toml

.DEFAULT_GOAL := help
.PHONY: help demo check test test-all test-rdma serve optimized figures site release lab lab-peers clean cargo

help:
	@echo "make demo    build, run charging load against the store, audit it, print the table"
	@echo "make check   the quick gate, before each commit: minutes"
	@echo "make test    install what is missing, run everything that CI runs"
	@echo "make test-all  install what is missing, run everything there is: hours; each step is recorded"
	@echo "             (only what is recorded nowhere in the last 50 commits: ARGS='--stale 50')"
	@echo "make test-rdma  the RDMA transport over a software device in an emulated guest (docs/rdma.md)"
	@echo "make serve   run the store; options: make serve ARGS='--listen 127.0.0.1:6390'"
	@echo "make optimized  the program as packages carry it, by what was counted under load: a fifth less of the"
	@echo "             processor than cargo build --release has, and ten minutes to compile; in $(TARGET_DIR)/optimized"
	@echo "make figures  measure what the documents quote, and write their tables (hours; it goes on where"
	@echo "             it stopped; what is due: make figures ARGS=--list; a part: ARGS='--only ladder')"
	@echo "make site    these documents as a site with a search, in $(TARGET_DIR)/site"
	@echo "make release  everything that a page of downloads has, in $(TARGET_DIR)/release-page: docs/install.md"
	@echo "make lab     measure every scenario beside the peers, short, and write target/lab/report.html"
	@echo "             (half an hour behind make optimized; the long form: make lab LAB_ARGS=--full)"
	@echo "make lab-peers  install the stores that the laboratory measures beside us (Debian, Maven)"
	@echo "             (also MySQL NDB, built from source in minutes: PEERS=ndb)"
	@echo "make clean   remove what was built"
	@echo "make help    this list"

demo: cargo
	@scripts/install-tools.sh demo
	$(BUILD_BOTH)
	@"$(TARGET_DIR)/release/scurry-lab" run moaf-scur --target scurry --sessions $(SESSIONS) \
	  --connections $(CONNECTIONS) --depth $(DEPTH) --accounts $(ACCOUNTS) --seconds $(DEMO_SECONDS)

check: cargo
	@scripts/install-tools.sh check
	cargo xtask check

test: cargo
	@scripts/install-tools.sh tests
	cargo xtask ci

test-all: cargo
	@scripts/install-tools.sh all
	cargo xtask all $(ARGS)

test-rdma: cargo
	@scripts/install-tools.sh rdma
	cargo xtask rdma

serve: cargo
	cargo run $(RELEASE) -p scurry-cli -- serve $(ARGS)

optimized: cargo
	@scripts/install-tools.sh optimized
	cargo xtask optimized

figures: cargo lab-peers optimized
	cargo xtask figures $(ARGS)

site: cargo
	@scripts/install-tools.sh site
	cargo xtask site

release: cargo
	@scripts/install-tools.sh packaging
	cargo xtask release $(ARGS)

lab: cargo lab-peers optimized
	@mkdir -p "$(LAB_DIR)"
	"$(TARGET_DIR)/optimized/scurry-lab" ladder --accounts 100000 --seconds 1 --runs 3 \
	  --json "$(LAB_DIR)/ladder.json"
	"$(TARGET_DIR)/optimized/scurry-lab" compare --all $(LAB_ARGS) --out "$(LAB_DIR)" \
	  --with "$(LAB_DIR)/ladder.json"

lab-peers:
	@for step in lab-peers $(PEERS); do scripts/install-tools.sh $$step || exit 1; done

clean: cargo
	cargo clean

cargo:
	@command -v cargo >/dev/null || { echo "cargo is missing: install Rust 1.95 or newer with rustup"; exit 1; }
