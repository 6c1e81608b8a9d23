#!/usr/bin/env python3
"""Run SciPy's own test_linsolve.py, as its wheel ships it, with lulab underneath: splu is lulab's, and spsolve solves
through it. Prints which tests passed, failed, were skipped and why.

Complex matrices go to SciPy's SuperLU: lulab has none. A test that factors both kinds counts as one of lulab's, with
the number of complex calls beside it. --spoil makes every x wrong by a thousandth: then tests must fail.
"""
import argparse
import collections
import sys
import types

import numpy as np
import pytest
import scipy
import scipy.sparse.linalg
from scipy.sparse import csc_array, csr_array
from scipy.sparse.linalg import _dsolve
from scipy.sparse.linalg._dsolve import _superlu, linsolve

import lulab

SUITE = "scipy.sparse.linalg._dsolve.tests.test_linsolve"
LEAST = 15  # tests that reach lulab; fewer mean that SciPy has moved what is replaced here


class Replaced:
    """The functions that stand in SciPy's place, and how often they were called."""

    def __init__(self, spoil):
        self.calls = collections.Counter()
        self.spoil = spoil
        self.scipy_splu = linsolve.splu

    def splu(self, A, *args, **options):
        if np.issubdtype(getattr(A, "dtype", float), np.complexfloating):
            self.calls["complex"] += 1
            return self.scipy_splu(A, *args, **options)
        self.calls["real"] += 1
        lu = lulab.splu(A, *args, **options)
        if self.spoil:
            right = lu.solve
            lu.solve = lambda *a, **k: right(*a, **k) * lu._dtype.type(1.001)
        return lu

    def gssv(self, n, nnz, data, indices, indptr, b, is_csc, options):
        """What spsolve calls: x and whether A is singular."""
        if np.issubdtype(data.dtype, np.complexfloating):
            self.calls["complex"] += 1
            return _superlu.gssv(n, nnz, data, indices, indptr, b, is_csc, options=options)
        A = (csc_array if is_csc else csr_array)((data, indices, indptr), shape=(n, n)).tocsc()
        try:
            return self.splu(A, permc_spec=options["ColPerm"]).solve(b), 0
        except lulab.SingularError:
            return np.zeros_like(b), 1

    def install(self):
        linsolve._superlu = types.SimpleNamespace(**{**vars(_superlu), "gssv": self.gssv})  # linsolve calls this one
        linsolve.splu = _dsolve.splu = scipy.sparse.linalg.splu = self.splu


class Recorder:
    def __init__(self, replaced):
        self.replaced = replaced
        self.calls = {}
        self.results = {}
        self.reasons = {}

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item):
        self.replaced.calls.clear()
        yield
        self.calls[item.nodeid] = dict(self.replaced.calls)

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome != "passed":
            self.results[report.nodeid] = report.outcome
        if report.skipped:
            self.reasons[report.nodeid] = str(report.longrepr[2]).removeprefix("Skipped: ")
        if report.failed:
            self.reasons[report.nodeid] = str(report.longrepr).strip().splitlines()[-1]

    def pytest_collectreport(self, report):
        if report.failed:
            self.results[report.nodeid] = "failed"
            self.reasons[report.nodeid] = str(report.longrepr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spoil", action="store_true", help="make every x wrong; succeeds if tests fail")
    parser.add_argument("--verbose", action="store_true", help="name the tests that passed, too")
    options = parser.parse_args()

    replaced = Replaced(options.spoil)
    replaced.install()
    recorder = Recorder(replaced)
    # The other tests of the file call nothing that is replaced.
    only = ["-k", "TestFactorized or TestLinsolve or TestSplu"] if options.spoil else []
    pytest.main([*only, "-p", "no:cacheprovider", "-p", "no:terminal", "--noconftest", "-c", "/dev/null", "--pyargs",
                 SUITE], plugins=[recorder])

    groups = collections.defaultdict(list)
    for test, outcome in recorder.results.items():
        reached = recorder.calls.get(test, {}).get("real", 0) > 0
        groups[outcome, reached].append(test)
    passed, failed = groups["passed", True], groups["failed", True] + groups["failed", False]
    skipped = groups["skipped", True] + groups["skipped", False]
    print(f"SciPy {scipy.__version__}, test_linsolve.py, lulab {lulab.__version__}")
    for test in passed if options.verbose else []:
        calls = recorder.calls[test]
        print(f"  passed   {short(test)}: {calls['real']} real factorizations, {calls.get('complex', 0)} complex")
    for test in failed + skipped:
        print(f"  {recorder.results[test]:<8} {short(test)}: {recorder.reasons.get(test, '')}")
    mixed = sum(recorder.calls[t].get("complex", 0) > 0 for t in passed)
    elsewhere = groups["passed", False]
    complex_only = sum(recorder.calls[t].get("complex", 0) > 0 for t in elsewhere)
    print(f"{len(passed)} passed on lulab ({mixed} of them also factor complex matrices, by SciPy), "
          f"{len(failed)} failed, {len(skipped)} skipped")
    print(f"{len(elsewhere)} more passed that never reach lulab ({complex_only} factor complex matrices only, "
          "the others test spilu, gstrs and triangular solves)")
    if options.spoil:
        return 0 if failed else 1
    return 0 if not failed and len(passed) >= LEAST else 1


def short(test):
    return test.split("test_linsolve.py::")[-1]


if __name__ == "__main__":
    sys.exit(main())
