#!/usr/bin/env bash
# Prepare a checkout: system packages, a virtual environment from requirements.txt, memstrat in it.
#
# Nothing is done twice: when neither requirements.txt nor pyproject.toml changed and nothing is
# missing, this ends within a blink and touches neither apt nor the network. It never asks.
#
#   PYTHON=python3.13      build the environment with this interpreter (3.11 to 3.14)
#   SYSTEM_PACKAGES=skip   do not look for compilers: they live elsewhere, or are not wanted

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
venv=$root/.venv

# Versioned names that count as clang or llvm-mca, newest first.
readonly LLVM_VERSIONS=({30..14})
readonly NEWER_PYTHONS=(python3.{14..11})

say() { printf 'setup: %s\n' "$*"; }

fail() {
    printf 'setup: %s\n' "$@" >&2
    exit 1
}

# --- what is missing ------------------------------------------------------------------------------

# The locked packages have wheels for these versions.
is_usable() {
    "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' 2>/dev/null
}

can_make_venv() { "$1" -c 'import ensurepip, venv' 2>/dev/null; }

find_python() {
    local name names=(python3 "${NEWER_PYTHONS[@]}")
    [[ -z ${PYTHON:-} ]] || names=("$PYTHON")
    for name in "${names[@]}"; do
        if is_usable "$name"; then
            printf '%s' "$name"
            return
        fi
    done
}

has_command() { command -v "$1" >/dev/null; }

has_versioned() {
    local version
    has_command "$1" && return
    for version in "${LLVM_VERSIONS[@]}"; do
        has_command "$1-$version" && return
    done
    return 1
}

has_c_headers() { gcc -E -x c - <<<'#include <stdio.h>' >/dev/null 2>&1; }

# The first of the given packages that apt can install, else the last.
first_known() {
    local package
    for package in "$@"; do
        if has_command apt-cache && [[ $(apt-cache policy "$package") == *"Candidate: "[0-9]* ]]; then
            break
        fi
    done
    echo "$package"
}

newest_llvm() { first_known "${LLVM_VERSIONS[@]/#/$1-}" "$1"; }

missing_python() {
    local python
    [[ -x $venv/bin/python && -z ${PYTHON:-} ]] && return
    python=$(find_python)
    if [[ -n $python ]]; then
        can_make_venv "$python" || echo "$(basename "$python")-venv"
    elif [[ -z ${PYTHON:-} ]]; then
        # A python3 that is there and too old is left alone; a newer one stands beside it.
        has_command python3 && python=$(first_known "${NEWER_PYTHONS[@]}")
        echo "${python:=python3}" "$python-venv"
    fi
}

missing_compilers() {
    [[ ${SYSTEM_PACKAGES:-} == skip ]] && return
    has_command gcc || echo gcc
    has_command ld || echo binutils
    has_c_headers || echo libc6-dev
    has_versioned clang || newest_llvm clang
    has_versioned llvm-mca || newest_llvm llvm
}

missing_packages() { { missing_python; missing_compilers; } | tr '\n' ' '; }

# --- system packages ------------------------------------------------------------------------------

apt_prefix() {
    has_command apt-get || return 1
    if [[ $(id -u) == 0 ]]; then
        echo env
    elif has_command sudo && sudo -n true 2>/dev/null; then
        echo sudo -n env
    else
        return 1
    fi
}

refuse() {
    fail "these system packages are missing: $*" \
        "install them with: sudo apt-get install --no-install-recommends $*" \
        "(or, where the compilers live elsewhere: make setup SYSTEM_PACKAGES=skip)"
}

# Run quietly; what it had to say is shown only when it fails.
quietly() {
    local output
    output=$("$@" 2>&1) || { printf '%s\n' "$output" >&2; return 1; }
}

install_packages() {
    local prefix apt wanted
    read -ra prefix <<<"$(apt_prefix)" || true
    [[ ${#prefix[@]} -gt 0 ]] || refuse "$@"
    apt=("${prefix[@]}" DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=l
        apt-get -qq -o DPkg::Lock::Timeout=300)
    quietly "${apt[@]}" update || say "apt-get update failed; trying with the lists that are there"
    # The lists are fresh only now, and with them the newest names.
    read -ra wanted <<<"$(missing_packages)"
    say "installing system packages: ${wanted[*]}"
    quietly "${apt[@]}" install --yes --no-install-recommends "${wanted[@]}" || refuse "${wanted[@]}"
}

ensure_system() {
    local missing
    # Twice: only an installed python3 tells that it is too old.
    for _ in 1 2; do
        read -ra missing <<<"$(missing_packages)"
        [[ ${#missing[@]} == 0 ]] && return
        install_packages "${missing[@]}"
    done
    read -ra missing <<<"$(missing_packages)"
    [[ ${#missing[@]} == 0 ]] || refuse "${missing[@]}"
}

# --- the virtual environment ----------------------------------------------------------------------

# What decides the installed packages, and what decides how memstrat itself is installed.
lock_key() { { echo "$root"; cat requirements.txt; } | sha256sum; }
project_key() { cat pyproject.toml tools/setup.sh | sha256sum; }

is_stamped() { [[ -f $venv/$1 && $(<"$venv/$1") == "$2" ]]; }

identity() { "$1" -c 'import sys; print(sys.version, sys.base_prefix)'; }

# An environment breaks when the interpreter below it is upgraded to another minor version.
venv_works() {
    "$venv/bin/python" -c 'import pip' 2>/dev/null || return 1
    [[ -z ${PYTHON:-} ]] || [[ $(identity "$venv/bin/python") == "$(identity "$PYTHON")" ]]
}

# pip reads the machine's own configuration: index, proxy and certificates are not our business.
pip() { "$venv/bin/python" -m pip --disable-pip-version-check --no-input --quiet "$@"; }

make_venv() {
    local python
    python=$(find_python)
    [[ -n $python ]] || fail "Python 3.11 to 3.14 is needed, and ${PYTHON:-python3} is not" \
        "give another: make setup PYTHON=/path/to/python3"
    say "building .venv with $("$python" --version), packages from requirements.txt"
    "$python" -m venv --clear "$venv"
    # Wheels only: a checkout must not depend on what can be built from source here.
    pip install --require-hashes --no-deps --only-binary :all: --no-compile -r requirements.txt
    # By all CPUs at once, which pip does not do; also where Python may write no bytecode later.
    "$venv/bin/python" -m compileall -q -j 0 "$venv/lib" >/dev/null || true
    pip check
    lock_key >"$venv/lock.stamp"
}

install_memstrat() {
    say "installing memstrat into .venv"
    pip install --no-index --no-build-isolation --no-deps --editable .
    project_key >"$venv/project.stamp"
}

main() {
    # Two set-ups at once would spoil each other's environment.
    if has_command flock; then
        exec 9<"${BASH_SOURCE[0]}"
        flock 9
    fi
    if [[ -n ${PYTHON:-} ]] && ! is_usable "$PYTHON"; then
        fail "PYTHON=$PYTHON is not a Python of version 3.11 to 3.14" \
            "leave it out, or give another: make setup PYTHON=/path/to/python3"
    fi
    ensure_system
    { is_stamped lock.stamp "$(lock_key)" && venv_works; } || make_venv
    { is_stamped project.stamp "$(project_key)" && [[ -x $venv/bin/memstrat ]]; } || install_memstrat
}

main
