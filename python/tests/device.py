"""Arrays where step_device() wants them: on the GPU, by ctypes on libcudart, or, without CUDA, in host memory."""
import ctypes
import functools
import threading

import numpy as np

from lulab import _core

ON_GPU = _core.on_gpu


@functools.lru_cache
def cudart():
    for name in ("libcudart.so", "libcudart.so.13", "libcudart.so.12", "/usr/local/cuda/lib64/libcudart.so"):
        try:
            return ctypes.CDLL(name)
        except OSError:
            pass
    raise OSError("these tests need libcudart.so; set LD_LIBRARY_PATH")


def cuda(function, *arguments):
    error = getattr(cudart(), function)(*arguments)
    assert error == 0, f"{function} failed with {error}"


def synchronize():
    """Waits for the device. Beside other threads for the default stream alone: while one of them records a step, CUDA
    refuses the other and spoils the recording."""
    if threading.active_count() == 1:
        cuda("cudaDeviceSynchronize")
    else:
        cuda("cudaStreamSynchronize", pointer(None))


def pointer(address):
    return ctypes.c_void_p(address)


def count():
    if not ON_GPU:
        return 1
    number = ctypes.c_int()
    cuda("cudaGetDeviceCount", ctypes.byref(number))
    return number.value


def why_no_device():
    """Empty where the arrays of this file can be made."""
    if not ON_GPU:
        return ""
    count = ctypes.c_int()
    error = cudart().cudaGetDeviceCount(ctypes.byref(count))
    return "" if error == 0 and count.value > 0 else f"there is no GPU: cudaGetDeviceCount failed with {error}"


def delay(stream, microseconds=200_000):
    """usleep() as the host function of the stream."""
    usleep = ctypes.cast(ctypes.CDLL(None).usleep, ctypes.c_void_p)
    cuda("cudaLaunchHostFunc", pointer(stream), usleep, pointer(microseconds))


class Stream:
    """Not ordered with the default stream. The simulator has no streams: there it is a number."""

    def __init__(self):
        self.number = 1000
        if ON_GPU:
            made = ctypes.c_void_p()
            cuda("cudaStreamCreateWithFlags", ctypes.byref(made), 1)
            self.number = made.value

    def delay(self):
        if ON_GPU:
            delay(self.number)

    def let_wait(self, other):
        """Another stream, by its number, waits for what is enqueued here."""
        event = ctypes.c_void_p()
        cuda("cudaEventCreateWithFlags", ctypes.byref(event), 2)
        cuda("cudaEventRecord", event, pointer(self.number))
        cuda("cudaStreamWaitEvent", pointer(other), event, 0)
        cuda("cudaEventDestroy", event)


class _Tensor(ctypes.Structure):
    """DLManagedTensor."""
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


exported = {}  # by address: what a consumer of DLPack has not released


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _release(address):
    del exported[address]


class _Array:
    """A copy of a NumPy array. stream: the one whose work the consumer has to wait for."""

    def __init__(self, host, stream=None):
        host = np.asarray(host)
        self.shape, self.dtype, self.nbytes = host.shape, host.dtype, host.nbytes
        self.strides = None
        self.stream = stream
        if ON_GPU:
            made = ctypes.c_void_p()
            cuda("cudaMalloc", ctypes.byref(made), ctypes.c_size_t(max(host.nbytes, 1)))
            self.address = made.value
        else:
            self.memory = np.empty_like(host, order="C")
            self.address = self.memory.ctypes.data
        self.set(host)

    def __del__(self):
        if ON_GPU:
            cudart().cudaFree(pointer(self.address))

    def set(self, host):
        host = np.ascontiguousarray(host, self.dtype)
        assert host.shape == self.shape
        if ON_GPU:
            cuda("cudaMemcpy", pointer(self.address), pointer(host.ctypes.data), ctypes.c_size_t(self.nbytes), 1)
            synchronize()
        else:
            self.memory[...] = host

    def get(self):
        if not ON_GPU:
            return self.memory.copy()
        synchronize()
        host = np.empty(self.shape, self.dtype)
        cuda("cudaMemcpy", pointer(host.ctypes.data), pointer(self.address), ctypes.c_size_t(self.nbytes), 2)
        return host

    def copy_from(self, other, stream):
        """On the device, in the order of the stream."""
        if ON_GPU:
            cuda("cudaMemcpyAsync", pointer(self.address), pointer(other.address), ctypes.c_size_t(self.nbytes), 3,
                 pointer(stream.number))
        else:
            self.memory[...] = other.memory


class Interface(_Array):
    """With __cuda_array_interface__ alone, as Numba's."""
    changes = {}

    @property
    def __cuda_array_interface__(self):
        known = {"shape": self.shape, "typestr": self.dtype.str, "data": (self.address, False), "version": 3,
                 "strides": self.strides, "stream": self.stream.number if self.stream else None}
        return {**known, **self.changes}


class DLPack(_Array):
    """With __dlpack__ alone."""
    kind, number = (2 if ON_GPU else 1), 0

    def __dlpack_device__(self):
        return self.kind, self.number

    def __dlpack__(self, *, stream=None):  # as before DLPack 1.0
        self.asked = stream
        if self.stream and ON_GPU:
            self.stream.let_wait(stream)
        n = len(self.shape)
        shape = (ctypes.c_int64 * n)(*self.shape)
        strides = np.array(self.strides or np.empty(self.shape, self.dtype).strides) // self.dtype.itemsize
        strides = (ctypes.c_int64 * n)(*strides.tolist())
        code = {"i": 0, "u": 1, "f": 2, "c": 5}[self.dtype.kind]
        tensor = _Tensor(self.address, self.kind, self.number, n, code, 8 * self.dtype.itemsize, 1, shape, strides, 0,
                         None, ctypes.cast(_release, ctypes.c_void_p))
        exported[ctypes.addressof(tensor)] = self, tensor, shape, strides
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(tensor), b"dltensor", None)


PROTOCOLS = [Interface, DLPack]
