"""Environments in batches, as the library has them: what Gymnasium's and PettingZoo's classes are made of."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _native as lib
from .errors import InputError


def names() -> list[str]:
    """The environments of the registry: "CartPole-v1", "go9" ...; of those with sizes others may be named ("go13")."""
    found: list[str] = []
    while name := lib.native.cumind_env_name(len(found)):
        found.append(name.decode())
    return found


def stem(name: str) -> str:
    """"go" of "go9"."""
    return name if "-" in name else name.rstrip("0123456789")


_INT64 = np.dtype(np.int64)


class Copies:
    """Arrays of Python's for what a batch shows after a step, with rewards in float64: those of a Batch otherwise."""

    def __init__(self, batch: Batch) -> None:
        n = batch.count
        self.handle = batch._handle  # of that batch they are
        self.observation = np.empty(batch.observation.shape, np.float32)
        self.legal = None if batch.legal is None else np.empty(batch.legal.shape, np.int8)
        self.to_play = np.empty(n, np.int32)
        self.reward = np.empty(n, np.float64)
        self.terminated, self.truncated = np.empty(n, np.bool_), np.empty(n, np.bool_)
        arrays = self.observation, self.legal, self.to_play, self.reward, self.terminated, self.truncated
        self._addresses = lib.EnvCopies(*map(lib.address, arrays))
        self.place = ctypes.addressof(self._addresses)
        self._arrays = tuple(array for array in arrays if array is not None)
        del arrays
        self._alone = self._references()

    def _references(self) -> int:
        """Most that refer to one of the arrays. A view refers to its array, as it owns its memory."""
        return max(map(sys.getrefcount, self._arrays))

    def is_free(self) -> bool:
        """Whether nothing else refers to the arrays any more."""
        return self._references() <= self._alone


class Batch:
    """n environments of one kind, whose arrays the library writes: after every call they show what is so then.

    name: of the registry, or the path of a library or of a file in Python. settings: configuration keys, as komi=6.5.
    observation: float32 [n, *spec.shape]. legal: uint8 [n, A] (None where actions are too many to list). to_play: int32
    [n]. reward: float32 [n], of the player who acted. terminated, truncated: bool [n].
    """

    def __init__(self, name: str, count: int = 1, seed: int = 0, **settings: Any) -> None:
        lib.prefer_this_python()
        words, length = lib.texts(settings)
        pointer = ctypes.c_void_p()
        number = lib.integer("count", count, 1, 2**31 - 1)
        seed = lib.integer("seed", seed, 0, 2**64 - 1)
        lib.check(
            lib.native.cumind_env_open(lib.encode("name", name), number, seed, words, length, ctypes.byref(pointer))
        )
        self._take(pointer, number)

    @classmethod
    def of(cls, pointer: ctypes.c_void_p, count: int) -> Batch:
        """Of a handle of the library, which it owns from now on."""
        batch = cls.__new__(cls)
        batch._take(pointer, count)
        return batch

    def _take(self, pointer: ctypes.c_void_p, count: int) -> None:
        self._handle = lib.Handle("env", pointer)
        self.count = count
        self._flat = (count,)
        self.spec = lib.Spec()
        owner, n = self._handle.pointer, count
        lib.native.cumind_env_get_spec(owner, ctypes.byref(self.spec))
        arrays = lib.native.cumind_env_get_arrays(owner)
        self.observation: NDArray[np.float32] = lib.view(
            owner, arrays.observation, ctypes.c_float, (n, *self.spec.shape)
        )
        self.legal: NDArray[np.uint8] | None = None
        if arrays.legal:
            self.legal = lib.view(owner, arrays.legal, ctypes.c_uint8, (n, self.spec.actions))
        self.to_play: NDArray[np.int32] = lib.view(owner, arrays.to_play, ctypes.c_int32, (n,))
        self.reward: NDArray[np.float32] = lib.view(owner, arrays.reward, ctypes.c_float, (n,))
        self.terminated: NDArray[np.bool_] = lib.view(owner, arrays.terminated, ctypes.c_uint8, (n,)).view(np.bool_)
        self.truncated: NDArray[np.bool_] = lib.view(owner, arrays.truncated, ctypes.c_uint8, (n,)).view(np.bool_)

    def close(self) -> None:
        """Its memory is freed when the arrays, too, are no longer referred to. A second call does nothing."""
        self._handle.close()

    def reset(self, which: Any = None, seeds: Any = None) -> None:
        """New episodes of those of which=[n] (None: all), of named seeds [n] as Gymnasium's reset(seed=...) has them."""
        chosen = None if which is None else lib.as_array("which", which, np.uint8, (self.count,))
        named = None if seeds is None else lib.as_array("seeds", seeds, np.uint64, (self.count,))
        lib.check(lib.native.cumind_env_reset(self._handle.pointer, lib.address(chosen), lib.address(named)))

    def step(self, actions: Any, copies: Copies | None = None) -> None:
        """One step of each: actions int [n], or of a continuous task values [n, D]. Where an episode has ended the next
        one begins instead, with reward 0. copies: of this batch; they are written then."""
        place = None if copies is None else self._place(copies)
        if not self.spec.action_size:
            owner = self._handle.pointer  # held until the call returns
            status = lib.native.cumind_env_step_int64(owner.address, self._moves(actions), place)
            if status:
                lib.check(status)
            return
        values = lib.as_array("actions", actions, np.float32, (self.count, self.spec.action_size))
        lib.check(lib.native.cumind_env_step_values(self._handle.pointer, values.ctypes.data))
        if copies is not None:
            lib.check(lib.native.cumind_env_copy_arrays(self._handle.pointer, place))

    def _place(self, copies: Any) -> int:
        if type(copies) is Copies and copies.handle is self._handle:
            return copies.place
        raise InputError(f"copies: {lib.brief(copies)} is no Copies of this batch")

    def _moves(self, actions: Any) -> bytes:
        """Actions as int64, bytes that no other code writes; what a call per step costs is here."""
        if type(actions) is np.ndarray and actions.dtype is _INT64 and actions.shape == self._flat:
            return actions.tobytes()
        return lib.as_array("actions", actions, np.int32, self._flat).astype(np.int64).tobytes()

    def picture(self, index: int = 0) -> str:
        """An environment as lines of text."""
        text = ctypes.create_string_buffer(4096)
        lib.check(lib.native.cumind_env_picture(self._handle.pointer, lib.integer("index", index, 0, self.count - 1), text, len(text)))
        return text.value.decode()

    def action_name(self, action: int) -> str:
        """ "d4", "left", where the environment has names; else the number."""
        text = ctypes.create_string_buffer(64)
        lib.check(lib.native.cumind_env_action_name(self._handle.pointer, lib.integer("action", action, 0, self.spec.actions - 1), text, len(text)))
        return text.value.decode()

    def copy(self, to: int, source: int) -> None:
        """Environment `to` goes on as `source` is; it keeps its own seed."""
        last = self.count - 1
        at = lib.integer("to", to, 0, last), lib.integer("source", source, 0, last)
        lib.check(lib.native.cumind_env_copy(self._handle.pointer, *at))
