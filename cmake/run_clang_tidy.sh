#!/usr/bin/env bash
# clang-tidy with the checks of .clang-tidy over libraries and programs, not over their tests; kernels as C++ for the host.
#   cmake/run_clang_tidy.sh [REGEX ...]   only files whose path matches, for example  cmake/run_clang_tidy.sh solve/
#   LULAB_TIDY_TESTS=ON cmake/run_clang_tidy.sh   the tests, too
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# A configuration of its own: clang cannot read the headers that g++ has precompiled, and nothing is built here. All
# files take half of the time in groups; there unused using-declarations and aliases escape. Files chosen by their path
# are looked at one by one.
unity=ON
if (($#)); then unity=OFF; fi
cmake -S . -B build/tidy -G Ninja -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON -DLULAB_TESTS="${LULAB_TIDY_TESTS:-OFF}" \
  -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DLULAB_UNITY=$unity >/dev/null
mkdir -p build/tidy
log=build/tidy/clang-tidy.log
# g++ lets a template with default arguments stand for one with fewer parameters (C++17); clang 14 wants to be asked.
arguments=(-extra-arg=-Wno-unknown-warning-option -extra-arg=-frelaxed-template-template-args)
if ! run-clang-tidy-14 -quiet -p build/tidy -j "$(nproc)" "${arguments[@]}" "$@" >"$log" 2>/dev/null; then
  grep -A 3 -E '(warning|error): ' "$log" || cat "$log"
  echo "clang-tidy: fix these, or, where the finding is wrong, say why in a comment // NOLINT(check): reason" >&2
  exit 1
fi
echo "clang-tidy: nothing found in $(grep -c '^clang-tidy' "$log") files"
