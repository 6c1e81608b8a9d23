"""step_device() of Solver and BatchSolver on arrays in device memory, by both protocols."""
import os
import sys
import threading
import weakref

import device
import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from test_splu import matrix

import lulab

WHY_NOT = device.why_no_device()
if WHY_NOT and os.environ.get("LULAB_REQUIRE_GPU"):
    raise RuntimeError(WHY_NOT)
on_device = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)
both_protocols = pytest.mark.parametrize("array", device.PROTOCOLS)


def error_of(a, values, b, x):
    """Against SciPy's solution of the same system."""
    new = a.copy()
    new.data = values
    exact = sla.spsolve(new, b)
    return np.abs(x - exact).max() / np.abs(exact).max()


def data_of(a, seed, *systems):
    rng = np.random.default_rng(seed)
    return a.data * rng.uniform(0.5, 2, (*systems, a.nnz)), rng.uniform(-1, 1, (*systems, a.shape[0]))


def solver_of(a, **options):
    solver = lulab.Solver(**options)
    solver.analyze(a)
    solver.factor(a)
    return solver


def nan(*shape):
    return np.full(shape, np.nan)


@on_device
@both_protocols
@pytest.mark.parametrize("stream", ["default", "legacy", "per thread", "own"])
def test_the_same_arrays_again_and_again(array, stream):
    a = matrix(30, 30)
    solver = solver_of(a, rung="11_fan_in")
    own = device.Stream()
    number = {"default": 0, "legacy": 1, "per thread": 2, "own": own.number}[stream]
    values, b, x = array(nan(a.nnz)), array(nan(30)), array(nan(30))
    for seed in range(4):
        new, side = data_of(a, seed)
        values.set(new)
        b.set(side)
        x.set(nan(30))
        solver.step_device(values, b, x, number)
        solver.wait()
        assert error_of(a, new, side, x.get()) <= 1e-9
    if array is device.DLPack:
        assert x.asked == (max(number, 1) if device.ON_GPU else None)


@on_device
@both_protocols
@pytest.mark.parametrize("options", [{"rung": "11_fan_in"}, {"rung": "07_threads"}, {},
                                     {"rung": "11_fan_in", "precision": "single"}])
def test_other_arrays_at_each_step(array, options):
    a = matrix(12, 31)
    solver = solver_of(a, **options)
    streams = [0, device.Stream(), device.Stream()]
    steps = []
    for seed in range(6):  # more sets of arrays than there are graphs
        new, side = data_of(a, seed)
        values, b, x = array(new), array(side), array(nan(12))
        stream = streams[seed % 3]
        solver.step_device(values, b, x, stream.number if stream else 0)
        steps.append((new, side, values, b, x))
    solver.wait()
    for new, side, _, _, x in steps:
        assert error_of(a, new, side, x.get()) <= 1e-9


@on_device
@both_protocols
def test_a_step_comes_after_what_the_streams_of_its_arrays_were_given(array):
    a = matrix(30, 32)
    solver = solver_of(a, rung="11_fan_in")
    producer, consumer = device.Stream(), device.Stream()
    values, b, x = array(nan(a.nnz), producer), array(nan(30), producer), array(nan(30), producer)
    for seed in range(3):
        new, side = data_of(a, seed)
        good_values, good_b, spoilt = array(new), array(side), array(nan(30))
        values.set(nan(a.nnz))
        producer.delay()
        values.copy_from(good_values, producer)
        b.copy_from(good_b, producer)
        x.copy_from(spoilt, producer)  # later than the step it would spoil x
        solver.step_device(values, b, x, consumer.number)
        solver.wait()
        assert error_of(a, new, side, x.get()) <= 1e-9


@on_device
@both_protocols
def test_arrays_of_a_step_are_held_until_it_is_over(array):
    a = matrix(30, 33)
    solver = solver_of(a, rung="11_fan_in")
    stream = device.Stream()
    new, side = data_of(a, 1)
    values, b, x = array(new), array(side), array(nan(30))
    given = [weakref.ref(values), weakref.ref(b)]
    stream.delay()
    solver.step_device(values, b, x, stream.number)
    del values, b
    assert all(g() is not None for g in given) and len(device.exported) == (3 if array is device.DLPack else 0)
    solver.step_device(array(new), array(side), x, stream.number)  # others do not let go of them
    assert all(g() is not None for g in given)
    solver.wait()
    assert all(g() is None for g in given) and not device.exported
    assert error_of(a, new, side, x.get()) <= 1e-9


@on_device
@both_protocols
@pytest.mark.parametrize("rung", ["11_fan_in", "07_threads"])
def test_wait_tells_of_pivots_that_do_not_suit(array, rung):
    a = sp.csc_array(np.array([[4.0, 1.0], [1.0, 4.0]]))
    solver = solver_of(a, rung=rung, refine="never", probe=False, max_growth="inf", repivot=False)
    x = array(nan(2))
    solver.step_device(array(np.array([1e-13, 1.0, 1.0, 1.0])), array(np.array([1.0, 3.0])), x)
    with pytest.raises(lulab.LulabError, match="backward error") as raised:
        solver.wait()
    assert raised.value.code == "needs_repivot"
    solver = solver_of(a, rung=rung)
    new, side = np.array([1e-13, 1.0, 1.0, 1.0]), np.array([1.0, 3.0])
    solver.step_device(array(new), array(side), x)
    if rung == "11_fan_in":  # the other takes its values through the host, and takes new pivots at once
        with pytest.raises(lulab.LulabError) as raised:
            solver.wait()
        assert raised.value.code == "needs_repivot"
        solver.refactor(new)
    solver.step_device(array(new), array(side), x)
    solver.wait()
    assert error_of(a, new, side, x.get()) <= 1e-12


@on_device
@both_protocols
def test_values_that_are_not_finite(array):
    a = matrix(30, 34)
    solver = solver_of(a, rung="11_fan_in")
    new, side = data_of(a, 1)
    values, b, x = array(nan(a.nnz)), array(side), array(side)
    solver.step_device(values, b, x)
    with pytest.raises((ValueError, lulab.LulabError)):
        solver.wait()
    assert not device.exported  # the arrays are held no longer
    assert np.isnan(x.get()).all()
    values.set(new)
    solver.step_device(values, b, x)
    solver.wait()
    assert error_of(a, new, side, x.get()) <= 1e-9


@on_device
@both_protocols
@pytest.mark.parametrize("own_stream", [False, True])
def test_a_batch(array, own_stream):
    a = matrix(30, 35)
    batch = lulab.BatchSolver()
    batch.analyze(a, 4)
    batch.factor(data_of(a, 0, 4)[0])
    stream = device.Stream().number if own_stream else 0
    values, b, x = array(nan(4, a.nnz)), array(nan(4, 30)), array(nan(4, 30))
    for seed in range(3):
        new, side = data_of(a, seed, 4)
        new[seed] = 0
        values.set(new)
        b.set(side)
        x.set(np.ones((4, 30)))
        batch.step_device(values, b, x, stream)
        batch.wait()
        assert [e is None for e in batch.errors] == [k != seed for k in range(4)]
        assert isinstance(batch.errors[seed], lulab.LulabError)
        got = x.get()
        assert np.isnan(got[seed]).all()
        for k in range(4):
            assert k == seed or error_of(a, new[k], side[k], got[k]) <= 1e-9
    for wrong in (array(np.ones(4 * a.nnz)), array(np.ones((3, a.nnz)))):
        with pytest.raises(ValueError, match="values has the shape"):
            batch.step_device(wrong, b, x)
    with pytest.raises(ValueError, match=r"b has the shape \(30, 4\); \(4, 30\) is expected"):
        batch.step_device(values, array(np.ones((30, 4))), x)
    batch.analyze(a.tocsr(), 4)
    with pytest.raises(ValueError, match="order of sorted columns"):
        batch.step_device(values, b, x)


def with_strides(a, strides):
    a.strides = strides
    return a


def changed(a, **changes):
    a.changes = changes
    return a


def on(a, kind, number):
    a.kind, a.number = kind, number
    return a


@on_device
@both_protocols
def test_wrong_arguments_are_named(array):
    a = matrix(30, 36)
    new, side = data_of(a, 1)
    solver = lulab.Solver(rung="11_fan_in")
    good = {"values": array(new), "b": array(side), "x": array(nan(30))}
    with pytest.raises(ValueError, match="analyze"):
        solver.step_device(**good)
    solver.analyze(a)
    with pytest.raises(ValueError, match="factor"):
        solver.step_device(**good)
    assert np.isnan(good["x"].get()).all()
    solver.factor(a)
    with pytest.raises(ValueError, match="step_device"):
        solver.wait()
    sizes = {"values": a.nnz, "b": 30, "x": 30}
    for name, size in sizes.items():
        for wrong, error, text in (
                (array(np.ones(size - 1)), ValueError, f"{name} has the shape \\({size - 1},\\); \\({size},\\)"),
                (array(np.ones((size, 1))), ValueError, f"{name} has the shape"),
                (array(np.ones(size, np.float32)), TypeError, f"{name} has entries of the type <f4"),
                (array(np.ones(size, np.complex128)), TypeError, f"{name} has entries of the type <c16"),
                (array(np.ones(size, np.int64)), TypeError, f"{name} has entries of the type <i8"),
                (with_strides(array(np.ones(size)), (16,)), ValueError, f"{name} is not contiguous"),
                ([1.0] * size, TypeError, f"{name} is a list, which has neither"),
                (None, TypeError, f"{name} is a NoneType, which has neither")):
            with pytest.raises(error, match=text):
                solver.step_device(**{**good, name: wrong})
    for wrong in (-1, None, "0", 1.5):
        with pytest.raises(TypeError, match="stream is"):
            solver.step_device(**good, stream=wrong)
    with pytest.raises(ValueError, match="overlap"):
        solver.step_device(good["values"], good["b"], good["b"])
    with pytest.raises(ValueError, match="belong to the analyzed matrix"):  # another thread may have analyzed since
        solver._solver.step_device((64, a.nnz), (64, 30), (64, 29), 0, [])
    good["x"].set(nan(30))
    solver.step_device(**good)
    solver.wait()
    assert error_of(a, new, side, good["x"].get()) <= 1e-9
    solver.analyze(a.tocsr())
    solver.factor(a.tocsr().data)
    with pytest.raises(ValueError, match="order of sorted columns"):
        solver.step_device(**good)


@on_device
def test_what_only_one_protocol_can_say():
    a = matrix(30, 37)
    new, side = data_of(a, 1)
    solver = solver_of(a, rung="11_fan_in")
    values, b, x = device.Interface(new), device.Interface(side), device.Interface(nan(30))
    address = (x.address, True)
    solver.step_device(changed(device.Interface(new), data=(values.address, True)), b, x)
    solver.wait()
    assert error_of(a, new, side, x.get()) <= 1e-9
    for changes, error, text in (({"data": address}, ValueError, "x is read-only"),
                                 ({"typestr": ">f8"}, TypeError, "x has entries of the type >f8"),
                                 ({"mask": b}, TypeError, "x has a mask"),
                                 ({"stream": 0}, ValueError, "x: 0 is no stream"),
                                 ({"stream": -3}, TypeError, "the stream of x is -3")):
        with pytest.raises(error, match=text):
            solver.step_device(values, b, changed(device.Interface(nan(30)), **changes))
    for stream in (1, 2):
        x.set(nan(30))
        x.changes = {"stream": stream}
        solver.step_device(values, b, x, device.Stream().number)
        solver.wait()
        assert error_of(a, new, side, x.get()) <= 1e-9
    with pytest.raises(TypeError, match="b is in memory of the kind 8 of DLPack"):
        solver.step_device(values, on(device.DLPack(side), 8, 0), x)
    host = np.full(30, 1.0)
    if device.ON_GPU:
        with pytest.raises(ValueError, match="b is on the device 1"):
            solver.step_device(values, on(device.DLPack(side), 2, 1), x)
        with pytest.raises(TypeError, match="b is in memory of the kind 1 of DLPack"):
            solver.step_device(values, host, x)
        with pytest.raises(TypeError, match="b is in host memory"):
            solver.step_device(values, changed(device.Interface(side), data=(host.ctypes.data, False)), x)
        return
    with pytest.raises(TypeError, match="b is in memory of the kind 2 of DLPack.*built without CUDA"):
        solver.step_device(values, on(device.DLPack(side), 2, 0), x)
    solver.step_device(new, side, host)  # NumPy's arrays speak DLPack
    solver.wait()
    assert error_of(a, new, side, host) <= 1e-9
    host.flags.writeable = False
    with pytest.raises((ValueError, TypeError), match="x is read-only|x is not given by DLPack"):
        solver.step_device(new, side, host)


@on_device
@both_protocols
def test_another_device(array):
    if device.count() < 2:
        pytest.skip("there is one device")
    a = matrix(30, 39)
    new, side = data_of(a, 1)
    solver = solver_of(a, rung="11_fan_in")
    here = array(new), array(side), array(nan(30))
    device.cuda("cudaSetDevice", 1)
    try:
        there = array(new), array(side), array(nan(30))
        with pytest.raises(ValueError, match="values is on the device 0, but the current device of this thread is 1"):
            solver.step_device(*here)
        for of_other in there:
            of_other.number = 1
        with pytest.raises(ValueError, match="this solver works on the device 0, but the current device"):
            solver.step_device(*there)
    finally:
        device.cuda("cudaSetDevice", 0)
    with pytest.raises(ValueError, match="x is on the device 1"):
        solver.step_device(here[0], here[1], there[2])
    solver.step_device(*here)
    solver.wait()
    assert error_of(a, new, side, here[2].get()) <= 1e-9


@on_device
@both_protocols
def test_threads_with_solvers_of_their_own(array):
    errors = [np.nan] * 3

    def work(k):
        a = matrix(30, 40 + k)
        solver = solver_of(a, rung="11_fan_in")
        stream = device.Stream()
        values, b, x = array(nan(a.nnz)), array(nan(30)), array(nan(30))
        worst = 0
        for seed in range(5):
            new, side = data_of(a, seed)
            values.set(new)
            b.set(side)
            x.set(nan(30))
            solver.step_device(values, b, x, stream.number)
            solver.wait()
            worst = np.maximum(worst, error_of(a, new, side, x.get()))
        errors[k] = worst

    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(e <= 1e-9 for e in errors), errors


@on_device
@pytest.mark.parametrize("systems", [0, 3])
def test_other_threads_run_during_a_step(systems):
    a = matrix(60, 41)
    batch = (systems,) if systems else ()
    new, side = data_of(a, 1, *batch)
    solver = lulab.BatchSolver(rung="11_fan_in") if systems else lulab.Solver(rung="11_fan_in")
    solver.analyze(a, *batch)
    solver.factor(new)
    arrays = [device.Interface(new), device.Interface(side), device.Interface(nan(*side.shape))]
    stream = device.Stream()
    started, events = threading.Event(), []

    def work():
        stream.delay()
        started.set()
        solver.step_device(*arrays, stream.number)
        solver.wait()
        events.append("the step is over")

    interval = sys.getswitchinterval()
    sys.setswitchinterval(100)  # so this thread goes on only where the other one releases the GIL
    try:
        thread = threading.Thread(target=work)
        thread.start()
        started.wait()
        events.append("another thread ran")
        thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert events == ["another thread ran", "the step is over"]
