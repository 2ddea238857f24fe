"""Trained agents: what they play, what they think, and their network."""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _native as lib
from .batch import Batch
from .errors import InputError

_CHECKPOINTS = {"latest": -1, "best": -2, "preferred": -3}


@dataclass(frozen=True)
class Analysis:
    """What a search says. Of a batch of n positions every array has n rows; of a single one that axis is not there.

    action: what the agent plays. visits, policy, prior, q: [A], simulations through each action, what the search makes of
    them (visit fractions, or the improved policy), the network's policy over the legal actions, and reward + discount * value (0 where not visited). value: mean
    of the returns of the search, raw_value: the network's; both as the player to move sees them.
    """

    action: NDArray[np.int32]
    visits: NDArray[np.int32]
    policy: NDArray[np.float32]
    prior: NDArray[np.float32]
    q: NDArray[np.float32]
    value: NDArray[np.float32]
    raw_value: NDArray[np.float32]


def _rows_of(name: str, value: Any, shape: tuple[int, ...]) -> tuple[NDArray[Any], bool]:
    """Rows of float32, each flat, of one thing of this shape or of several, and whether it is one."""
    array = lib.host(name, value)
    single = array.ndim == len(shape)
    if array.shape != shape and (array.ndim != len(shape) + 1 or array.shape[1:] != shape or len(array) == 0):
        raise InputError(f"{name}: shape {array.shape}, but {shape} or rows of it are wanted")
    return lib.as_array(name, array, np.float32, array.shape).reshape(1 if single else len(array), -1), single


class Agent:
    """The agent of a run of `cumind train`.

    run: its folder, or "zoo:NAME", an agent that comes with the program. checkpoint: "preferred" (the best that was evaluated,
    else the latest), "best", "latest", or a number of updates. settings: configuration keys that change what the run says, as
    evaluation_simulations=200, backend="cpu".
    One thread uses an agent at a time. Raises InputError, FileError (no such folder, a damaged checkpoint), StateError (there is none).
    """

    def __init__(self, run: str | os.PathLike[str], checkpoint: str | int = "preferred", **settings: Any) -> None:
        if isinstance(checkpoint, str) and checkpoint not in _CHECKPOINTS:
            raise InputError(f'checkpoint: "{checkpoint}" is none of {", ".join(_CHECKPOINTS)}, and no number of updates')
        number = _CHECKPOINTS[checkpoint] if isinstance(checkpoint, str) else lib.integer("checkpoint", checkpoint, 0, 2**53)
        lib.prefer_this_python()
        words, count = lib.texts(settings)
        pointer = ctypes.c_void_p()
        lib.check(lib.native.cumind_agent_open(lib.encode("run", run), number, words, count, ctypes.byref(pointer)))
        self._handle = lib.Handle("agent", pointer)
        self.spec = lib.Spec()
        self.facts = lib.Facts()
        lib.native.cumind_agent_get_spec(pointer, ctypes.byref(self.spec))
        lib.native.cumind_agent_get_facts(pointer, ctypes.byref(self.facts))

    def close(self) -> None:
        """Frees its memory; the agent is of no use after that. A second call does nothing."""
        self._handle.close()

    def __enter__(self) -> Agent:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<cumind.Agent of {self.spec} after {self.facts.updates} updates>"

    def _rows(self, observation: Any) -> tuple[NDArray[Any], bool]:
        return _rows_of("observation", observation, self.spec.shape)

    def _search(self, observation: Any, mask: Any, names: tuple[str, ...]) -> tuple[dict[str, NDArray[Any]], bool]:
        rows, single = self._rows(observation)
        n, actions = len(rows), self.spec.actions
        legal = None
        if mask is not None:
            legal = lib.as_array("mask", mask, np.uint8, (actions,) if single else (n, actions)).reshape(n, actions)
        out, wanted = self._answer(n, names)
        lib.check(
            lib.native.cumind_agent_analyse(
                self._handle.pointer, n, rows.ctypes.data, lib.address(legal), ctypes.byref(wanted)
            )
        )
        return out, single

    def _answer(self, n: int, names: tuple[str, ...]) -> tuple[dict[str, NDArray[Any]], lib.Analysis]:
        """Arrays for n rows of an analysis, and where they are."""
        wide = (n, self.spec.actions)
        out: dict[str, NDArray[Any]] = {
            name: np.empty(n if name in ("action", "value", "raw_value") else wide, _TYPES[name]) for name in names
        }
        return out, lib.Analysis(**{name: array.ctypes.data for name, array in out.items()})

    def _values(self, actions: NDArray[np.int32]) -> NDArray[np.float32]:
        values = np.empty((len(actions), self.spec.action_size), np.float32)
        for row, action in zip(values, actions):
            lib.check(lib.native.cumind_agent_values(self._handle.pointer, int(action), row.ctypes.data))
        return values

    def act(self, observation: Any, mask: Any = None) -> Any:
        """The agent's action, without noise, the same every time.

        observation: of the shape that the task has, or n rows of it. mask: 1 where an action may be played, [A] or
        [n, A]; None: every action may. Returns an int, or an array [n]; of continuous tasks float32 [D] or [n, D].
        """
        out, single = self._search(observation, mask, ("action",))
        actions = self._values(out["action"]) if self.spec.action_size else out["action"]
        if not single:
            return actions
        return actions[0] if self.spec.action_size else int(actions[0])

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = True, mask: Any = None
    ) -> tuple[Any, Any]:
        """`act` with the signature of Stable-Baselines3's models, for its evaluate_policy. The state is passed on."""
        if not lib.flag("deterministic", deterministic):
            raise InputError("deterministic: this agent plays without chance; leave it True")
        action = self.act(observation, mask)
        return (np.asarray(action) if not isinstance(action, np.ndarray) else action), state

    def analyse(self, observation: Any, mask: Any = None) -> Analysis:
        """What its search says of a position, or of n; arguments as of `act`. Not for tasks with too many actions to list."""
        out, single = self._search(observation, mask, tuple(_TYPES))
        return Analysis(**{name: array[0] if single else array for name, array in out.items()})

    def environments(self, count: int = 1, seed: int = 0) -> Batch:
        """Environments of what the agent was trained on, with its settings."""
        pointer = ctypes.c_void_p()
        number = lib.integer("count", count, 1, 2**31 - 1)
        seed = lib.integer("seed", seed, 0, 2**64 - 1)
        lib.check(lib.native.cumind_agent_open_env(self._handle.pointer, number, seed, ctypes.byref(pointer)))
        return Batch.of(pointer, number)

    def analyse_env(self, batch: Batch, first: int = 0, n: int | None = None) -> Analysis:
        """What its search says of environments first .. first+n-1 of a batch (n None: to the last), as they are. Also for
        agents that search on the true rules of a game (policy alphazero), which need states in place of observations."""
        if not isinstance(batch, Batch):
            raise InputError(f"batch: {lib.brief(batch)} is no cumind.Batch, as Agent.environments makes them")
        first = lib.integer("first", first, 0, batch.count - 1)
        n = batch.count - first if n is None else lib.integer("n", n, 1, batch.count - first)
        out, wanted = self._answer(n, tuple(_TYPES))
        lib.check(
            lib.native.cumind_agent_analyse_env(self._handle.pointer, batch._handle.pointer, first, n, ctypes.byref(wanted))
        )
        return Analysis(**out)

    def evaluate(self, episodes: int = 100, seed: int = 0) -> NDArray[np.float64]:
        """Plays episodes without noise, number i from seed + i; of games of two against a player that moves at random, and first
        in every other one. Returns their returns [episodes], those of `cumind eval`."""
        episodes = lib.integer("episodes", episodes, 1, 1_000_000)
        seed = lib.integer("seed", seed, 0, 2**53)
        returns = np.empty(episodes, np.float64)
        for first in range(0, episodes, _EPISODES):  # Ctrl-C comes through between two calls
            part = returns[first : first + _EPISODES]
            lib.check(
                lib.native.cumind_agent_evaluate(self._handle.pointer, len(part), seed + first, part.ctypes.data)
            )
        return returns

    def initial_inference(self, observation: Any) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
        """Representation and prediction: hidden states [n, S], policy logits [n, A], values [n]; no n of a single one."""
        rows, single = self._rows(observation)
        n = len(rows)
        hidden = np.empty((n, self.facts.hidden_size), np.float32)
        logits, value = np.empty((n, self.spec.actions), np.float32), np.empty(n, np.float32)
        lib.check(
            lib.native.cumind_agent_initial_inference(
                self._handle.pointer, n, rows.ctypes.data, hidden.ctypes.data, logits.ctypes.data, value.ctypes.data
            )
        )
        return (hidden[0], logits[0], value[0]) if single else (hidden, logits, value)

    def recurrent_inference(
        self, hidden: Any, action: Any
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
        """Dynamics and prediction of hidden states [n, S] and actions [n]: next hidden states, rewards, logits, values."""
        size = self.facts.hidden_size
        rows, single = _rows_of("hidden", hidden, (size,))
        n = len(rows)
        actions = lib.as_array("action", action, np.int32, () if single else (n,)).reshape(n)
        following, reward = np.empty((n, size), np.float32), np.empty(n, np.float32)
        logits, value = np.empty((n, self.spec.actions), np.float32), np.empty(n, np.float32)
        lib.check(
            lib.native.cumind_agent_recurrent_inference(
                self._handle.pointer, n, *(array.ctypes.data for array in (rows, actions, following, reward, logits, value))
            )
        )
        return (following[0], reward[0], logits[0], value[0]) if single else (following, reward, logits, value)


_EPISODES = 100  # of a call; even, since the first move of games alternates

_TYPES: dict[str, type] = {
    "action": np.int32,
    "visits": np.int32,
    "policy": np.float32,
    "prior": np.float32,
    "q": np.float32,
    "value": np.float32,
    "raw_value": np.float32,
}


def load(run: str | os.PathLike[str], checkpoint: str | int = "preferred", **settings: Any) -> Agent:
    """The agent of a run, as `Agent` takes it: cumind.load("runs/cp").act(observation)."""
    return Agent(run, checkpoint, **settings)
