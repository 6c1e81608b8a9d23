"""Arrays in device memory as the compiled half takes them, whichever protocol they speak."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import _core

_CPU, _CUDA, _CUDA_MANAGED = 1, 2, 13  # DLPack's numbers
_KINDS = (_CUDA, _CUDA_MANAGED) if _core.on_gpu else (_CPU,)  # the simulator's device memory is the host's
_WANTED = ("an array in the memory of the GPU" if _core.on_gpu else
           "an array in host memory, because lulab was built without CUDA")


class StepArrays:
    """values, b and x of a step on the caller's stream. Keep it until the step is over: it holds the arrays."""

    def __init__(self, stream: Any, values: Any, b: Any, x: Any, shape: tuple[int, ...],
                 sides: tuple[int, ...]) -> None:
        self._stream = _stream_of(stream, "stream")
        self._device = _core.current_device()
        self._earlier: list[int] = []  # streams with work on the arrays that the step comes after
        self._kept: list[Any] = []
        self._places = [self._place(values, "values", shape, False), self._place(b, "b", sides, False),
                        self._place(x, "x", sides, True)]

    def arguments(self) -> tuple[Any, ...]:
        """Of the compiled step_device()."""
        return *self._places, self._stream, self._earlier

    def _place(self, a: Any, name: str, shape: tuple[int, ...], is_written: bool) -> tuple[int, int]:
        # PyTorch's __cuda_array_interface__ names no stream, so DLPack is asked first.
        if hasattr(a, "__dlpack__") and hasattr(a, "__dlpack_device__"):
            known = self._dlpack(a, name)
        elif hasattr(a, "__cuda_array_interface__"):
            known = self._cuda_array_interface(a, name)
        else:
            raise TypeError(f"{name} is a {type(a).__name__}, which has neither __dlpack__ nor "
                            f"__cuda_array_interface__; step_device() takes {_WANTED}")
        self._kept += [a, known]
        pointer, is_read_only = known["data"]
        if np.dtype(known["typestr"]) != np.float64:
            raise TypeError(f"{name} has entries of the type {known['typestr']}; step_device() takes float64 in the "
                            "machine's byte order")
        if tuple(known["shape"]) != shape:
            raise ValueError(f"{name} has the shape {tuple(known['shape'])}; {shape} is expected")
        if not _is_contiguous(shape, known.get("strides")):
            raise ValueError(f"{name} is not contiguous in C order; step_device() makes no copy")
        if is_written and is_read_only:
            raise ValueError(f"{name} is read-only; step_device() writes to it")
        size = math.prod(shape)
        if size > 0:
            self._check_device(_core.device_of(pointer), name)
        return pointer or 0, size

    def _check_device(self, number: int, name: str) -> None:
        if number < 0:
            raise TypeError(f"{name} is in host memory; step_device() takes {_WANTED}")
        if number != self._device:
            raise ValueError(f"{name} is on the device {number}, but the current device of this thread is "
                             f"{self._device}")

    def _dlpack(self, a: Any, name: str) -> dict[str, Any]:
        kind, number = a.__dlpack_device__()
        if kind not in _KINDS:
            raise TypeError(f"{name} is in memory of the kind {int(kind)} of DLPack; step_device() takes {_WANTED}")
        if kind == _CUDA:
            self._check_device(number, name)
        # The producer lets this stream wait for what it has enqueued. 0 has no meaning there, 1 is the default stream.
        stream = None if kind == _CPU else self._stream or 1
        try:
            try:
                capsule = a.__dlpack__(stream=stream, max_version=(1, 0))  # tells of arrays that are read-only
            except TypeError:
                capsule = a.__dlpack__(stream=stream)
            return _core.array_in(capsule)
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            raise TypeError(f"{name} is not given by DLPack: {error}") from error

    def _cuda_array_interface(self, a: Any, name: str) -> dict[str, Any]:
        known = a.__cuda_array_interface__
        if known.get("mask") is not None:
            raise TypeError(f"{name} has a mask; step_device() takes no masked arrays")
        stream = known.get("stream")
        if stream is not None:
            if stream == 0:
                raise ValueError(f"{name}: 0 is no stream in __cuda_array_interface__; 1 is the default stream")
            number = _stream_of(stream, f"the stream of {name}")
            if number not in (self._stream, *self._earlier):
                self._earlier.append(number)
        return known


def _stream_of(stream: Any, what: str) -> int:
    if not isinstance(stream, (int, np.integer)) or stream < 0:
        raise TypeError(f"{what} is {stream!r}; it must be a cudaStream_t as a number (stream.ptr of CuPy, "
                        "stream.cuda_stream of PyTorch), or 0 for the default stream")
    return 0 if stream == 1 else int(stream)  # both are the default stream


def _is_contiguous(shape: tuple[int, ...], strides: tuple[int, ...] | None) -> bool:
    if strides is None or 0 in shape:
        return True
    expected = 8
    for size, stride in zip(reversed(shape), reversed(strides)):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True
