"""Environments in batches, as the library has them: what Gymnasium's and PettingZoo's classes are made of."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _library as lib
from .errors import InputError


def names() -> list[str]:
    """The environments of the registry: "CartPole-v1", "connect4" ..."""
    found: list[str] = []
    while name := lib.library.cumind_env_name(len(found)):
        found.append(name.decode())
    return found


class Batch:
    """n environments of one kind, whose arrays the library writes: after every call they show what is so then.

    name: of the registry, or the path of a library or of a file in Python. settings: configuration keys, as komi=6.5.
    observation: float32 [n, *spec.shape]. legal: uint8 [n, A] (None where actions are too many to list). to_play: int32
    [n]. reward: float32 [n], of the player who acted. terminated, truncated: bool [n].
    """

    def __init__(self, name: str, count: int = 1, seed: int = 0, **settings: Any) -> None:
        words, length = lib.texts(settings)
        pointer = ctypes.c_void_p()
        if not 0 <= seed < 1 << 64:
            raise InputError(f"seed: {seed} is not in 0 .. 2^64 - 1")
        lib.check(lib.library.cumind_env_open(str(name).encode(), count, seed, words, length, ctypes.byref(pointer)))
        self._handle = lib.Handle("env", pointer)
        self.count = count
        self.spec = lib.Spec()
        lib.library.cumind_env_get_spec(pointer, ctypes.byref(self.spec))
        arrays, n = lib.library.cumind_env_get_arrays(pointer), count
        self.observation: NDArray[np.float32] = lib.view(arrays.observation, ctypes.c_float, (n, *self.spec.shape))
        self.legal: NDArray[np.uint8] | None = None
        if arrays.legal:
            self.legal = lib.view(arrays.legal, ctypes.c_uint8, (n, self.spec.actions))
        self.to_play: NDArray[np.int32] = lib.view(arrays.to_play, ctypes.c_int32, (n,))
        self.reward: NDArray[np.float32] = lib.view(arrays.reward, ctypes.c_float, (n,))
        self.terminated: NDArray[np.bool_] = lib.view(arrays.terminated, ctypes.c_uint8, (n,)).view(np.bool_)
        self.truncated: NDArray[np.bool_] = lib.view(arrays.truncated, ctypes.c_uint8, (n,)).view(np.bool_)

    def close(self) -> None:
        """The arrays may not be looked at after that."""
        self._handle.close()

    def reset(self, which: Any = None, seeds: Any = None) -> None:
        """New episodes of those of which=[n] (None: all), of named seeds [n] as Gymnasium's reset(seed=...) has them."""
        chosen = None if which is None else lib.as_array("which", which, np.uint8, (self.count,))
        named = None if seeds is None else lib.as_array("seeds", seeds, np.uint64, (self.count,))
        lib.check(lib.library.cumind_env_reset(self._handle.pointer, lib.address(chosen), lib.address(named)))

    def step(self, actions: Any) -> None:
        """One step of each: actions int [n], or of a continuous task values [n, D]. Where an episode has ended the next
        one begins instead, with reward 0."""
        if self.spec.action_size:
            values = lib.as_array("actions", actions, np.float32, (self.count, self.spec.action_size))
            lib.check(lib.library.cumind_env_step_values(self._handle.pointer, values.ctypes.data))
            return
        if type(actions) is not np.ndarray or actions.dtype != np.int32 or actions.shape != (self.count,):
            actions = lib.as_array("actions", actions, np.int32, (self.count,))
        elif not actions.flags.c_contiguous:
            actions = np.ascontiguousarray(actions)
        status = lib.library.cumind_env_step(self._handle.pointer, actions.ctypes.data)
        if status:
            lib.check(status)

    def picture(self, index: int = 0) -> str:
        """An environment as lines of text."""
        text = ctypes.create_string_buffer(4096)
        lib.check(lib.library.cumind_env_picture(self._handle.pointer, index, text, len(text)))
        return text.value.decode()

    def action_name(self, action: int) -> str:
        """ "d4", "left", where the environment has names; else the number."""
        text = ctypes.create_string_buffer(64)
        lib.check(lib.library.cumind_env_action_name(self._handle.pointer, action, text, len(text)))
        return text.value.decode()

    def copy(self, to: int, source: int) -> None:
        """Environment `to` goes on as `source` is; it keeps its own seed."""
        lib.check(lib.library.cumind_env_copy(self._handle.pointer, to, source))
