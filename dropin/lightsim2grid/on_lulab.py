"""pytest plugin: where lightsim2grid's tests ask for a Newton-Raphson on KLU, by name or by class, they get lulab.

    LULAB_LIGHTSIM2GRID=folder PYTHONPATH=dropin/lightsim2grid:folder python -m pytest -p on_lulab --junitxml=... ...

The folder has the plugin and the classes. lightsim2grid's loaders ask for KLU, so most powerflows of the tests run on
lulab. The report says of each test whether it, or its class or module so far, did.
"""
import collections
import os
import sys

import lightsim2grid
import lightsim2grid.algorithm
import lulab_classes
import pytest
from lightsim2grid import lightsim2grid_cpp as core

PLUGIN = os.path.join(os.environ["LULAB_LIGHTSIM2GRID"], "liblulab_lightsim2grid.so")
OF_LULAB = {f"{name}_KLU": f"{name}_LULAB" for name in ("NR", "NRSing", "NRRefactorRetry")}
OF_KLU = {lulab: klu for klu, lulab in OF_LULAB.items()}
asked = collections.Counter()  # by class, or module, of tests
current = None


def replace(owner, name, function):
    original = getattr(owner, name, None)
    if original is not None:
        setattr(owner, name, lambda *arguments: function(original, *arguments))


def change(original, self, algorithm):
    name = getattr(algorithm, "name", algorithm)
    asked[current] += name in OF_LULAB
    return original(self, OF_LULAB.get(name, algorithm))


def name_of(original, self):
    name = original(self)
    return OF_KLU.get(name, name)


def type_of(original, self):
    """The type of a plugin is Custom; the batch classes know its name, and take a grid's over."""
    algorithm = original(self)
    if algorithm != core.AlgorithmType.Custom:
        return algorithm
    batch = self if hasattr(self, "get_algo_name") else core.TimeSeriesCPP(self)
    return getattr(core.AlgorithmType, batch.get_algo_name(), algorithm)


def class_for(klu):
    def made(self):
        asked[current] += 1
        asked[type(sys._getframe(1).f_locals.get("self"))] += 1  # a test that asks while it is collected
        super(kind, self).__init__()
    kind = type(klu, (getattr(lulab_classes, klu),), {"__init__": made})
    return kind


lightsim2grid.load_algorithm_plugin(PLUGIN)
for algorithms in list(vars(core).values()):
    if isinstance(algorithms, type):
        for method, function in (("change_algorithm", change), ("change_solver", change), ("get_algo_name", name_of),
                                 ("get_algo_type", type_of), ("get_solver_type", type_of)):
            replace(algorithms, method, function)
for of_klu in OF_LULAB:
    of_lulab = class_for(of_klu)
    for module in (core, lightsim2grid.algorithm):
        setattr(module, of_klu, of_lulab)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    global current
    current = item.cls or item.module


def pytest_runtest_teardown(item):
    item.user_properties.append(("lulab", asked[item.cls or item.module] > 0))
