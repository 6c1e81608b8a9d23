#!/usr/bin/env python3
"""Runs programs and test suites of others, unmodified, with the libraries of dropin/ in place of their own.

    python3 dropin/suites.py [--times] build/sim/dropin [suite ...]

Suites: klu, sundials, petsc, pybamm, lapack, eigen, lightsim2grid; all of them without a name. Debian and Ubuntu;
installs what is missing with apt, as root or through sudo. Sources, programs and the environments of PyBaMM and
lightsim2grid are kept in ~/.cache/lulab/suites. Every program runs twice, first with the system's own library: what
fails there is skipped; what it gives is kept, too. Prints a table; exits with 1 where a case failed, a suite could not
run, or no case of it ran.

--times: runs one program at a time, three times with each library, and prints the least seconds of both.
"""
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as xml
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "lulab" / "suites"
FLAGS = ["-O1", "-w", "-I/usr/include/suitesparse"]
ENVIRONMENT = {**os.environ, "LULAB_CALIBRATION": "off", "OMPI_ALLOW_RUN_AS_ROOT": "1",
               "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_btl": "self"}
for variable in ("LD_LIBRARY_PATH", "LD_PRELOAD"):
    ENVIRONMENT.pop(variable, None)
NUMBER_OR_WORD = re.compile(r"[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?|[A-Za-z_]+")
STEP_HISTORY = re.compile(r"^\s*(\S+)\s+\d+\s+\S+\s+\d+\s*$")  # time, order, step size, number of steps

CORES = min(len(os.sched_getaffinity(0)), 16)
ROUNDS = 3  # for --times

library = Path()
with_times = False
tasks = []  # of the suite at hand: functions that return a result
results = []  # (suite, case, outcome, why)
times = []  # (suite, case, seconds with the system's library, with lulab)


def run(command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False,
                          timeout=options.pop("timeout", 300), errors="replace", **options)


def must(command, **options):
    done = run(command, **options)
    if done.returncode:
        sys.exit(f"suites: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def apt(*packages):
    sudo = [] if os.geteuid() == 0 else ["sudo"]
    known = run(["dpkg-query", "-W", "-f", "${Package} ${Status}\n", *packages]).stdout
    missing = [p for p in packages if f"{p} install ok installed" not in known]
    if missing:
        must([*sudo, "apt-get", "update", "-qq"], timeout=600)
        must([*sudo, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y", "-qq",
              "--no-install-recommends", *missing], timeout=600)


def source_of(package):
    """The folder with the sources of a Debian package, from lists of our own: deb-src may be off."""
    folder = CACHE / package
    if not folder.exists():
        lists = CACHE / "lists"
        (lists / "partial").mkdir(parents=True, exist_ok=True)
        entries = Path("/etc/apt/sources.list.d/debian.sources"), Path("/etc/apt/sources.list")
        text = next(e.read_text() for e in entries if e.exists() and e.stat().st_size)
        of_sources = CACHE / ("list.sources" if text.lstrip().startswith(("Types:", "#")) and "Types:" in text
                              else "list.list")
        of_sources.write_text(re.sub(r"^(Types: |)deb\b", r"\1deb-src", text, flags=re.M))
        options = ["-o", f"Dir::Etc::sourcelist={of_sources}", "-o", "Dir::Etc::sourceparts=-", "-o",
                   f"Dir::State::lists={lists}", "-o", "APT::Sandbox::User=root"]
        must(["apt-get", *options, "update", "-qq"])
        new = CACHE / f"{package}.new"
        new.mkdir(exist_ok=True)
        must(["apt-get", *options, "source", "-qq", "--download-only", package], cwd=new)
        archive = next(new.glob("*.orig.tar.*"))
        must(["tar", "xf", archive, "--strip-components=1", "-C", new])
        new.rename(folder)
    return folder


def digest(*parts):
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def compile_changed(program, command, sources, packages=(), **options):
    """Runs the command, which makes the program, unless it did for the same sources and packages."""
    program.parent.mkdir(parents=True, exist_ok=True)
    made_of = Path(f"{program}.made_of")
    now = digest([str(word) for word in command], [Path(source).read_bytes() for source in sources], packages)
    if not (program.exists() and made_of.exists() and made_of.read_text() == now):
        made_of.unlink(missing_ok=True)
        must(command, **options)
        made_of.write_text(now)


def write_changed(path, text):
    if not (path.exists() and path.read_text() == text):
        path.write_text(text)


def build(name, sources, libraries, compiler="cc", flags=()):
    program = CACHE / "programs" / name
    compile_changed(program, [compiler, *FLAGS, *flags, *sources, "-o", program, "-Wl,--no-as-needed", *libraries,
                              "-lklu", "-lm"], sources)
    reached = run(["ldd", program], env=with_lulab()).stdout
    if f" => {library}/libklu.so." not in reached:
        sys.exit(f"suites: {name} does not load libklu.so from {library}\n{reached}")
    return program


def with_lulab():
    return {**ENVIRONMENT, "LD_LIBRARY_PATH": str(library)}


def preloaded_klu():
    return {**ENVIRONMENT, "LD_PRELOAD": str((library / "libklu.so").resolve())}


def calls_lulab(command, environment, function, of):
    """Stops where the command's call of the function does not reach that library of ours."""
    said = run(command, env={**environment, "LD_DEBUG": "bindings"}, cwd=CACHE).stderr
    if not re.search(rf"to {re.escape(str(of))} .*symbol `{function}'", said):
        sys.exit(f"suites: {Path(command[0]).name} calls a {function}() that is not of {of}\n{said[-300:]}")


def identity(program):
    """What its outcome depends on: the program and the libraries that it loads, or the packages of a Python."""
    packages = sorted(p.name for p in Path(program).parent.glob("../lib/python3*/site-packages/*.dist-info"))
    files = [program, *re.findall(r"=> (/\S+)", run(["ldd", program], env=ENVIRONMENT).stdout)]
    return packages or [(str(f), os.stat(f).st_size, os.stat(f).st_mtime_ns) for f in files]


def kept(key):
    return CACHE / "outcomes" / f"{key}.json"


def keep(key, value):
    kept(key).parent.mkdir(exist_ok=True)
    new = kept(f"{key}.new")
    new.write_text(json.dumps(value))
    new.replace(kept(key))


def record(*result):
    tasks.append(lambda: result)


def case(suite, name, command, judge, lulab=None, lulab_command=None, **options):
    """judge(result with lulab, result with the system's library): None, or what is wrong.

    lulab, lulab_command: the environment in which it runs on lulab, and the command where it is another one.
    """
    key = digest([str(word) for word in command], identity(command[0]), options)

    def attempt(words, environment):
        began = time.monotonic()
        try:
            done = run(words, env=environment, cwd=CACHE, **options)  # some write files
        except subprocess.TimeoutExpired:
            done = subprocess.CompletedProcess(words, 124, "", "timed out")
        return done, time.monotonic() - began

    def by_the_system():
        if not with_times and kept(key).exists():
            return subprocess.CompletedProcess(command, **json.loads(kept(key).read_text())), 0
        return attempt(command, ENVIRONMENT)

    def both():
        seconds = []
        for _ in range(ROUNDS if with_times else 1):
            (control, of_system), (done, of_lulab) = by_the_system(), attempt(lulab_command or command,
                                                                            lulab or with_lulab())
            why = judge(control, control)
            if why is not None:
                return suite, name, "skipped", f"with the system's library: {why}"
            keep(key, {"returncode": control.returncode, "stdout": control.stdout, "stderr": control.stderr})
            why = judge(done, control)
            if why:
                return suite, name, "failed", why
            seconds.append((of_system, of_lulab))
        if with_times:
            times.append((suite, name, *(min(column) for column in zip(*seconds))))
        return suite, name, "passed", ""
    tasks.append(both)


def succeeds_saying(*texts):
    def judge(done, _):
        if done.returncode:
            return f"exit code {done.returncode}: {done.stderr[-200:]}"
        missing = [t for t in texts if t not in done.stdout + done.stderr]
        return f"does not say {missing[0]!r}" if missing else None
    return judge


def words(text):
    for line in text.splitlines():
        history = STEP_HISTORY.match(line)
        yield from NUMBER_OR_WORD.findall(history[1] if history else line)


def is_near(expected, given):
    """Numbers to a thousandth, or as far as the tolerances of these problems go; counts of steps to 15 %, or 10."""
    try:
        x, y = float(expected), float(given)
    except ValueError:
        return expected == given
    is_count = expected.lstrip("-+").isdigit() and given.lstrip("-+").isdigit()
    return abs(x - y) <= (max(10, 0.15 * abs(x)) if is_count else 1e-3 * abs(x) + 1e-7)


def answers_like(text):
    def judge(done, _):
        if done.returncode:
            return f"exit code {done.returncode}"
        expected, given = list(words(text)), list(words(done.stdout))
        if len(expected) != len(given):
            return f"{len(given)} words and numbers in place of {len(expected)}"
        wrong = [f"{g} in place of {e}" for e, g in zip(expected, given) if not is_near(e, g)]
        return ", ".join(wrong[:3]) or None
    return judge


def klu():
    apt("libsuitesparse-dev")
    folder = source_of("suitesparse") / "KLU"
    simple = build("klu_simple", [folder / "Demo" / "klu_simple.c"], [])
    case("KLU demo", "klu_simple", [simple],
         answers_like((folder / "Demo" / "klu_simple.out").read_text()))
    demos = [build(d, [folder / "Demo" / f"{d}.c"], ["-lcholmod"]) for d in ("kludemo", "kluldemo")]
    tests = [build(name, [folder / "Tcov" / "klutest.c", folder / "User" / order],
                   ["-lcholmod", "-lsuitesparseconfig"], flags=[*flags, f"-I{folder}/Include", f"-I{folder}/User"])
             for name, order, flags in (("klutest", "klu_cholmod.c", []), ("klultest", "klu_l_cholmod.c", ["-DDLONG"]))]

    def solves_as_well(done, control):
        if done.returncode != control.returncode:
            return f"exit code {done.returncode}, of KLU {control.returncode}"
        found = [re.search(r"resid (\S+)", r.stdout) for r in (done, control)]
        if None in found:
            return None if found[0] == found[1] else "one of the two solves"
        ours, theirs = (float(f[1]) for f in found)
        return None if ours <= 10 * theirs + 1e-13 else f"residual {ours}, of KLU {theirs}"

    for matrix in sorted((folder / "Matrix").glob("*.mtx")):
        is_complex = "complex" in matrix.read_text().split("\n", 1)[0]
        for suite, programs, judge in (("KLU demo", demos, solves_as_well),
                                       ("KLU Tcov", tests, succeeds_saying("test passed"))):
            for program in programs:
                name = f"{program.name} {matrix.name}"
                if is_complex:
                    record(suite, name, "skipped", "complex")
                    continue
                case(suite, name, [program], judge, input=matrix.read_text())


def sundials():
    apt("libsundials-dev", "libsuitesparse-dev")
    examples = Path("/usr/share/doc/libsundials-dev/examples")
    if not examples.exists():
        examples = source_of("sundials") / "examples"
    libraries = [f"-lsundials_{n}" for n in "sunlinsolklu sunmatrixsparse sunmatrixdense nvecserial".split()]
    for source in sorted(examples.glob("*/*serial/*_klu.c")):
        package, name = source.parts[-3], source.stem
        program = build(name, [source], [f"-lsundials_{package}", *libraries])
        outputs = list(source.parent.glob(f"{name}*.out"))
        arguments = outputs[0].stem[len(name):].replace("_", " ").split() if outputs else []
        judge = answers_like(outputs[0].read_text()) if outputs else succeeds_saying()
        case("SUNDIALS examples", f"{package}/{name}", [program, *arguments], judge)
    unit = examples / "sunlinsol" / "klu"
    helper = next(p for p in (unit / "test_sunlinsol.c", unit.parent / "test_sunlinsol.c") if p.exists())
    program = build("test_sunlinsol_klu", [unit / "test_sunlinsol_klu.c", helper], libraries,
                    flags=["-fcommon", f"-I{helper.parent}"])
    for arguments in ("300 0 0", "300 1 0", "1000 0 0", "1000 1 0"):
        case("SUNDIALS sunlinsol/klu", arguments, [program, *arguments.split()],
             succeeds_saying("SUCCESS: SUNLinSol module passed all tests"))


def petsc():
    apt("petsc-dev", "libpetsc3.18-dev-examples", "pkg-config")
    folder = next(Path("/usr/share/petsc").glob("*/share/petsc/examples/src"))
    config = next(Path("/usr/lib/petscdir").glob("*/*-real/lib/pkgconfig/PETSc.pc"))
    flags = must(["pkg-config", "--cflags", "--libs", config]).split()
    direct = "-pc_type lu -pc_factor_mat_solver_type klu".split()

    def example(path):
        return build(Path(path).name, [folder / f"{path}.c"], flags, "mpicc", [f"-I{(folder / path).parent}"])

    cavity = example("snes/tutorials/ex19")
    expected = succeeds_saying((folder / "snes/tutorials/output/ex19_superlu.out").read_text().strip())
    for name, more in (("klu", ""), ("klu_2", "-pc_factor_mat_ordering_type nd"), ("klu_3", "-mat_klu_use_btf 0")):
        case("PETSc", f"snes ex19 {name}", [cavity, *"-da_grid_x 20 -da_grid_y 20".split(), *direct, *more.split()],
             expected)

    def converges_at_once(done, _):  # some say the error of x, some its residual
        found = re.findall(r"[Nn]orm of (?:error|the residual) ([^\s,]+),? +[Ii]terations (\d+)", done.stdout)
        if done.returncode or not found:
            return f"exit code {done.returncode}, {done.stderr[-200:]}"
        return None if all(float(norm) <= 1e-9 and count == "1" for norm, count in found) else str(found)
    for name, more in (("ex1", ""), ("ex2", "-m 100 -n 100"), ("ex5", "-ksp_rtol 1e-10")):
        program = example(f"ksp/ksp/tutorials/{name}")
        case("PETSc", f"ksp {name}", [program, *direct, *more.split()], converges_at_once)


DISCHARGE = """
import numpy, pybamm
simulation = pybamm.Simulation(pybamm.lithium_ion.DFN(), solver=pybamm.IDAKLUSolver(rtol=1e-8, atol=1e-10))
solution = simulation.solve([0, 3600])
for voltage in solution["Terminal voltage [V]"](numpy.linspace(0, 3500, 36)):
    print(f"{voltage:.6f}")
"""


def python_with(name, *packages):
    """The folder of a virtual environment with these packages."""
    apt("python3-venv")
    environment = CACHE / name
    done, wanted = environment / "done", " ".join(packages)
    if not (done.exists() and done.read_text() == wanted):
        must([sys.executable, "-m", "venv", environment])
        must([environment / "bin" / "pip", "install", "-q", *packages], timeout=900)
        done.write_text(wanted)
    return environment


def pybamm():
    """Its wheel brings a libklu of its own, with another name and a fixed path; what is preloaded comes before it."""
    environment = python_with("pybamm", "pybamm")

    def same_voltages(done, control):
        if done.returncode:
            return done.stderr[-300:]
        both = [[float(v) for v in r.stdout.split()] for r in (done, control)]
        apart = max((abs(x - y) for x, y in zip(*both)), default=1)
        return None if len(both[0]) == len(both[1]) == 36 and apart <= 1e-5 else f"voltages differ by {apart} V"
    command = [environment / "bin" / "python", "-c", DISCHARGE]
    calls_lulab(command, preloaded_klu(), "klu_factor", (library / "libklu.so").resolve())
    case("PyBaMM", "IDAKLU, discharge of the DFN model", command, same_voltages, lulab=preloaded_klu(), timeout=600)


def lapack():
    """Each path of LAPACK's test programs by itself. DGE and SGE are LU of a full matrix, the others use it or must not
    notice."""
    apt("liblapack-test")
    folder = next(Path("/usr/lib").glob("*/lapack/xlintstd")).parent
    preload = {**ENVIRONMENT, "LD_PRELOAD": str(library / "liblulab_lapack.so")}

    def passes(done, control):
        if done.returncode:
            return f"exit code {done.returncode}: {done.stderr[-200:]}"
        said, expected = ([line for line in r.stdout.splitlines() if "Total time" not in line] for r in (done, control))
        if said != expected:
            more = [line.strip() for line in said if line not in expected]
            return next((line for line in more if re.search(r"\*\*\*|fail", line)), "; ".join(more[:3]) or "says less")
        verdicts = [line for line in said if re.search("passed|fail", line)]
        return next((v for v in verdicts if "passed" not in v), None) if verdicts else "says nothing of tests"

    for program, data in (("xlintstd", "dtest.in"), ("xlintsts", "stest.in"), ("xlintstds", "dstest.in")):
        reached = run(["ldd", folder / program], env=preload).stdout
        if str(library / "liblulab_lapack.so") not in reached:
            sys.exit(f"suites: {program} does not load liblulab_lapack.so\n{reached}")
        lines = (folder / data).read_text().splitlines()
        is_path = re.compile(r"[DS][A-Z0-9]{2}\b").match
        head = [line for line in lines if not is_path(line)]
        for line in filter(is_path, lines):
            text = "\n".join([*head, line, ""])
            case(f"LAPACK {program}", line.split()[0], [folder / program], passes, lulab=preload, input=text)
            if line[1:3] == "GE" and program != "xlintstds":
                case(f"LAPACK {program}", f"{line[:3]}, rungs of the GPU", [folder / program], passes,
                     lulab={**preload, "LULAB_LAPACK": "gpu"}, input=text)


# Eigen's own test, in which NAME, a solver of Eigen, stands for EigenSolver.
EIGEN_TEST = """
#include <fmt/format.h>
#include <lulab/lulab.h>
#include "sparse.h"
#include <Eigen/KLUSupport>
#include <Eigen/SparseLU>
#include <unsupported/Eigen/SparseExtra>
#include <lulab/driver/eigen_solver.h>
namespace Eigen {
template <class Matrix, class Order = void>
using OnLulab = lulab::EigenSolver<Matrix>;
}
#define NAME OnLulab
#include "SOURCE.cpp"
"""
EIGEN_PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(eigen_tests LANGUAGES CXX)
find_package(lulab REQUIRED)
include_directories(BEFORE SYSTEM {source}/test {source} /usr/include/suitesparse)
add_compile_options(-O1 -w)
add_compile_definitions(EIGEN_TEST_MAX_SIZE=320)
"""


def eigen():
    """Parts of tests are chosen as Eigen's own build does. The programs of lulab are made as a stranger would make
    them, from an installation."""
    apt("cmake", "g++", "libsuitesparse-dev")
    source, folder, prefix = source_of("eigen3"), CACHE / "programs" / "eigen", CACHE / "programs" / "lulab"
    folder.mkdir(parents=True, exist_ok=True)
    must(["cmake", "--install", library.parent, "--prefix", prefix, "--component", "development"])
    project, cases = EIGEN_PROJECT.format(source=source), []
    for test, name, parts in (("sparselu", "SparseLU", ("float", "double", "", "")),
                              ("klu_support", "KLU", ("double", ""))):
        ours = folder / f"{test}_lulab.cpp"
        write_changed(ours, EIGEN_TEST.replace("NAME", name).replace("SOURCE", test))
        for part, scalar in enumerate(parts, start=1):
            if not scalar:
                record("Eigen", f"{test}, part {part}", "skipped", "complex")
                continue
            for program, file, libraries in ((f"{test}_{scalar}", source / "test" / f"{test}.cpp", "klu"),
                                             (f"{test}_{scalar}_lulab", ours, "lulab::lulab klu")):
                project += (f"add_executable({program} {file})\ntarget_link_libraries({program} PRIVATE {libraries})\n"
                            f"target_compile_definitions({program} PRIVATE EIGEN_TEST_PART_{part}=1)\n"
                            f"target_compile_features({program} PRIVATE cxx_std_20)\n")
            cases.append((test, scalar))
    write_changed(folder / "CMakeLists.txt", project)
    must(["cmake", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={prefix}"])
    must(["cmake", "--build", folder / "build", f"-j{CORES}"], timeout=1800)

    def passes(done, _):  # where a solver fails, some of its checks only warn
        warning = re.search("(WARNING|ERROR).*", done.stdout + done.stderr)
        return f"exit code {done.returncode}: {done.stderr[-200:]}" if done.returncode else warning and warning[0]
    for test, scalar in cases:
        program = folder / "build" / f"{test}_{scalar}"
        ours = Path(f"{program}_lulab")
        if b"check_sparse_square_solvingIN5lulab11EigenSolver" not in ours.read_bytes():
            sys.exit(f"suites: {ours} does not test EigenSolver")
        for seed in ("s1", "s2", "s3"):
            of_lulab = [ours, seed]
            if scalar == "float":  # by rounding, SparseLU and lulab each miss its tolerance with 2 of 60 seeds
                of_lulab = ["sh", "-c", '"$0" "$1" || "$0" "${1}0"', *of_lulab]
            case("Eigen", f"{test} {scalar} {seed}", [program, seed], passes, lulab_command=of_lulab)
    case("Eigen", "KLU on libklu.so", [folder / "build" / "klu_support_double", "s1"], passes)


BAD = ("failure", "error", "skipped")
# Of lightsim2grid's tests those that choose a solver, or run sweeps; not those of DC, where it takes no plugins.
OF_SOLVERS = """
    ACPF Computers ContingencyAnalysis_bindings ContingencyAnalysis_limit_violations ContingencyAnalysis_split
    InjectionSweep J_col_converters KLUSolver SecurityAnlysis_cpp TimeSerie algo_reset_copy_persistence
    batch_algorithm_solver_selection batch_redistribute_slack case118 continuation_powerflow hvdc_droop jacobian
    loader_default_algorithm multi_slack nr_case300 pf_input_robustness scaling_refactor_policies solver_registry
    voltage_control_pypowsybl""".split()
POWERFLOW = """
import numpy, pandapower.networks
from lightsim2grid.network import init_from_pandapower
grid = init_from_pandapower(pandapower.networks.case14())
grid.change_algorithm("NR_KLU")
grid.ac_pf(numpy.ones(grid.total_bus(), dtype=complex), 10, 1e-8)
"""
PRELOADED = "ContingencyAnalysis_dc_threads ContingencyAnalysis_split KLUSolver fdpf jacobian".split()


def lightsim2grid():
    apt("python3-dev", "g++")
    environment = python_with("lightsim2grid", "lightsim2grid==1.2.*", "pybind11==3.1.*", "pandapower", "grid2op",
                              "pypowsybl", "pytest", "pytest-xdist")
    python, here = environment / "bin" / "python", Path(__file__).resolve().parent / "lightsim2grid"
    package, pybind, headers = must([python, "-W", "ignore", "-c", """if True:
        import lightsim2grid, os, pybind11, sysconfig
        print(os.path.dirname(lightsim2grid.__file__), pybind11.get_include(), sysconfig.get_path("include"), sep="\\n")
        """]).split("\n")[:3]
    liblulab = next(p for p in (library.parent, library.parents[1]) if (p / "liblulab.so").exists())
    built = CACHE / "programs" / "lightsim2grid"
    wheels = identity(python)

    def compile_one(source, name):
        command = ["c++", "-O3", "-std=c++17", "-shared", "-fPIC", "-fvisibility=hidden", here / source, "-o",
                   built / name, "-isystem", f"{package}/include", "-isystem", pybind, "-isystem", headers,
                   f"-I{here.parents[1]}/capi", f"-L{package}", "-llightsim2grid_core", f"-L{liblulab}", "-llulab",
                   f"-Wl,-rpath,{liblulab}"]
        sources = [here / source, here / "linear_solver.h", here.parents[1] / "capi" / "lulab.h"]
        compile_changed(built / name, command, sources, wheels, timeout=900)
    with ThreadPoolExecutor() as threads:
        list(threads.map(compile_one, ("plugin.cpp", "classes.cpp"), ("liblulab_lightsim2grid.so", "lulab_classes.so")))

    tests = CACHE / "programs" / "lightsim2grid_tests"  # they write files beside themselves
    shutil.rmtree(tests, ignore_errors=True)
    shutil.copytree(f"{package}/tests", tests)

    def outcomes(names, environment, *options):
        """By test: outcome, reason, whether it ran on lulab."""
        report = tests / "report.xml"
        report.unlink(missing_ok=True)
        files = [tests / f"test_{name}.py" for name in names]
        done = run([python, "-m", "pytest", "-q", f"-n{CORES}", "--dist=loadfile", f"--junitxml={report}", *options,
                    *files], cwd=tests, env=environment, timeout=3600)
        if done.returncode not in (0, 1):
            sys.exit(f"suites: lightsim2grid's tests do not run\n{done.stdout}{done.stderr}")
        found = {}
        for test in xml.parse(report).iter("testcase"):
            bad = [(child.tag, child.get("message", "")[:200]) for child in test if child.tag in BAD]
            not_asked = any(p.get("name") == "lulab" and p.get("value") == "False" for p in test.iter("property"))
            name = f"{test.get('classname')} {test.get('name')}"
            if name not in found or bad:  # its subtests have the same name
                found[name] = (*(bad or [("passed", "")])[0], not not_asked)
        return found

    def compare(suite, names, environment, *options):
        key = digest(names, wheels)
        if not kept(key).exists():
            keep(key, outcomes(names, ENVIRONMENT))
        control = json.loads(kept(key).read_text())
        for name, (outcome, why, is_on_lulab) in outcomes(names, environment, *options).items():
            if outcome in BAD[:2]:
                fails_by_klu = control.get(name, ("",))[0] in BAD[:2]
                outcome, why = ("skipped", "fails by KLU, too") if fails_by_klu else ("failed", why)
            elif outcome == "passed" and not is_on_lulab:
                outcome, why = "skipped", "asks for no Newton-Raphson on KLU"
            record(suite, name, outcome, why)

    compare("lightsim2grid, its tests of solvers", OF_SOLVERS,
            {**ENVIRONMENT, "LULAB_LIGHTSIM2GRID": str(built), "PYTHONPATH": f"{here}:{built}"}, "-p", "on_lulab")
    calls_lulab([python, "-c", POWERFLOW], preloaded_klu(), "klu_factor", (library / "libklu.so").resolve())
    compare("lightsim2grid, libklu.so.1 preloaded", PRELOADED,
            preloaded_klu())
    done = run([python, here / "sweeps.py", built / "liblulab_lightsim2grid.so", "5" if with_times else "1"],
               env=ENVIRONMENT, timeout=1800)
    for line in done.stdout.splitlines():
        outcome, _, what = line.partition(" ")
        if outcome in ("passed", "failed"):
            record("lightsim2grid, sweeps and bad input", what.partition(":")[0], outcome, what)
    if done.returncode not in (0, 1) or not done.stdout.endswith("|\n"):
        record("lightsim2grid, sweeps and bad input", "sweeps.py", "failed", done.stderr[-300:])
    print("\n".join(line for line in done.stdout.splitlines() if line.startswith("|")) + "\n")


def print_table(seconds_of, total):
    """seconds_of: the first row of a suite has its seconds."""
    suites = list(dict.fromkeys(r[0] for r in results))
    print("| suite | seconds | tests | passed | failed | skipped |\n|---|---|---|---|---|---|")
    for suite in suites:
        of_suite = [r for r in results if r[0] == suite]
        counts = [sum(r[2] == outcome for r in of_suite) for outcome in ("passed", "failed", "skipped")]
        reasons = list(dict.fromkeys(r[3] for r in of_suite if r[2] == "skipped"))
        print(f"| {suite} | {seconds_of.get(suite, '')} | {len(of_suite)} | {counts[0]} | {counts[1]} | {counts[2]}"
              f"{': ' + '; '.join(reasons) if reasons else ''} |")
    for suite, name, outcome, why in results:
        if outcome == "failed":
            print(f"failed: {suite}: {name}: {why}")
    if times:
        print("\n| suite | program | s, system's library | s, lulab | times as fast |\n|---|---|---|---|---|")
        for suite, name, of_system, of_lulab in times:
            print(f"| {suite} | {name} | {of_system:.3f} | {of_lulab:.3f} | {of_system / of_lulab:.2f} |")
    print(f"\n{total:.0f} seconds")


def run_suite(name):
    """Returns its first row's name."""
    tasks.clear()
    try:
        SUITES[name]()
    except (SystemExit, subprocess.TimeoutExpired) as error:
        record(name, "the suite", "failed", str(error))
    with ThreadPoolExecutor(1 if with_times else CORES) as threads:
        found = list(threads.map(lambda task: task(), tasks))
    for suite in dict.fromkeys(r[0] for r in found):
        outcomes = {r[2] for r in found if r[0] == suite}
        if not outcomes & {"passed", "failed"}:
            found.append((suite, "all of them", "failed", "no case ran"))
    found = found or [(name, "all of them", "failed", "there is no case")]
    results.extend(found)
    return found[0][0]


SUITES = {"klu": klu, "sundials": sundials, "petsc": petsc, "pybamm": pybamm, "lapack": lapack, "eigen": eigen,
          "lightsim2grid": lightsim2grid}


def main():
    global library, with_times
    arguments = [argument for argument in sys.argv[1:] if argument != "--times"]
    with_times = len(arguments) < len(sys.argv) - 1
    if not arguments or not set(arguments[1:]) <= set(SUITES):
        sys.exit(__doc__)
    library = Path(arguments[0]).resolve()
    for name in ("libklu.so", "liblulab_lapack.so"):
        if not (library / name).exists():
            sys.exit(f"suites: there is no {library}/{name}; build it with: ./lulab build")
    CACHE.mkdir(parents=True, exist_ok=True)
    seconds_of, began = {}, time.monotonic()
    for suite in arguments[1:] or SUITES:
        before = time.monotonic()
        row = run_suite(suite)
        seconds_of[row] = round(time.monotonic() - before)
    print_table(seconds_of, time.monotonic() - began)
    sys.exit(any(r[2] == "failed" for r in results))


if __name__ == "__main__":
    main()
