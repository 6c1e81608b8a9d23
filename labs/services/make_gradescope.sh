#!/usr/bin/env bash
# Makes the archive that Gradescope asks for, from the last commit.
#
#   labs/services/make_gradescope.sh 3,8 4711 autograder.zip      labs, seed of the random inputs, file
set -euo pipefail
[ $# = 3 ] || { sed -n '2,4p' "${BASH_SOURCE[0]}"; exit 2; }
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

git -C "$here/../.." archive --format=tar.gz -o "$folder/lulab.tar.gz" HEAD ||
  { printf 'lulab: error: this must be a git checkout\n' >&2; exit 1; }
printf 'labs=%q\nseed=%q\n' "$1" "$2" > "$folder/lulab.conf"
cp "$here/setup.sh" "$here/run_autograder" "$folder"
python3 - "$folder" "$3" <<'PYTHON'
import sys, zipfile
from pathlib import Path
with zipfile.ZipFile(sys.argv[2], "w", zipfile.ZIP_DEFLATED) as archive:
    for path in sorted(Path(sys.argv[1]).iterdir()):
        archive.write(path, path.name)
PYTHON
