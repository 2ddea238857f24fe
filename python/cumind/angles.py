"""Angles of von Mises distributions, for policies and environments whose actions turn."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _native as lib
from .errors import InputError, OutOfMemoryError

_FUNCTIONS: dict[np.dtype[Any], Any] = {
    np.dtype(np.float64): lib.native.cumind_von_mises,
    np.dtype(np.float32): lib.native.cumind_von_mises_float,
}


def _type(dtype: Any) -> np.dtype[Any]:
    try:
        wanted: np.dtype[Any] = np.dtype(dtype)
        if dtype is not None and wanted in _FUNCTIONS:
            return wanted
    except TypeError:
        pass
    raise InputError(f"dtype: {lib.brief(dtype)} is neither float32 nor float64")


def _shape(mu: NDArray[Any], kappa: NDArray[Any], size: Any) -> tuple[int, ...]:
    """Of the result: that of mu and kappa together, or `size` if both fit into it."""
    try:
        shape = np.broadcast_shapes(mu.shape, kappa.shape)
    except ValueError:
        raise InputError(f"kappa: shape {kappa.shape} does not go together with {mu.shape} of mu") from None
    if size is None:
        return shape
    wanted = tuple(lib.integer("size", n, 0, 2**48) for n in (size if isinstance(size, (tuple, list)) else (size,)))
    try:
        fits = np.broadcast_shapes(shape, wanted) == wanted
    except ValueError:
        fits = False
    if not fits:
        raise InputError(f"size: {shape} of mu and kappa does not fit into {wanted}")
    return wanted


def _each(array: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """One number, or one for each draw."""
    return array if array.size == 1 else np.ascontiguousarray(np.broadcast_to(array, shape))


def von_mises(
    mu: Any, kappa: Any, size: Any = None, *, seed: int, stream: int = 0, first: int = 0, dtype: Any = np.float64, threads: int = 1
) -> NDArray[Any]:
    """Draws angles around mu with concentration kappa, radians in [-pi, pi), as numpy.random.Generator.vonmises does, faster.

    mu: finite, of any turn. kappa: 0 (uniform) to 1e30; the variance of large ones is 1 / kappa. Both are numbers or arrays whose
    shapes go together; the result has that shape, or `size` (a whole number or a tuple). dtype: float64 or float32, each with random
    numbers of its own. Draw i, counted row by row, depends on (seed, stream, first + i), on its mu and kappa alone; seed, stream and
    first are whole numbers from 0 to 2**64 - 1. threads: 1 to 1024; 0: one for each processor; they change no bit. Raises InputError.
    Source: Best and Fisher 1979; the density is exp(kappa cos(x - mu)) / (2 pi I0(kappa)).
    """
    kind, most = _type(dtype), 2**64 - 1
    given = lib.host("mu", mu), lib.host("kappa", kappa)
    center, concentration = (lib.as_array(name, a, kind, a.shape) for name, a in zip(("mu", "kappa"), given))
    shape = _shape(center, concentration, size)
    try:
        out = np.empty(shape, kind)
    except (MemoryError, ValueError) as error:
        raise OutOfMemoryError(f"size: {error}") from None
    center, concentration = _each(center, shape), _each(concentration, shape)
    what = lib.Angles(
        lib.integer("seed", seed, 0, most),
        lib.integer("stream", stream, 0, most),
        lib.integer("first", first, 0, most),
        out.size,
        center.size,
        concentration.size,
        lib.integer("threads", threads, 0, 1024),
    )
    if out.size:
        lib.check(_FUNCTIONS[kind](ctypes.byref(what), *map(lib.address, (center, concentration, out))))
    return out
