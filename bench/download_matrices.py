#!/usr/bin/env python3
"""Fetch matrices of the SuiteSparse Matrix Collection that the benchmarks and tests use, as Matrix Market files.

    bench/download_matrices.py                        the circuit and power matrices of the sets
    bench/download_matrices.py memplus Bomhof/circuit_1
    bench/download_matrices.py --to /data/matrices add20
    LULAB_MATRICES=/data/matrices ./lulab bench       where tests and benchmarks look for them

A name without its group must be one of those that this file knows (--list). Files that are there are kept.
Source: https://sparse.tamu.edu (CC-BY 4.0), T. A. Davis and Y. Hu, The University of Florida Sparse Matrix Collection,
ACM Transactions on Mathematical Software 38(1), 2011.
"""
import argparse
import gzip
import io
import pathlib
import shutil
import sys
import tarfile
import urllib.error
import urllib.request

COLLECTION = "https://sparse.tamu.edu/MM"
GROUPS = {
    "add20": "Hamm", "add32": "Hamm", "memplus": "Hamm", "circuit_1": "Bomhof", "rajat01": "Rajat", "rajat11": "Rajat",
    "rajat19": "Rajat", "fpga_dcop_01": "Sandia", "oscil_dcop_01": "Sandia", "adder_dcop_05": "Sandia",
    "bayer10": "Grund",
    "west0479": "HB", "west0497": "HB", "saylr3": "HB", "will199": "HB", "mcca": "HB", "nos7": "HB",
    "af23560": "Bai", "cage10": "vanHeukelum", "G3_circuit": "AMD",
}
DEFAULT = ["add20", "add32", "memplus", "circuit_1", "rajat19", "fpga_dcop_01", "oscil_dcop_01", "west0479", "saylr3",
           "af23560", "cage10"]


def group_and_name(text):
    """("Hamm", "memplus") of "memplus" or "Hamm/memplus"."""
    group, slash, name = text.rpartition("/")
    if not slash:
        group = GROUPS.get(name, "")
    if not group or not name:
        raise ValueError(f"'{text}': give it as GROUP/NAME, or one of: {' '.join(sorted(GROUPS))}")
    return group, name


def write_gzip(text, path):
    """A .gz without name and time inside: the same bytes on every machine. Complete or not there at all."""
    partial = path.with_suffix(".partial")
    with open(partial, "wb") as raw, gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as packed:
        shutil.copyfileobj(text, packed)
    partial.rename(path)


def unpack(archive, name, folder):
    """NAME.mtx, and NAME_b.mtx where there is one, of the collection's tar file as .mtx.gz in folder."""
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as tar:
        found = False
        for member in tar.getmembers():
            file = pathlib.PurePosixPath(member.name).name
            if member.isfile() and file in (f"{name}.mtx", f"{name}_b.mtx"):
                write_gzip(tar.extractfile(member), folder / f"{file}.gz")
                found = found or file == f"{name}.mtx"
        if not found:
            raise ValueError(f"the archive holds no {name}.mtx")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=DEFAULT, help="NAME or GROUP/NAME")
    parser.add_argument("--to", type=pathlib.Path, default=pathlib.Path("shared/matrices"),
                        help="folder (default: %(default)s)")
    parser.add_argument("--list", action="store_true", help="print the names that need no group")
    options = parser.parse_args(arguments)
    if options.list:
        print("\n".join(f"{group}/{name}" for name, group in sorted(GROUPS.items())))
        return 0
    try:
        wanted = [group_and_name(text) for text in options.names]
    except ValueError as error:
        print(f"download_matrices: {error}", file=sys.stderr)
        return 2
    options.to.mkdir(parents=True, exist_ok=True)
    failed = 0
    for group, name in wanted:
        if (options.to / f"{name}.mtx.gz").exists() or (options.to / f"{name}.mtx").exists():
            print(f"{name}: already there")
            continue
        try:
            with urllib.request.urlopen(f"{COLLECTION}/{group}/{name}.tar.gz", timeout=60) as answer:
                unpack(answer.read(), name, options.to)
            print(f"{name}: {options.to / name}.mtx.gz")
        except (urllib.error.URLError, tarfile.TarError, ValueError, OSError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
