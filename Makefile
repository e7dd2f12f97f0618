# `make help` lists what there is. Each target first makes sure that the
# compiler's target wasm32-wasip2 exists: plugins are compiled for it.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# cargo uses all cores by itself, and its commands share one target folder.
.NOTPARALLEL:
unexport MAKEFLAGS

# Where rustup cannot reach its server, naming the toolchain keeps it from trying
# to download what rust-toolchain.toml lists at every call of cargo.
export RUSTUP_AUTO_INSTALL := 0
toolchain := $(shell bash scripts/toolchain)
ifneq ($(toolchain),)
export RUSTUP_TOOLCHAIN := $(toolchain)
endif

.PHONY: help setup run test soak bench check fmt-check clippy deny fmt doc

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: setup ## build everything and show the main job: a real batch over real files
	@bash scripts/demo

test: setup ## run all tests
	@bash scripts/test

soak: setup ## run all tests, the storms at their full repeat counts
	@TOOLGATE_SOAK=1 bash scripts/test

bench: setup ## measure next to raw wasmtime (ARGS="..." is passed on)
	cargo run --release -p toolgate-tests --bin bench -- $(ARGS)

check: fmt-check clippy deny ## formatting, lints, licences and sources of dependencies

fmt-check: setup
	cargo fmt --all --check

clippy: setup
	cargo clippy --workspace --all-targets -- -D warnings

deny: setup
	@bash scripts/deny

fmt: setup ## format all code
	cargo fmt --all

doc: setup ## build the API documentation (target/doc)
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps

setup: # the toolchain and its target; prints nothing if they are there
	@bash scripts/wasm-target
