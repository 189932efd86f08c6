#!/usr/bin/env bash
# Write requirements.txt: every package that `make setup` installs, pinned, with hashes.
#
# uv resolves once for all interpreters from 3.11 on (lines with a marker are for some); it is taken from PATH, or put into a throw-away
# environment. The file names no index: whoever installs uses the index of their own machine.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

uv=$(command -v uv || true)
if [[ -z $uv ]]; then
    .venv/bin/python -m venv "$scratch/venv"
    "$scratch/venv/bin/python" -m pip install --quiet uv
    uv=$scratch/venv/bin/uv
fi

{
    echo "# Written by \`make lock\` from pyproject.toml (memstrat and its extras dev and notebook)."
    "$uv" pip compile pyproject.toml --extra dev --extra notebook --universal --upgrade \
        --python-version 3.11 --generate-hashes \
        --no-header --no-emit-index-url --no-emit-find-links --quiet
} >"$scratch/requirements.txt"
mv "$scratch/requirements.txt" requirements.txt
