# Two commands for newcomers: `make demo` and `make test`. The rest is in `make help`; what each gate runs
# is in CONTRIBUTING.md.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
# A fresh shell may not know yet where rustup puts cargo.
export PATH := $(PATH):$(if $(CARGO_HOME),$(CARGO_HOME),$(HOME)/.cargo)/bin
TARGET_DIR := $(if $(CARGO_TARGET_DIR),$(CARGO_TARGET_DIR),target)

# For instance --full, or --within 60 (minutes).
LAB_ARGS ?=
# Further peers of `make lab-peers`: ndb, which is built from source.
PEERS ?=
LAB_DIR ?= $(TARGET_DIR)/lab
# What is tried from source: Cargo.toml says what it leaves out.
SOURCE := --profile source --locked -p scurry-cli

.DEFAULT_GOAL := help
.PHONY: help demo check test test-all test-rdma torture soak serve optimized figures site release lab lab-peers clean cargo

help:
	@echo "make demo    build, put charging load and plain keys on the store, audit it, print the table"
	@echo "make check   the quick gate, before each commit: minutes"
	@echo "make test    install what is missing, run everything that CI runs"
	@echo "make test-all  install what is missing, run everything there is: hours; each step is recorded"
	@echo "             (only what is recorded nowhere in the last 50 commits: ARGS='--stale 50')"
	@echo "make test-rdma  the RDMA transport over a software device in an emulated guest (docs/rdma.md)"
	@echo "make torture  three release builds under load and all kinds of faults, for hours; it goes on where it"
	@echo "             stopped: make torture ARGS='--hours 3' (docs/torture.md)"
	@echo "make soak    one group with everything on, under steady load and a fault every five minutes, for hours in"
	@echo "             pieces: make soak ARGS='--hours 1' (docs/torture.md)"
	@echo "make serve   run the store; options: make serve ARGS='--listen 127.0.0.1:6390'"
	@echo "make optimized  the program as packages carry it, by what was counted under load: a fifth less of the"
	@echo "             processor than cargo build --release has, and ten minutes to compile; in $(TARGET_DIR)/optimized"
	@echo "make figures  measure what the documents quote, and write their tables (hours; it goes on where"
	@echo "             it stopped; what is due: make figures ARGS=--list; a part: ARGS='--only charging')"
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
	cargo build $(SOURCE)
	@"$(TARGET_DIR)/source/scurry" bench --dir "$(TARGET_DIR)" $(ARGS)
	@echo "built quickly from source: a package, or make optimized, answers about 1.5 times as many"

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

torture: cargo
	@scripts/install-tools.sh tests
	cargo xtask torture $(ARGS)

soak: cargo
	@scripts/install-tools.sh tests
	cargo xtask soak $(ARGS)

serve: cargo
	cargo run $(SOURCE) -- serve $(ARGS)

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
	"$(TARGET_DIR)/optimized/scurry-lab" compare --all $(LAB_ARGS) --out "$(LAB_DIR)"

lab-peers:
	@for step in lab-peers $(PEERS); do scripts/install-tools.sh $$step || exit 1; done

clean: cargo
	cargo clean

cargo:
	@command -v cargo >/dev/null || { echo "cargo is missing: install Rust 1.95 or newer with rustup"; exit 1; }
