#!/usr/bin/env bash
# Gradescope runs this once, as root, when it makes the image: unpacks the project, installs what it needs, and builds
# the program that checks. Beside it in the archive lie run_autograder, lulab.conf and lulab.tar.gz.
set -euo pipefail
root=${AUTOGRADER:-/autograder}

mkdir -p "$root/lulab"
tar -xzf "$root/source/lulab.tar.gz" -C "$root/lulab"
cd "$root/lulab"
./lulab --preset sim build labs_simt_test
chmod 600 "$root/source/lulab.conf"
