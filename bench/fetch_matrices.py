#!/usr/bin/env python3
"""Fetch matrices of the SuiteSparse Matrix Collection, as Matrix Market files: ./lulab fetch NAME ...

    ./lulab fetch                            what there is, and what of it is here
    ./lulab fetch circuits                   those of the collection that benchmarks use, 8 MB
    ./lulab fetch papers                     those of the papers' tables, above 1 GB; also: chen, glu3, sflu, gsofa
    ./lulab fetch memplus Norris/torso3      by name; one that is not in the list with its group
    ./lulab fetch papers --from DIR          without a network: NAME.tar.gz, .mtx or .mtx.gz in DIR or below
    ./lulab fetch papers --stand-ins         what cannot be had is generated, of its kind and order:
                                             NAME_stand_in.mtx.gz
    LULAB_MATRICES=/data ./lulab bench       where tests and benchmarks look for them, and where fetch puts them

A download that was stopped goes on where it was. A file counts only if its size line has the order and the number of
entries that the collection's index has, and if as many lines follow. Files that are here are kept.
Source: https://sparse.tamu.edu (CC-BY 4.0), T. A. Davis and Y. Hu, The University of Florida Sparse Matrix Collection,
ACM Transactions on Mathematical Software 38(1), 2011.
"""
import argparse
import dataclasses
import gzip
import http.client
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import time
import urllib.error
import urllib.request
import zlib

COLLECTION = "https://sparse.tamu.edu/MM"
SECONDS_TO_RETRY = 2
PAPERS = ("chen", "glu3", "sflu", "gsofa")
# Group, name, order, entries (both triangles of a symmetric matrix), family of the stand-in, sets. From ssstats.csv.
TABLE = """
Hamm add32 4960 23884 logic_rent chen circuits
Hamm hcircuit 105676 513072 logic_rent chen glu3
Hamm add20 2395 17319 logic_rent chen circuits
Hamm bcircuit 68902 375558 logic_rent chen
Bomhof circuit_4 80209 307604 logic_rent chen glu3
Hamm scircuit 170998 958936 logic_rent chen
Rajat rajat03 7602 32653 logic_rent chen
IBM_Austin coupled 11341 98523 logic_rent chen
Rajat rajat15 37261 443573 logic_rent chen glu3
Rajat rajat18 94294 485143 logic_rent chen
Rajat Raj1 263743 1302464 logic_rent chen glu3
Freescale transient 178866 961790 logic_rent chen
Rajat rajat24 358172 1948235 logic_rent chen
Sandia ASIC_680k 682862 3871773 logic_rent chen
ATandT onetone2 36057 227628 logic_rent chen glu3
Sandia ASIC_680ks 682712 2329176 logic_rent chen glu3
Sandia ASIC_320k 321821 2635364 logic_rent chen
Sandia ASIC_100k 99340 954163 logic_rent chen
Sandia ASIC_320ks 321671 1827807 logic_rent chen glu3
Sandia ASIC_100ks 99190 578890 logic_rent chen glu3
ATandT onetone1 36057 341088 logic_rent chen
AMD G2_circuit 150102 726674 power_grid chen
ATandT twotone 120750 1224224 logic_rent chen gsofa
Rajat rajat12 1879 12926 logic_rent glu3
Bomhof circuit_2 4510 21199 logic_rent glu3 sflu
Hamm memplus 17758 126150 logic_rent glu3 sflu circuits
Rajat rajat27 20640 99777 logic_rent glu3 sflu
Rajat rajat26 51032 249302 logic_rent glu3
Rajat rajat20 86916 605045 logic_rent glu3
AMD G3_circuit 1585478 7660826 power_grid glu3
Sandia adder_dcop_42 1813 11246 logic_rent sflu
Sandia fpga_dcop_13 1220 5892 logic_rent sflu
Hamrle Hamrle2 5952 22162 logic_rent sflu
Rajat rajat22 39899 197264 logic_rent sflu
Sandia mult_dcop_03 25187 193216 logic_rent sflu
Simon bbmat 38744 1771722 convection2d gsofa
HB bcsstk18 11948 149090 grid3d gsofa
Averous epb2 25228 175027 convection2d gsofa
Hollinger g7jac200sc 59310 837936 random_dominant gsofa
Mallya lhr71c 70304 1528092 random_dominant gsofa
Hollinger mark3jac140 64089 399735 random_dominant gsofa
Bova rma10 46835 2374001 convection2d gsofa
GHS_psdef audikw_1 943695 77651847 grid3d gsofa
Dziekonski dielFilterV2real 1157456 48538952 grid3d gsofa
Hamrle Hamrle3 1447360 5514242 logic_rent gsofa
ATandT pre2 659033 5959282 logic_rent gsofa
Norris stomach 213360 3021648 grid3d gsofa
Bomhof circuit_1 2624 35823 logic_rent circuits
Rajat rajat19 1157 5399 logic_rent circuits
Sandia fpga_dcop_01 1220 5892 logic_rent circuits
Sandia oscil_dcop_01 430 1544 logic_rent circuits
HB west0479 479 1910 random_dominant circuits
HB saylr3 1000 3750 convection2d circuits
Bai af23560 23560 484256 convection2d circuits
vanHeukelum cage10 11397 150645 random_dominant circuits
Rajat rajat01 6833 43250 logic_rent
Rajat rajat11 135 812 logic_rent
Sandia adder_dcop_05 1813 11097 logic_rent
Grund bayer10 13436 94926 random_dominant
HB west0497 497 1727 random_dominant
HB will199 199 701 random_dominant
HB mcca 180 2659 grid3d
HB nos7 729 4617 grid3d
HB 1138_bus 1138 4054 power_grid circuits
HB bcsstk13 2003 83883 grid3d circuits
HB bcsstk16 4884 290378 grid3d circuits
Bai cryg2500 2500 12349 convection2d circuits
HB jpwh_991 991 6027 random_dominant circuits
HB orsirr_2 886 5970 convection2d circuits
HB orsreg_1 2205 14133 convection2d circuits
Bai pde900 900 4380 convection2d circuits
HB watt_2 1856 11550 convection2d circuits
"""


class Mistake(Exception):
    """Why a matrix cannot be had, for people."""


DAMAGED = (Mistake, tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, ValueError)  # what comes is no matrix


@dataclasses.dataclass
class Matrix:
    group: str
    name: str
    order: int = 0  # 0: not known, not checked
    entries: int = 0
    family: str = ""
    sets: tuple = ()


def known():
    matrices = {}
    for line in TABLE.split("\n"):
        if words := line.split():
            matrices[words[1]] = Matrix(words[0], words[1], int(words[2]), int(words[3]), words[4], tuple(words[5:]))
    return matrices


def wanted(words, matrices):
    """The matrices of names and sets, each once."""
    found = {}
    for word in words:
        sets = PAPERS if word == "papers" else (word,)
        group, slash, name = word.rpartition("/")
        of_set = [m for m in matrices.values() if set(sets) & set(m.sets)]
        if of_set:
            found |= {m.name: m for m in of_set}
        elif name in matrices and group in ("", matrices[name].group):
            found[name] = matrices[name]
        elif slash and group and name:
            found[name] = Matrix(group, name)
        else:
            raise Mistake(f"'{word}' is neither a set (circuits, papers, {', '.join(PAPERS)}) nor in the list that "
                          "./lulab fetch prints; give others as GROUP/NAME")
    return list(found.values())


def default_folder(root):
    """Where lulab looks: LULAB_MATRICES, else the first shared/matrices of root and those above it; else root's."""
    if given := os.environ.get("LULAB_MATRICES"):
        return pathlib.Path(given)
    return next((f for f in (up / "shared/matrices" for up in (root, *root.parents)) if f.is_dir()),
                root / "shared/matrices")


def here(matrix, folder):
    return next((p for end in (".mtx.gz", ".mtx") if (p := folder / (matrix.name + end)).is_file()), None)


# --- getting ----------------------------------------------------------------------------------------------------------


def download(matrix, folder):
    """GROUP-NAME.tar.gz in folder; goes on with what is there of it."""
    path = folder / f"{matrix.group}-{matrix.name}.tar.gz"
    partial = path.with_name(path.name + ".partial")
    if path.is_file():  # not unpacked to the end
        return path
    folder.mkdir(parents=True, exist_ok=True)
    for attempt in range(3):
        have = partial.stat().st_size if partial.is_file() else 0
        request = urllib.request.Request(f"{COLLECTION}/{matrix.group}/{matrix.name}.tar.gz")
        if have:
            request.add_header("Range", f"bytes={have}-")
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                goes_on = have > 0 and answer.status == 206
                if not goes_on:
                    have = 0
                length = answer.headers.get("Content-Length")
                with open(partial, "ab" if goes_on else "wb") as out:
                    copied = copy(answer, out, matrix.name, have, int(length) + have if length else None)
            if length is None or copied == int(length):
                partial.rename(path)
                return path
            error = f"the connection ended after {copied} of {length} bytes"
        except urllib.error.HTTPError as refused:
            if refused.code == 416:  # what is there is no part of the file
                partial.unlink()
                error = str(refused)
            else:
                raise Mistake(f"{request.full_url}: {refused}") from refused
        except (urllib.error.URLError, http.client.HTTPException, OSError) as broken:
            error = str(getattr(broken, "reason", broken))
        if attempt < 2:
            time.sleep(SECONDS_TO_RETRY)
    raise Mistake(f"{request.full_url}: {error}; call it again to go on, or use --from or --stand-ins")


def copy(source, out, name, done, total):
    """Returns how many bytes came."""
    before, shown, told = done, time.monotonic(), False
    while block := source.read(1 << 20):
        out.write(block)
        done += len(block)
        if time.monotonic() - shown > (0.5 if sys.stderr.isatty() else 10):
            shown = time.monotonic()
            of = f" of {total / 1e6:.1f}" if total else ""
            told = sys.stderr.isatty()
            print(f"\r{name}: {done / 1e6:.1f}{of} MB", end="" if told else "\n", file=sys.stderr)
    if told:
        print(file=sys.stderr)
    return done - before


def unpack(archive, matrix, folder):
    """NAME.mtx, and NAME_b.mtx where there is one, of the collection's tar file as .mtx.gz in folder."""
    found = False
    with tarfile.open(archive, mode="r:gz") as tar:
        for member in tar:
            file = pathlib.PurePosixPath(member.name).name
            if member.isfile() and file in (f"{matrix.name}.mtx", f"{matrix.name}_b.mtx"):
                is_matrix = file == f"{matrix.name}.mtx"
                keep(tar.extractfile(member), folder / f"{file}.gz", matrix if is_matrix else None)
                found = found or is_matrix
    if not found:
        raise Mistake(f"{archive} holds no {matrix.name}.mtx")


def keep(text, path, matrix):
    """A .gz without name and time inside, the same bytes on every machine; complete and checked, or not there."""
    partial = path.with_suffix(".partial")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with open(partial, "wb") as raw, gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as packed:
            shutil.copyfileobj(Checked(text, matrix) if matrix else text, packed)
        partial.rename(path)
    finally:
        partial.unlink(missing_ok=True)


class Checked:
    """A stream of the text that raises where it is not the matrix."""

    def __init__(self, text, matrix):
        self.text, self.matrix, self.lines, self.size, self.symmetric = text, matrix, 0, None, False

    def read(self, _):
        line = self.text.readline(1 << 16)
        if not line:
            self.at_end()
        elif self.size is None:
            if not line.startswith(b"%"):
                self.size = [int(word) for word in line.split() if word.isdigit()]
                self.at_size()
            elif line.startswith(b"%%"):
                self.symmetric = b"symmetric" in line.lower()
        elif line.strip():
            self.lines += 1
        return line

    def at_size(self):
        m = self.matrix
        if len(self.size) != 3:
            raise Mistake(f"{m.name}.mtx has no size line of three numbers")
        rows, columns, stored = self.size
        least, most = (m.entries / 2, (m.entries + m.order) / 2) if self.symmetric else (m.entries, m.entries)
        if m.order and (rows != m.order or columns != m.order or not least <= stored <= most):
            raise Mistake(f"{m.name}.mtx is another matrix: {rows} x {columns} with {stored} entries stored; the "
                          f"collection's has order {m.order} and {m.entries} entries")

    def at_end(self):
        if self.size is None or self.lines != self.size[2]:
            raise Mistake(f"{self.matrix.name}.mtx ends after {self.lines} of "
                          f"{self.size[2] if self.size else 'an unknown number of'} entries")


def from_folder(matrix, source, folder):
    """Takes NAME.tar.gz, NAME.mtx.gz or NAME.mtx of a folder or of one below it."""
    for end in (".tar.gz", ".mtx.gz", ".mtx"):
        for path in sorted(source.rglob(matrix.name + end)):
            if end == ".tar.gz":
                unpack(path, matrix, folder)
            else:
                with gzip.open(path) if end == ".mtx.gz" else open(path, "rb") as text:
                    keep(text, folder / f"{matrix.name}.mtx.gz", matrix)
            return
    raise Mistake(f"{source} and the folders below hold no {matrix.name}.tar.gz, .mtx.gz or .mtx")


def stand_in(matrix, lulab, folder):
    if not matrix.family:
        raise Mistake(f"nothing is known of {matrix.name} that a stand-in could have")
    path = folder / f"{matrix.name}_stand_in.mtx.gz"
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([lulab, "gen", matrix.family, "-n", str(matrix.order), "-o", path], check=True,
                   stdout=subprocess.DEVNULL)
    return path


def get(matrix, options):
    """Says what became of it."""
    if path := here(matrix, options.to):
        return f"{path}, already here"
    try:
        if options.source:
            from_folder(matrix, options.source, options.to)
        else:
            archive = download(matrix, options.to)
            try:
                unpack(archive, matrix, options.to)
            except DAMAGED:
                archive.unlink()
                raise
            archive.unlink()
    except (OSError, *DAMAGED) as mistake:
        if not options.stand_ins:
            raise
        return f"{stand_in(matrix, options.programs / 'lulab', options.to)}, generated: {mistake}"
    return str(options.to / f"{matrix.name}.mtx.gz")


def main(arguments=None):
    root = pathlib.Path(__file__).resolve().parents[1]
    parser = argparse.ArgumentParser(prog="lulab fetch", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="circuits, papers, chen, glu3, sflu, gsofa, NAME or GROUP/NAME")
    parser.add_argument("--to", type=pathlib.Path, help="folder (default: where lulab looks for matrices)")
    parser.add_argument("--from", dest="source", type=pathlib.Path, metavar="DIR", help="take them from this folder")
    parser.add_argument("--stand-ins", action="store_true", help="generate what cannot be had")
    parser.add_argument("--programs", type=pathlib.Path, default=root / "build/sim/bin", help="folder of lulab")
    options = parser.parse_args(arguments)
    options.to = options.to or default_folder(root)
    matrices = known()
    if not options.names:
        print("\n".join([f"{'matrix':30} {'order':>8} {'entries':>9}  {'sets':22} in {options.to}"] + [
            f"{m.group + '/' + m.name:30} {m.order:8} {m.entries:9}  {' '.join(m.sets):22} "
            f"{'yes' if here(m, options.to) else '-'}" for m in matrices.values()]))
        return 0
    try:
        list_of = wanted(options.names, matrices)
        if options.source and not options.source.is_dir():
            raise Mistake(f"--from {options.source}: no such folder")
    except Mistake as mistake:
        print(f"lulab fetch: error: {mistake}", file=sys.stderr)
        return 2
    failed = 0
    for number, matrix in enumerate(list_of, 1):
        try:
            told, out = get(matrix, options), sys.stdout
        except (OSError, subprocess.CalledProcessError, *DAMAGED) as mistake:
            told, out = f"{matrix.name}: {mistake}", sys.stderr
            failed += 1
        print(f"{number} of {len(list_of)}: {told}", file=out, flush=True)
    if failed:
        print(f"lulab fetch: {failed} of {len(list_of)} could not be had", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
