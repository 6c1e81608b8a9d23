#!/usr/bin/env bash
# Goes the way of a newcomer in an empty Debian tree: what a user without root is told, the steps of the Containerfile,
# every optional package (not installed, only found), a configuration, the list of the labs.
# Needs root, debootstrap and the network. Exit code 77, skipped, without them, and where the network is slow.
# usage: empty_debian_test.sh PATH_OF_CHECKOUT [--build]
#   --build: the command of the .devcontainer and a check of lab 1, too; minutes
set -euo pipefail

checkout=$1 build=${2:-}
skip() { printf 'SKIPPED: %s\n' "$1"; exit 77; }
fail() { printf 'FAILED: %s\n' "$1"; exit 1; }
begin=$SECONDS
say() { printf '%3d s  %s\n' $((SECONDS - begin)) "$1"; }
suite=$(sed -n 's/^FROM .*debian:\([a-z]*\).*/\1/p' "$checkout/Containerfile")
[ -n "$suite" ] || fail "the Containerfile does not begin with a suite of Debian by its name, FROM debian:NAME-slim"
[ "$(id -u)" = 0 ] || skip "only root can change into another tree"
command -v debootstrap >/dev/null || skip "no debootstrap; install it: apt-get install debootstrap"

# In a mount namespace of its own: what is mounted goes with the last process, even if this one is killed.
if [ -z "${in_own_mounts:-}" ]; then
  unshare --mount true 2>/dev/null || skip "this machine allows no mounts"
  in_own_mounts=yes exec unshare --mount bash "$0" "$@"
fi

folder=$(mktemp -d -p /var/tmp lulab_empty_debian.XXXXXX)  # often /tmp allows no devices
tree=$folder/tree
leave() { umount -R --lazy "$folder" || true; rm -rf --one-file-system "$folder" || true; }
trap leave EXIT
trap 'exit 130' INT TERM
# In memory, where there is enough, also for this container: 45 s in the place of 70 on two cores.
room=$({
  awk '/^MemAvailable/ { printf "%.0f\n", $2 * 1024 }' /proc/meminfo
  grep -hsx '[0-9]*' /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes || true
} | sort -n | head -n 1)
place=(--bind "$folder")
((room < 6 << 30)) || place=(-t tmpfs -o size=4g tmpfs)
mount "${place[@]}" "$folder" || skip "this machine allows no mounts"
mkdir "$tree"

# From the mirror that this machine uses.
mirror=$(apt-get indextargets --format "\$(REPO_URI)" "Created-By: Packages" "Origin: Debian" "Codename: $suite" 2>/dev/null |
  sed -n '/^http/{s#/*$##p;q}') || mirror=
[ -n "$mirror" ] || skip "apt knows no mirror of Debian $suite here"
if ! wget -nv --timeout=10 --tries=2 -O /dev/null "$mirror/dists/$suite/Release" >"$folder/log" 2>&1; then
  ! grep -q 'ERROR 404' "$folder/log" || fail "there is no Debian $suite at $mirror"
  skip "no answer from $mirror: $(tail -n 1 "$folder/log")"
fi
# limited SECONDS LABEL COMMAND...: a slow network must not use up the time of the other tests. 0: no limit.
limited() {
  local code=0
  timeout "$1" "${@:3}" >"$folder/log" 2>&1 || code=$?
  ((code)) || return 0
  ((code != 124)) || skip "a slow network: more than $1 s for $2"
  ! grep -E 'Could not connect|Connection (failed|timed out)|Temporary failure resolving' "$folder/log" ||
    skip "no network: $2"
  cat "$folder/log"
  fail "in the empty tree: $2"
}
limited 80 debootstrap debootstrap --variant=minbase "$suite" "$tree" "$mirror"
cp /etc/resolv.conf "$tree/etc/resolv.conf"
echo 'Acquire { http::Timeout "10"; https::Timeout "10"; Retries "1"; };' >"$tree/etc/apt/apt.conf.d/99timeout"
mount -t proc proc "$tree/proc"
say "an empty tree of Debian $suite"

mapfile -t proxies < <(env | grep -i '^[a-z]*_proxy=')
enter=("$tree" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin "${proxies[@]}" bash -ec)
inside() { limited "${2:-0}" "$1" chroot "${enter[@]}" "$1"; say "$1"; }
mkdir "$tree/lulab"
tar -C "$checkout" --exclude=./build --exclude=./.git --exclude=./my_labs -cf - . | tar -C "$tree/lulab" -xf -

# Without root and sudo nothing can be installed: then the command that does it is told.
told=$(chroot --userspec=nobody:nogroup "${enter[@]}" 'cd /lulab && ./lulab --preset sim setup' 2>&1) &&
  fail "a user without root installs packages"
[[ $told == *"as root run: apt-get install g++ cmake "* ]] || fail "a user without root is told: $told"
say "a user without root is told what to run"

steps=0
while read -r word rest; do
  case $word in
    COPY)
      read -r from to <<<"$rest"
      mkdir -p "$tree$(dirname "$to")"
      cp "$checkout/$from" "$tree$to"
      ;;
    RUN) inside "$rest" 80; steps=$((steps + 1)) ;;
  esac
done <"$checkout/Containerfile"
((steps)) || fail "the Containerfile runs nothing"

inside 'cd /lulab && ./lulab --no-install doctor'
# shellcheck disable=SC2016  # expanded in the tree
inside 'cd /lulab && names=$(./lulab packages --all) && [ -n "$names" ] && apt-get install --simulate --no-install-recommends $names'
inside 'cd /lulab && cmake --preset sim'
inside 'cd /lulab && ./lulab --no-install lab list | grep 01_argmax'
if [ "$build" = --build ]; then
  inside "cd /lulab && $(sed -n 's/.*"postCreateCommand": "\(.*\)".*/\1/p' "$checkout/.devcontainer/devcontainer.json")"
  inside 'cd /lulab && ./lulab --no-install verify tutorials/example.mtx --rung 01_sflu'
  inside 'cd /lulab && ./lulab lab start 1 && (./lulab lab check 1 || true) | grep "lab 01_argmax is not implemented"'
fi
echo "passed"
