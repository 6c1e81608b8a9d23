#!/usr/bin/env bash
# Runs the steps of the Containerfile in an empty Debian tree, then builds and runs ./lulab there as a newcomer would.
# Needs root, mmdebstrap and the network: some minutes. Exit code 77, skipped, where one of the first two is missing.
# usage: empty_debian_test.sh PATH_OF_CHECKOUT
set -euo pipefail

checkout=$1
skip() { printf 'skipped: %s\n' "$1"; exit 77; }
[ "$(id -u)" = 0 ] || skip "only root can change into another tree"
command -v mmdebstrap >/dev/null || skip "no mmdebstrap; apt-get install mmdebstrap"

suite=$(sed -n 's/^FROM .*debian:\([a-z]*\).*/\1/p' "$checkout/Containerfile")
folder=$(mktemp -d)
tree=$folder/tree
leave() {
  umount "$tree/proc" "$tree/dev" 2>/dev/null || true
  rm -rf --one-file-system "$folder"
}
trap leave EXIT
mmdebstrap --quiet --variant=minbase "$suite" "$tree"
cp /etc/resolv.conf "$tree/etc/resolv.conf"
mount -t proc proc "$tree/proc"
mount --bind /dev "$tree/dev"

inside() { chroot "$tree" /usr/bin/env HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin bash -ec "$1"; }
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
((steps)) || { echo "FAILED: the Containerfile runs nothing"; exit 1; }

mkdir "$tree/lulab"
tar -C "$checkout" --exclude=./build --exclude=./.git --exclude=./my_labs -cf - . | tar -C "$tree/lulab" -xf -
inside 'cd /lulab && ./lulab --no-install doctor'
inside 'cd /lulab && ./lulab --no-install verify tutorials/example.mtx --rung 01_sflu'
echo "passed"
