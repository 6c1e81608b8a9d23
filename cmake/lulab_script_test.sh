#!/usr/bin/env bash
# Tests ./lulab with stand-ins for cmake, ninja and apt-get: builds take turns, a failing configuration shows why, a
# wrong command is told before a build, a build for the GPU is for the one that is here; the Containerfile installs the
# packages of the script, the .devcontainer is made from it.
# usage: lulab_script_test.sh PATH_OF_LULAB
set -euo pipefail

script=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/checkout" "$folder/tools"
cp "$script" "$folder/checkout/lulab"
export PATH="$folder/tools:$PATH" turns="$folder/turns"

tool() { cat >"$folder/tools/$1"; chmod +x "$folder/tools/$1"; }
tool dpkg-query <<<$'#!/bin/sh\necho installed'
tool ninja <<<$'#!/bin/sh\necho begin >>"$turns"\nsleep ${nap:-0}\necho end >>"$turns"'
tool cmake <<<$'#!/bin/sh\ncase $1 in --version) echo cmake version 3.25.1 ;; *) touch "$2/build/sim/build.ninja" ;; esac'

fail() { printf 'FAILED: %s\n' "$1"; cat "$folder"/*.log; exit 1; }
build() { "$folder/checkout/lulab" --preset sim --no-install build 2>"$folder/$1.log"; }

nap=1 build first &
first=$!
nap=1 build second &
second=$!
wait $first || fail "the first build"
wait $second || fail "the second build"
[ "$(tr '\n' ' ' <"$turns")" = "begin end begin end " ] || fail "two builds ran at once: $(tr '\n' ' ' <"$turns")"
[ "$(cat "$folder"/*.log | grep -c 'another ./lulab is building')" = 1 ] || fail "nobody said that it waits"

# The program that ./lulab runs holds no lock.
mkdir -p "$folder/checkout/build/sim/bin"
ln -s "$(command -v sleep)" "$folder/checkout/build/sim/bin/lulab"
"$folder/checkout/lulab" --preset sim --no-install 30 2>"$folder/program.log" &
program=$!
sleep 2
timeout 10 "$folder/checkout/lulab" --preset sim --no-install build 2>"$folder/third.log" || fail "a running program locks"
kill $program

# Help of a word is its own lines, and begins nothing.
for word in build test replay nightly coverage fuzz docs peers setup packages; do
  rm -f "$turns"
  "$folder/checkout/lulab" --preset sim --no-install $word --help >"$folder/help" 2>"$folder/help.log" ||
    fail "$word --help"
  grep -q "^  $word " "$folder/help" || fail "$word --help says: $(cat "$folder/help")"
  [ "$(grep -c '^  [a-z]' "$folder/help")" = 1 ] || fail "$word --help tells of other words: $(cat "$folder/help")"
  [ ! -e "$turns" ] || fail "$word --help builds"
done

# What failed is replayed, each schedule once; what passed is not.
mkdir -p "$folder/checkout/build/sim/Testing/Temporary"
cat >"$folder/checkout/build/sim/Testing/Temporary/LastTest.log" <<'LOG'
1/3 Testing: a
replay: echo a passed test
Test Passed.
2/3 Testing: b
replay: SEED=3 printenv SEED
replay: SEED=3 printenv SEED
Test Failed.
3/3 Testing: c
  replay: false
Test Failed.
LOG
code=0
"$folder/checkout/lulab" --preset sim --no-install replay >"$folder/replayed" 2>"$folder/replay.log" || code=$?
[ "$code" = 1 ] || fail "a test that fails again ends with $code"
[ "$(cat "$folder/replayed")" = 3 ] || fail "replayed: $(cat "$folder/replayed")"
grep -q '1 of 2 failed again' "$folder/replay.log" || fail "nobody says what failed again"

# What a test command leaves out is added to what its preset leaves out.
tool ctest <<<$'#!/bin/sh\nprintf "%s " "$@"'
"$folder/checkout/lulab" --preset sim-tsan --no-install test -E Slow -E Large >"$folder/left_out" 2>"$folder/test.log"
grep -q -e ' -E Slow|Large|_f32|<float> $' "$folder/left_out" || fail "left out: $(cat "$folder/left_out")"

# Tests of a room: its targets alone are built, its labels alone run.
cp "$folder/tools/ninja" "$folder/ninja_before"
tool ninja <<<$'#!/bin/sh\necho "$*" >>"$folder/ninja"\nprintf "%s_test: phony\\n" solve_cpu solve_simt core_cpu cmake_object_order_depends_target_core_cpu'
export folder
"$folder/checkout/lulab" --preset sim --no-install test --room solve -R Chunk >"$folder/of_room" 2>"$folder/test.log" ||
  fail "tests of a room"
[ "$(cat "$folder/of_room")" = "--test-dir $folder/checkout/build/sim --progress --output-on-failure --no-tests=error \
-j $(nproc) --timeout 600 -LE slow -L /(solve)$ -R Chunk " ] || fail "tests of a room: $(cat "$folder/of_room")"
tail -n 1 "$folder/ninja" | grep -q 'solve_cpu_test solve_simt_test$' || fail "built: $(tail -n 1 "$folder/ninja")"
! "$folder/checkout/lulab" --preset sim --no-install test --room slove 2>"$folder/room.log" || fail "there is a room slove"
grep -q "no tests of a room 'slove' with preset sim; rooms: core solve$" "$folder/room.log" || fail "$(cat "$folder/room.log")"
mv "$folder/ninja_before" "$folder/tools/ninja"

# A night fails by tests and by known bugs that no test finds, not by other mutants that survive.
tool ctest <<<$'#!/bin/sh\necho "$LULAB_SIM_SEEDS schedules" >>"$folder/night"'
tool python3 <<<$'#!/bin/sh\necho "$*" | sed "s/.*--build [^ ]*/mutate/" >>"$folder/night"\n[ "$*" = "${*% --known-bugs}" ]'
tool nvidia-smi <<<$'#!/bin/sh\nexit 9'
mkdir -p "$folder/checkout/fuzz" "$folder/checkout/build/fuzz/bin"
: >"$folder/checkout/fuzz/reader.cpp"
cat >"$folder/checkout/build/fuzz/bin/fuzz_reader" <<<$'#!/bin/sh\necho "fuzz $1" >>"$folder/night"'
chmod +x "$folder/checkout/build/fuzz/bin/fuzz_reader"
export folder
night() {
  : >"$folder/night"
  code=0
  "$folder/checkout/lulab" --no-install nightly 10 >/dev/null 2>"$folder/night.log" || code=$?
  tr '\n' ',' <"$folder/night"
  echo "$code"
}
told=$(night)
[ "$told" = "10 schedules,2 schedules, schedules,mutate --known-bugs,mutate,mutate --known-bugs,mutate,fuzz -max_total_time=3600,1" ] ||
  fail "a night: $told"
tool python3 <<<$'#!/bin/sh\n[ "$*" != "${*% --known-bugs}" ]'
told=$(night)
[ "$told" = "10 schedules,2 schedules, schedules,fuzz -max_total_time=3600,0" ] || fail "a night with survivors: $told"
rm "$folder/tools/ctest" "$folder/tools/python3" "$folder/tools/nvidia-smi"

# On a GPU its own architecture is compiled for, unless nvcc does not know it or the user names others.
tool cmake <<<$'#!/bin/sh\ncase $1 in --version) echo cmake version 3.25.1 ;; *) echo "$*" >"$folder/configured" ;; esac'
tool nvcc <<<$'#!/bin/sh\nprintf "compute_%s\\n" 75 80 86 90'
compiled_for() {
  tool nvidia-smi <<<"$(printf '#!/bin/sh\nprintf "%%s\\n" %s' "$1")"
  CUDACXX=nvcc LULAB_CMAKE_FLAGS=${2:-} "$folder/checkout/lulab" --preset cuda --no-install build 2>"$folder/cuda.log" ||
    fail "a build for the GPU"
  sed 's/.*--preset cuda *//' "$folder/configured"
}
[ "$(compiled_for 9.0)" = "-DCMAKE_CUDA_ARCHITECTURES=90" ] || fail "one GPU: $(cat "$folder/configured")"
[ "$(compiled_for '9.0 8.6 9.0')" = "-DCMAKE_CUDA_ARCHITECTURES=86-real;90" ] || fail "GPUs: $(cat "$folder/configured")"
for capabilities in 12.0 7.5 '9.0 7.5' '[N/A]' ''; do
  [ -z "$(compiled_for "$capabilities")" ] || fail "capabilities '$capabilities': $(cat "$folder/configured")"
done
[ "$(compiled_for 9.0 -DCMAKE_CUDA_ARCHITECTURES=80)" = \
  "-DCMAKE_CUDA_ARCHITECTURES=90 -DCMAKE_CUDA_ARCHITECTURES=80" ] || fail "the user's flags are not the last ones"
rm "$folder/tools/nvcc" "$folder/tools/nvidia-smi"

# A lab that is not there is told before the build.
mkdir "$folder/checkout/labs"
cp "$(dirname "$script")"/labs/labs.py "$(dirname "$script")"/labs/*.json "$folder/checkout/labs"
: >"$turns"
! "$folder/checkout/lulab" --no-install lab check 99 2>"$folder/lab.log" || fail "lab 99 is there"
grep -q "no lab '99'" "$folder/lab.log" || fail "nobody says that there is no lab 99"
[ ! -s "$turns" ] || fail "a build for a lab that is not there"

# Without Python and apt-get.
mkdir "$folder/few"
for name in bash dirname readlink sed sort head; do ln -s "$(command -v "$name")" "$folder/few"; done
cp "$folder/tools/cmake" "$folder/few"
! PATH=$folder/few "$folder/checkout/lulab" lab list 2>"$folder/python.log" || fail "labs without Python"
grep -q 'error: labs need python3' "$folder/python.log" || fail "nobody says that Python is missing"

rm "$folder/checkout/build/sim/build.ninja"
tool cmake <<<$'#!/bin/sh\ncase $1 in --version) echo cmake version 3.25.1 ;; *) echo CMake Error: no Boost; exit 1 ;; esac'
code=0
build broken || code=$?
[ "$code" = 1 ] || fail "a failing configuration exits with $code"
grep -q 'CMake Error: no Boost' "$folder/broken.log" || fail "CMake's lines are missing"
grep -q 'CMake could not configure' "$folder/broken.log" || fail "no message"

# The steps of the Containerfile install what `packages` prints. Tools that are here count as installed, libraries not.
"$folder/checkout/lulab" packages >"$folder/packages"
for name in g++ cmake libsuitesparse-dev libgtest-dev; do
  grep -qx "$name" "$folder/packages" || fail "packages does not print $name"
done
mkdir "$folder/image"
tool dpkg-query <<<$'#!/bin/sh\nexit 1'
tool apt-get <<<$'#!/bin/sh\necho "$*" >>"$asked"'
tool id <<<$'#!/bin/sh\necho 0'
export asked="$folder/apt-get.log"
copied=
while read -r word rest; do
  case $word in
    COPY) copied=${rest#* }; cp "$(dirname "$script")/${rest%% *}" "$folder/image/lulab" ;;
    RUN) (cd "$folder/image" && bash -ec "${rest//"$copied"/$folder/image/lulab}") 2>"$folder/image.log" ||
      fail "a step of the Containerfile: $rest" ;;
  esac
done <"$(dirname "$script")/Containerfile"
for name in $(grep -e '-dev$' "$folder/packages") libopenmpi-dev; do
  grep -q "^install .* $name\\( \\|\$\\)" "$asked" || fail "the Containerfile does not install $name"
done

grep -q '"dockerfile": "../Containerfile"' "$(dirname "$script")/.devcontainer/devcontainer.json" ||
  fail "the .devcontainer is not made from the Containerfile"

# Homebrew's names: each once, for every package that has one.
"$folder/checkout/lulab" packages --brew >"$folder/brew" 2>"$folder/brew.log"
for name in gcc ninja suite-sparse boost bash; do grep -qx "$name" "$folder/brew" || fail "packages --brew lacks $name"; done
[ -z "$(sort "$folder/brew" | uniq -d)" ] || fail "packages --brew prints a name twice"
! grep -q -e '-dev$' "$folder/brew" || fail "packages --brew prints a name of Debian: $(grep -e '-dev$' "$folder/brew")"
! "$folder/checkout/lulab" packages --rpm 2>"$folder/rpm.log" || fail "packages takes any option"
echo "passed"
