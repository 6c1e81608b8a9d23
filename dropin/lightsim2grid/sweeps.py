#!/usr/bin/env python3
"""Time series, N-1 sweeps and bad input under lightsim2grid, by KLU and by lulab; a line for each case, then times.

    python sweeps.py liblulab_lightsim2grid.so [rounds]
"""
import os
import sys
import time
import warnings

import numpy as np

warnings.simplefilter("ignore")
import lightsim2grid  # noqa: E402
import pandapower.networks as networks  # noqa: E402
from lightsim2grid.lightsim2grid_cpp import ContingencyAnalysisCPP, ErrorType, TimeSeriesCPP  # noqa: E402
from lightsim2grid.network import init_from_pandapower  # noqa: E402

# case: steps of the time series, contingencies
CASES = {"case14": (1000, None), "case30": (1000, None), "case57": (1000, None), "case118": (1000, None),
         "case300": (1000, None), "case1354pegase": (200, 200), "case2869pegase": (200, 200),
         "case9241pegase": (50, 50)}
ALGORITHMS = ("NR_KLU", "NR_LULAB")
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 5
TOLERANCE = 1e-8

failed = False


def tell(name, wrong):
    global failed
    failed |= bool(wrong)
    print(f"failed {name}: {wrong}" if wrong else f"passed {name}", flush=True)


def grid_of(case):
    grid = init_from_pandapower(getattr(networks, case)())
    grid.deactivate_result_computation()
    start = grid.dc_pf(np.ones(grid.total_bus(), dtype=complex), 10, TOLERANCE)
    return grid, start


def series(grid, algorithm, steps):
    """Loads and generators go up and down together by 5 %, and each by 1 % on its own; the same for each algorithm."""
    random = np.random.default_rng(1)
    together = random.uniform(0.95, 1.05, (steps, 1))
    batch = TimeSeriesCPP(grid)
    batch.change_algorithm(algorithm)
    for modify, now in ((batch.modify_load_p, [e.target_p_mw for e in grid.get_loads()]),
                        (batch.modify_load_q, [e.target_q_mvar for e in grid.get_loads()]),
                        (batch.modify_gen_p, [e.target_p_mw for e in grid.get_generators()])):
        modify(np.array(now) * together * random.uniform(0.99, 1.01, (steps, len(now))))
    return batch


def contingencies(grid, algorithm, count):
    batch = ContingencyAnalysisCPP(grid, False)
    batch.change_algorithm(algorithm)
    if count is None:
        batch.add_all_n1()
    else:
        branches = len(grid.get_lines()) + len(grid.get_trafos())
        for branch in np.linspace(0, branches - 1, count).astype(int):
            batch.add_n1(int(branch))
    return batch


def compare(name, of_kind, case, size):
    """Runs both algorithms in turns; the best of the rounds. Returns a row of the table."""
    grid, start = grid_of(case)
    times, voltages, linear = {}, {}, {}
    for _ in range(ROUNDS):
        for algorithm in ALGORITHMS:
            batch = of_kind(grid, algorithm, size)
            began = time.perf_counter()
            batch.compute(start, 10, TOLERANCE)
            took = time.perf_counter() - began
            times[algorithm] = min(took, times.get(algorithm, took))
            voltages[algorithm] = np.array(batch.get_voltages())
            linear[algorithm] = batch.get_linear_solver_stats()
    klu, lulab = (voltages[a] for a in ALGORITHMS)
    converged = [np.isfinite(v).all(axis=1) & (v != 0).any(axis=1) for v in (klu, lulab)]
    rows = int(converged[0].sum())
    apart = float(np.abs(klu - lulab)[converged[0]].max(initial=0.0))
    wrong = None
    if klu.shape != lulab.shape or (converged[0] != converged[1]).any():
        wrong = f"{rows} of KLU converge, {int(converged[1].sum())} of lulab"
    elif 2 * rows < len(klu):
        wrong = f"only {rows} of {len(klu)} converge"
    elif not apart <= TOLERANCE:
        wrong = f"voltages differ by {apart}"
    elif linear["NR_LULAB"].nb_solve == 0:
        wrong = "lulab did not solve"
    tell(f"{name} {case}: {rows} of {len(klu)} converge, voltages differ by {apart:.0e}", wrong)
    of_klu, of_lulab = (1e3 * times[a] / len(klu) for a in ALGORITHMS)
    cells = (case, grid.total_bus(), name, len(klu), f"{of_klu:.3g}", f"{of_lulab:.3g}", f"{of_klu / of_lulab:.2f}")
    return f"| {' | '.join(map(str, cells))} |"


def two_threads(case):
    grid, start = grid_of(case)
    voltages = []
    for threads in (1, 2):
        batch = contingencies(grid, "NR_LULAB", None)
        batch.nb_thread = threads
        batch.compute(start, 10, TOLERANCE)
        voltages.append(np.array(batch.get_voltages()))
    apart = float(np.abs(voltages[0] - voltages[1]).max())
    tell(f"N-1 on two threads, {case}: voltages differ by {apart:.0e}",
         None if apart <= TOLERANCE else "other voltages than on one")


def without_bus_5(grid):
    """Its load has no way to the slack: J is singular."""
    for elements, deactivate in ((grid.get_lines(), grid.deactivate_powerline),
                                 (grid.get_trafos(), grid.deactivate_trafo)):
        for number in [k for k, e in enumerate(elements) if 5 in (e.bus1_id, e.bus2_id)]:
            deactivate(number)


def bad_input(name, expected, spoil=lambda grid: None, start_of=lambda start: start):
    """An error of lightsim2grid's own, no voltages, and a grid that solves again."""
    codes, wrong = [], None
    for algorithm in ALGORITHMS:
        grid, start = grid_of("case14")
        grid.change_algorithm(algorithm)
        good = grid.ac_pf(start, 10, TOLERANCE)
        spoiled = grid.copy()
        for g in (grid, spoiled):  # with and without factors of the grid before
            before = g.copy()
            spoil(g)
            voltages = g.ac_pf(start_of(start.copy()), 10, TOLERANCE)
            codes.append(g.get_algo().get_error())
            if algorithm == "NR_LULAB" and (len(voltages) or codes[-1] != expected):
                wrong = f"{len(voltages)} voltages, {codes[-1]}"
            again = before.ac_pf(start, 10, TOLERANCE)
            if len(again) != len(good) or not np.abs(again - good).max() <= TOLERANCE:
                wrong = f"{algorithm} does not recover"
    tell(f"{name}: {codes[-1].name}, of KLU {codes[0].name}", wrong)


def line_switched():
    """Another pattern, and back."""
    apart = []
    grids = [grid_of("case118")[0] for _ in ALGORITHMS]
    start = grid_of("case118")[1]
    for grid, algorithm in zip(grids, ALGORITHMS):
        grid.change_algorithm(algorithm)
    for change in ("deactivate_powerline", "reactivate_powerline"):
        for line in (3, 20, 77):
            voltages = []
            for grid in grids:
                getattr(grid, change)(line)
                voltages.append(grid.ac_pf(start, 10, TOLERANCE))
            same_size = len(voltages[0]) == len(voltages[1]) > 0
            apart.append(float(np.abs(voltages[0] - voltages[1]).max()) if same_size else np.inf)
    tell(f"line switched off and on: voltages differ by {max(apart):.0e}", None if max(apart) <= TOLERANCE else apart)


def loaded_twice():
    try:
        lightsim2grid.load_algorithm_plugin(sys.argv[1])
        tell("plugin loaded twice", "no exception")
    except RuntimeError as error:
        tell("plugin loaded twice", None if "already registered" in str(error) else str(error))


def unknown_rung():
    os.environ["LULAB_RUNG"] = "none/00"
    grid, start = grid_of("case14")
    grid.change_algorithm("NR_LULAB")
    voltages, error = grid.ac_pf(start, 10, TOLERANCE), grid.get_algo().get_error()
    tell(f"unknown LULAB_RUNG: {error.name}", None if not len(voltages) and error == ErrorType.SolverAnalyze else error)


def main():
    lightsim2grid.load_algorithm_plugin(sys.argv[1])
    rows = [compare(name, of_kind, case, sizes[column]) for case, sizes in CASES.items()
            for column, (name, of_kind) in enumerate((("time series", series), ("N-1", contingencies)))]
    two_threads("case118")
    line_switched()
    bad_input("singular grid", ErrorType.SingularMatrix, spoil=without_bus_5)
    bad_input("NaN in a voltage", ErrorType.InifiniteValue, start_of=lambda start: start * np.nan)
    bad_input("load too large", ErrorType.InifiniteValue, spoil=lambda grid: grid.change_p_load(0, 1e300))
    loaded_twice()
    unknown_rung()
    print("| case | buses | sweep | powerflows | KLU ms each | lulab ms each | times as fast |",
          "|---|---|---|---|---|---|---|", *rows, sep="\n")
    sys.exit(failed)


if __name__ == "__main__":
    main()
