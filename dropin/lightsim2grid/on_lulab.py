"""pytest plugin: where lightsim2grid's tests ask for KLU, by name or by class, they get lulab.

    LULAB_LIGHTSIM2GRID=folder PYTHONPATH=dropin/lightsim2grid:folder python -m pytest -p on_lulab ...

The folder has the plugin and the classes. The loaders of lightsim2grid ask for KLU, so most of the tests run on lulab.
"""
import os

import lightsim2grid
import lightsim2grid.algorithm
import lulab_classes
from lightsim2grid import lightsim2grid_cpp as core

PLUGIN = os.path.join(os.environ["LULAB_LIGHTSIM2GRID"], "liblulab_lightsim2grid.so")
OF_KLU = {f"{name}_LULAB": f"{name}_KLU" for name in ("NR", "NRSing", "NRRefactorRetry", "DC")}
OF_LULAB = {klu: lulab for lulab, klu in OF_KLU.items()}
used = dict.fromkeys(OF_LULAB, 0)


def replaced(owner, name, function):
    original = getattr(owner, name, None)
    if original is not None:
        setattr(owner, name, lambda *arguments, **named: function(original, *arguments, **named))


def change(original, self, algorithm):
    name = getattr(algorithm, "name", algorithm)
    if name in OF_LULAB:
        used[name] += 1
        algorithm = OF_LULAB[name]
    return original(self, algorithm)


def name_of(original, self):
    name = original(self)
    return OF_KLU.get(name, name)


def type_of(original, self):
    """The type of a plugin is Custom; the batch classes know its name, and take a grid's over."""
    algorithm = original(self)
    if algorithm != core.AlgorithmType.Custom:
        return algorithm
    of_dc = "dc" in original.__name__
    batch = self if hasattr(self, "get_algo_name") else core.TimeSeriesCPP(self)
    name = "DC_KLU" if of_dc else batch.get_algo_name()
    return getattr(core.AlgorithmType, name, algorithm)


lightsim2grid.load_algorithm_plugin(PLUGIN)
for kind in vars(core).values():
    if isinstance(kind, type):
        for asks in ("change_algorithm", "change_solver"):
            replaced(kind, asks, change)
        replaced(kind, "get_algo_name", name_of)
        for tells in ("get_algo_type", "get_solver_type", "get_dc_algo_type", "get_dc_solver_type"):
            replaced(kind, tells, type_of)
for klu in OF_LULAB:
    for module in (core, lightsim2grid.algorithm):
        setattr(module, klu, getattr(lulab_classes, klu))


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line("lulab in place of KLU: " + ", ".join(f"{k} {n} times" for k, n in used.items()))
