#!/usr/bin/env bash
# Goes the way of a newcomer in an empty Debian tree: what a user without root is told, the steps of the Containerfile,
# every optional package (not installed, only found), a configuration, the list of the labs.
# Needs root, debootstrap (installed where it is missing) and the network. Exit code 77, skipped, without them.
# usage: empty_debian_test.sh PATH_OF_CHECKOUT [--build]
#   --build: the command of the .devcontainer and a check of lab 1, too; minutes
set -euo pipefail

checkout=$1 build=${2:-}
skip() { printf 'SKIPPED: %s\n' "$1"; exit 77; }
fail() { printf 'FAILED: %s\n' "$1"; exit 1; }
begin=$SECONDS
say() { printf '%3d s  %s\n' $((SECONDS - begin)) "$1"; }
[ "$(id -u)" = 0 ] || skip "only root can change into another tree"
command -v debootstrap >/dev/null || apt-get install -y -qq --no-install-recommends debootstrap >/dev/null 2>&1 ||
  skip "no debootstrap, and apt-get could not install it"

suite=$(sed -n 's/^FROM .*debian:\([a-z]*\).*/\1/p' "$checkout/Containerfile")
mkdir -p "$checkout/build"
folder=$(mktemp -d "$checkout/build/empty_debian.XXXXXX")
tree=$folder/tree
mkdir "$tree"
leave() {
  local mounted
  for mounted in "$tree/proc" "$tree/dev" "$tree"; do
    ! mountpoint -q "$mounted" || umount "$mounted" || umount --lazy "$mounted"
  done
  rm -rf --one-file-system "$folder"
}
trap leave EXIT
trap 'exit 130' INT TERM

# In memory, where there is enough: thousands of small files, each written with a sync.
(($(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo) < 6000000)) || mount -t tmpfs -o size=4g tmpfs "$tree" ||
  printf 'no tmpfs here: on the disk it takes longer\n'
# From the mirror that this machine uses, where it has one of Debian; else from debootstrap's own.
mirror=$(apt-get indextargets --format "\$(REPO_URI)" "Created-By: Packages" "Origin: Debian" "Codename: $suite" 2>/dev/null |
  head -n 1) || mirror=
read -r -a from <<<"$mirror"
debootstrap --variant=minbase "$suite" "$tree" "${from[@]}" >"$folder/log" 2>&1 ||
  skip "debootstrap cannot make a tree of Debian $suite here: $(tail -n 1 "$folder/log")"
cp /etc/resolv.conf "$tree/etc/resolv.conf"
if ! mount -t proc proc "$tree/proc" || ! mount --bind /dev "$tree/dev"; then skip "this machine allows no mounts"; fi
say "an empty tree of Debian $suite"

as() { chroot --userspec="$1" "$tree" /usr/bin/env HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin bash -ec "$2"; }
inside() {
  as root:root "$1" >"$folder/log" 2>&1 || { cat "$folder/log"; fail "in the empty tree: $1"; }
  say "$1"
}
mkdir "$tree/lulab"
tar -C "$checkout" --exclude=./build --exclude=./.git --exclude=./my_labs -cf - . | tar -C "$tree/lulab" -xf -

# Without root and sudo nothing can be installed: then the command that does it is told.
told=$(as nobody:nogroup 'cd /lulab && LULAB_PRESET=sim ./lulab setup' 2>&1) && fail "a user without root installs packages"
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
    RUN) inside "$rest"; steps=$((steps + 1)) ;;
  esac
done <"$checkout/Containerfile"
((steps)) || fail "the Containerfile runs nothing"

inside 'cd /lulab && ./lulab --no-install doctor'
# shellcheck disable=SC2016  # expanded in the tree
inside 'cd /lulab && apt-get install --simulate --no-install-recommends $(./lulab packages --all)'
inside 'cd /lulab && cmake --preset sim'
inside 'cd /lulab && ./lulab --no-install lab list | grep 01_argmax'
if [ "$build" = --build ]; then
  inside "cd /lulab && $(sed -n 's/.*"postCreateCommand": "\(.*\)".*/\1/p' "$checkout/.devcontainer/devcontainer.json")"
  inside 'cd /lulab && ./lulab --no-install verify tutorials/example.mtx --rung 01_sflu'
  inside 'cd /lulab && ./lulab lab start 1 && (./lulab lab check 1 || true) | grep "lab 01_argmax is not implemented"'
fi
echo "passed"
