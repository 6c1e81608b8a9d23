#!/usr/bin/env bash
# Installs the Python package into build/python-venv and runs its tests.   python/test.sh [PYTEST ARGUMENTS]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
venv=build/python-venv
[ -x $venv/bin/python ] || python3 -m venv $venv
$venv/bin/python -m pip install --quiet "scikit-build-core>=0.10" "nanobind>=2.10" numpy scipy pytest
$venv/bin/python -m pip install --quiet --no-build-isolation --no-deps --force-reinstall .
$venv/bin/python -m pytest -q "$@"
