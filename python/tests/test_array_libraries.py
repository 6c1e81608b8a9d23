"""step_device() on arrays of CuPy, PyTorch, JAX (from 0.12 on) and Numba, as far as these are installed; without CUDA on
those of NumPy, PyTorch and JAX in host memory."""
import contextlib
import os

import device
import numpy as np
import pytest
from test_splu import matrix
from test_step_device import data_of, error_of, nan, on_device, solver_of

import lulab

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
needs_gpu = pytest.mark.skipif(not device.ON_GPU, reason="lulab was built without CUDA")


class Numpy:
    """The interface of the other classes. number: of the stream that on_stream() makes the current one."""
    writes = True  # may its arrays be x?

    def __init__(self):
        self.number = 0

    def on_stream(self):
        return contextlib.nullcontext()

    def array(self, host):
        return np.array(host)

    def twice(self, a):
        """By a kernel of the library, not awaited."""
        return a * 2

    def host(self, a):
        return np.asarray(a)


class Cupy(Numpy):
    def __init__(self):
        self.cupy = pytest.importorskip("cupy")
        self.stream = self.cupy.cuda.Stream(non_blocking=True)
        self.number = self.stream.ptr

    def on_stream(self):
        return self.stream

    def array(self, host):
        return self.cupy.asarray(host)

    def late(self, a):
        """A copy, made long after the call."""
        device.delay(self.number)
        return self.twice(a) / 2

    def host(self, a):
        return a.get()


class Torch(Numpy):
    def __init__(self):
        self.torch = pytest.importorskip("torch")
        self.place = "cuda" if device.ON_GPU else "cpu"
        self.stream = self.torch.cuda.Stream() if device.ON_GPU else None
        self.number = self.stream.cuda_stream if device.ON_GPU else 0

    def on_stream(self):
        return self.torch.cuda.stream(self.stream)

    def array(self, host):
        return self.torch.tensor(host, device=self.place)

    def late(self, a):
        device.delay(self.number)
        return self.twice(a) / 2

    def host(self, a):
        return a.cpu().numpy()


class Jax(Numpy):
    """Its streams are its own, and its arrays never change."""
    writes = False

    def __init__(self):
        self.jax = pytest.importorskip("jax")
        self.jax.config.update("jax_enable_x64", True)
        self.number = device.Stream().number if device.ON_GPU else 0

    def array(self, host):
        return self.jax.numpy.array(host)

    def late(self, a):
        return self.jax.lax.fori_loop(0, 5000, lambda _, v: -v, a)


class Numba(Numpy):
    def __init__(self):
        pytest.importorskip("numba")
        cuda = self.cuda = pytest.importorskip("numba.cuda")
        self.stream = cuda.stream()
        self.number = int(getattr(self.stream.handle, "value", self.stream.handle))

        @cuda.jit
        def multiply(by, a, product):
            i = cuda.grid(1)
            if i < a.size:
                product[i] = by * a[i]
        self.kernel = multiply

    def array(self, host):
        return self.cuda.to_device(np.array(host), stream=self.stream)

    def multiply(self, by, a):
        product = self.cuda.device_array(a.shape, a.dtype, stream=self.stream)
        flat, flat_product = a.reshape(a.size), product.reshape(a.size)
        self.kernel[-(-a.size // 128), 128, self.stream](by, flat, flat_product)
        return product

    def twice(self, a):
        return self.multiply(2, a)

    def late(self, a):
        device.delay(self.number)
        return self.multiply(1, a)

    def host(self, a):
        return a.copy_to_host(stream=self.stream)


@pytest.fixture(params=[Cupy, Torch, Jax, Numba] if device.ON_GPU else [Numpy, Torch, Jax])
def library(request):
    return request.param()


def empty(library, *shape):
    return library.array(nan(*shape)) if library.writes else device.DLPack(nan(*shape))


def host(library, x):
    return library.host(x) if library.writes else x.get()


@on_device
def test_steps_with_its_arrays_on_its_stream(library):
    a = matrix(30, 50)
    solver = solver_of(a, rung="11_fan_in")
    with library.on_stream():
        for seed in range(6):
            new, side = data_of(a, seed)
            values, b, x = library.array(new), library.array(side), empty(library, 30)
            solver.step_device(values, b, x, library.number)
            if library.writes:
                assert error_of(a, new, side, library.host(library.twice(x)) / 2) <= 1e-9  # in the order of the stream
            solver.wait()
            assert error_of(a, new, side, host(library, x)) <= 1e-9


@on_device
@needs_gpu
def test_a_step_on_another_stream_comes_after_its_work(library):
    a = matrix(30, 51)
    solver = solver_of(a, rung="11_fan_in")
    other = device.Stream().number
    for seed in range(3):
        new, side = data_of(a, seed)
        with library.on_stream():
            values, b, x = library.array(new), library.array(side), empty(library, 30)
            values, b = library.late(values), library.late(b)
            solver.step_device(values, b, x, other)
        solver.wait()
        assert error_of(a, new, side, host(library, x)) <= 1e-9


@on_device
def test_a_batch_of_its_arrays(library):
    a = matrix(30, 52)
    batch = lulab.BatchSolver()
    batch.analyze(a, 4)
    batch.factor(data_of(a, 0, 4)[0])
    with library.on_stream():
        for seed in range(3):
            new, side = data_of(a, seed, 4)
            values, b, x = library.array(new), library.array(side), empty(library, 4, 30)
            batch.step_device(values, b, x, library.number)
            batch.wait()
            assert batch.errors == [None] * 4
            got = host(library, x)
            for k in range(4):
                assert error_of(a, new[k], side[k], got[k]) <= 1e-9


@on_device
def test_its_arrays_that_do_not_suit(library):
    a = matrix(30, 53)
    new, side = data_of(a, 1)
    solver = solver_of(a, rung="11_fan_in")
    with library.on_stream():
        values, b, x = library.array(new), library.array(side), empty(library, 30)
        for wrong, error, text in ((library.array(side.astype(np.float32)), TypeError, "b has entries of the type <f4"),
                                   (library.array(side[1:]), ValueError, r"b has the shape \(29,\)"),
                                   (library.array(side.reshape(30, 1)), ValueError, r"b has the shape \(30, 1\)")):
            with pytest.raises(error, match=text):
                solver.step_device(values, wrong, x, library.number)
        if library.writes:
            with pytest.raises(ValueError, match="b is not contiguous"):
                solver.step_device(values, library.array(np.repeat(side, 2))[::2], x, library.number)
        else:
            with pytest.raises(ValueError, match="x is read-only"):
                solver.step_device(values, b, library.array(nan(30)), library.number)
        if isinstance(library, Torch):
            with pytest.raises(TypeError, match="b is not given by DLPack"):
                solver.step_device(values, b.requires_grad_(), x, library.number)
            b.requires_grad_(False)
        solver.step_device(values, b, x, library.number)
        solver.wait()
        assert error_of(a, new, side, host(library, x)) <= 1e-9


@on_device
@needs_gpu
@pytest.mark.parametrize("name", ["numpy", "torch", "jax"])
def test_arrays_in_host_memory_are_refused(name):
    a = matrix(30, 54)
    new, side = data_of(a, 1)
    solver = solver_of(a, rung="11_fan_in")
    values, b, x = (device.DLPack(v) for v in (new, side, nan(30)))
    if name == "numpy":
        wrong = side
    elif name == "torch":
        wrong = pytest.importorskip("torch").tensor(side)
    else:
        jax = pytest.importorskip("jax")
        jax.config.update("jax_enable_x64", True)
        wrong = jax.device_put(side, jax.devices("cpu")[0])
    with pytest.raises(TypeError, match="b is in memory of the kind 1 of DLPack"):
        solver.step_device(values, wrong, x)
