"""cumind's environments for Gymnasium: ids cumind/NAME, single and in vectors. `import cumind` registers them."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from . import _native as lib
from .batch import Batch, Copies, names, stem
from .errors import InputError


def observation_space(batch: Batch) -> gym.spaces.Box:
    return gym.spaces.Box(-np.inf, np.inf, batch.spec.shape, np.float32)


def action_space(batch: Batch) -> gym.Space[Any]:
    spec = batch.spec
    if spec.action_size:
        return gym.spaces.Box(spec.action_low, spec.action_high, (spec.action_size,), np.float32)
    return gym.spaces.Discrete(spec.actions)


def seed_of(seed: int | None) -> int:
    return int(np.random.SeedSequence().entropy) % (1 << 63) if seed is None else seed  # type: ignore[arg-type]


def episode_seed(name: str, seed: Any) -> int | None:
    return None if seed is None else lib.integer(name, seed, 0, 2**64 - 1)


class RenderModeError(InputError, TypeError):
    """Of a mode that is not there. Stable-Baselines3's make_vec_env asks for "rgb_array", and after a TypeError goes on without."""


def check_render_mode(render_mode: Any) -> None:
    if render_mode is not None and not (isinstance(render_mode, str) and render_mode == "ansi"):
        raise RenderModeError(f'render_mode: {lib.brief(render_mode)} is neither None nor "ansi"')


class Environment(gym.Env[NDArray[np.float32], Any]):
    """One environment. info has "action_mask" int8 [A], where actions are numbered, and "to_play", 0 or 1; the reward is that of the player who acted.

    An illegal action ends the episode with the lowest reward of a step (0 where there is none), and info says
    "illegal_action". Without a seed every object plays episodes of its own. render_mode
    "ansi" gives the position as text. settings: configuration keys, as max_steps=100.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 4}

    def __init__(self, name: str, render_mode: str | None = None, seed: int | None = None, **settings: Any) -> None:
        check_render_mode(render_mode)
        self.render_mode = render_mode
        self.batch = Batch(name, seed=seed_of(seed), **settings)
        self.observation_space = observation_space(self.batch)  # type: ignore[assignment]
        self.action_space = action_space(self.batch)

    def _info(self) -> dict[str, Any]:
        info: dict[str, Any] = {"to_play": int(self.batch.to_play[0])}
        if self.batch.legal is not None and not self.batch.spec.action_size:
            info["action_mask"] = self.batch.legal[0].astype(np.int8)
        return info

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        seed = episode_seed("seed", seed)
        super().reset(seed=seed)
        self.batch.reset(seeds=None if seed is None else [seed])
        return self.batch.observation[0].copy(), self._info()

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        batch = self.batch
        if batch.legal is not None and not batch.spec.action_size:
            action = lib.integer("action", action.item() if getattr(action, "ndim", 1) == 0 else action, 0, batch.spec.actions - 1)
            if not batch.legal[0, action] and batch.legal[0].any():
                low = batch.spec.reward_low if np.isfinite(batch.spec.reward_low) else 0.0
                return batch.observation[0].copy(), float(low), True, False, {**self._info(), "illegal_action": True}
        batch.step(lib.as_array("action", action, np.float32, (batch.spec.action_size,))[None] if batch.spec.action_size else [action])
        reward, terminated, truncated = float(batch.reward[0]), bool(batch.terminated[0]), bool(batch.truncated[0])
        return batch.observation[0].copy(), reward, terminated, truncated, self._info()

    def render(self) -> str | None:
        return self.batch.picture() if self.render_mode == "ansi" else None

    def close(self) -> None:
        self.batch.close()


class Vector(VectorEnv[NDArray[np.float32], Any, NDArray[Any]]):
    """num_envs environments that step in one call. An episode that has ended begins again in the next step (AutoresetMode
    .NEXT_STEP). infos has "action_mask" int8 [n, A] and "to_play" [n]. An illegal action is an InputError, and nothing moves.

    copy=False: observations, rewards and masks are the library's own arrays, which the next step writes.
    """

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(self, name: str, num_envs: int = 1, copy: bool = True, seed: int | None = None, **settings: Any) -> None:
        check_render_mode(settings.pop("render_mode", None))
        self.num_envs = lib.integer("num_envs", num_envs, 1, 2**31 - 1)
        self.copy = lib.flag("copy", copy)
        self.batch = Batch(name, self.num_envs, seed_of(seed), **settings)
        self._copies = [Copies(self.batch), Copies(self.batch)] if self.copy else []
        legal = self.batch.legal
        self._mask = None if legal is None or self.batch.spec.action_size else legal.view(np.int8)
        self._every = np.ones(num_envs, np.bool_)  # info is of every environment
        self.single_observation_space = observation_space(self.batch)
        self.single_action_space = action_space(self.batch)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def _infos(self) -> dict[str, Any]:
        batch = self.batch
        infos: dict[str, Any] = {"to_play": batch.to_play.copy() if self.copy else batch.to_play, "_to_play": self._every}
        if self._mask is not None:
            infos["action_mask"], infos["_action_mask"] = self._mask.copy() if self.copy else self._mask, self._every
        return infos

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        batch = self.batch
        seeds = self._seeds(seed)
        named = np.array([seed is not None for seed in seeds])
        if not named.all():
            batch.reset(which=~named)
        if named.any():
            batch.reset(which=named, seeds=np.array([seed or 0 for seed in seeds], np.uint64))
        return (batch.observation.copy() if self.copy else batch.observation), self._infos()

    def _seeds(self, seed: Any) -> list[int | None]:
        """One for each environment."""
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, (list, tuple, np.ndarray)) and np.ndim(seed) > 0:
            if len(seed) != self.num_envs:
                raise InputError(f"seed: {len(seed)} of them for {self.num_envs} environments")
            return [episode_seed(f"seed[{i}]", each) for i, each in enumerate(seed)]
        first = lib.integer("seed", seed, 0, 2**64 - self.num_envs)
        return list(range(first, first + self.num_envs))

    def step(
        self, actions: NDArray[Any]
    ) -> tuple[NDArray[np.float32], NDArray[Any], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        batch = self.batch
        if not self.copy:
            batch.step(actions)
            return batch.observation, batch.reward, batch.terminated, batch.truncated, self._infos()
        copies = self._free_copies()
        batch.step(actions, copies)
        infos: dict[str, Any] = {"to_play": copies.to_play, "_to_play": self._every}
        if self._mask is not None:
            infos["action_mask"], infos["_action_mask"] = copies.legal, self._every
        return copies.observation, copies.reward, copies.terminated, copies.truncated, infos

    def _free_copies(self) -> Copies:
        """Arrays that no caller refers to: two serve in alternation where each result is dropped before the next step but one."""
        for copies in self._copies:
            if copies.is_free():
                return copies
        self._copies = [self._copies[1], Copies(self.batch)]
        return self._copies[1]

    def close_extras(self, **kwargs: Any) -> None:
        self.batch.close()


def _opens(name: str) -> bool:
    try:
        Batch(name).close()
    except InputError:
        return False
    return True


def register() -> None:
    """Makes cumind/NAME known for every environment of the registry, "go9" also as "go"; once."""
    for name in names():
        for word in (name, stem(name)):
            if f"cumind/{word}" not in gym.registry and (word == name or (word and _opens(word))):
                gym.register(
                    f"cumind/{word}",
                    entry_point="cumind.gym:Environment",
                    vector_entry_point="cumind.gym:Vector",
                    kwargs={"name": word},
                )
