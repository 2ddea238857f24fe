"""Games of two for PettingZoo: cumind.games.env("connect4") is an AEC environment of two agents."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from pettingzoo import AECEnv
from pettingzoo.utils import wrappers

from . import _native as lib
from .batch import Batch
from .errors import InputError
from .gym import check_render_mode, episode_seed, observation_space, seed_of


class Game(AECEnv[str, Any, Any]):
    """The game without checks of the order of calls; `env` has them. An illegal action is an InputError."""

    metadata = {"render_modes": ["ansi"], "is_parallelizable": False}

    def __init__(self, name: str, render_mode: str | None = None, **settings: Any) -> None:
        super().__init__()
        check_render_mode(render_mode)
        self.render_mode = render_mode
        self.batch = Batch(name, seed=seed_of(None), **settings)
        if self.batch.spec.players != 2:
            raise InputError(f"{name} is of one player: use gymnasium.make('cumind/{name}')")
        self.metadata = {**self.metadata, "name": f"cumind_{name}"}
        self.possible_agents = ["player_0", "player_1"]
        seen, actions = observation_space(self.batch), self.batch.spec.actions
        mask = gym.spaces.Box(0, 1, (actions,), np.int8)
        self.observation_spaces = {a: gym.spaces.Dict({"observation": seen, "action_mask": mask}) for a in self.possible_agents}
        self.action_spaces = {a: gym.spaces.Discrete(actions) for a in self.possible_agents}

    def _player(self, agent: Any) -> str:
        if agent not in self.possible_agents:
            raise InputError(f"agent: {lib.brief(agent)} is none of {', '.join(self.possible_agents)}")
        return str(agent)

    def observation_space(self, agent: str) -> gym.Space[Any]:
        return self.observation_spaces[self._player(agent)]

    def action_space(self, agent: str) -> gym.Space[Any]:
        return self.action_spaces[self._player(agent)]

    def observe(self, agent: str) -> dict[str, Any]:
        """As the player to move sees the board; who is not to move has a mask of zeros."""
        assert self.batch.legal is not None
        mask = self.batch.legal[0].astype(np.int8)
        return {
            "observation": self.batch.observation[0].copy(),
            "action_mask": mask if self._player(agent) == self.agent_selection else np.zeros_like(mask),
        }

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        seed = episode_seed("seed", seed)
        self.batch.reset(seeds=None if seed is None else [seed])
        self.agents = list(self.possible_agents)
        self.rewards = {a: 0.0 for a in self.agents}
        self._cumulative_rewards = {a: 0.0 for a in self.agents}
        self.terminations = {a: False for a in self.agents}
        self.truncations = {a: False for a in self.agents}
        self.infos: dict[str, dict[str, Any]] = {a: {} for a in self.agents}
        self.agent_selection = self.agents[int(self.batch.to_play[0])]

    def step(self, action: Any) -> None:
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        batch, other = self.batch, self.possible_agents[1 - self.possible_agents.index(agent)]
        self._cumulative_rewards[agent] = 0.0
        batch.step([lib.integer("action", action, 0, batch.spec.actions - 1)])
        reward = float(batch.reward[0])
        self.rewards = {agent: reward, other: -reward}
        ended, cut = bool(batch.terminated[0]), bool(batch.truncated[0])
        self.terminations = {a: ended for a in self.agents}
        self.truncations = {a: cut and not ended for a in self.agents}
        self.agent_selection = other if ended or cut else self.possible_agents[int(batch.to_play[0])]
        self._accumulate_rewards()

    def render(self) -> str | None:
        return self.batch.picture() if self.render_mode == "ansi" else None

    def close(self) -> None:
        self.batch.close()


def env(name: str, render_mode: str | None = None, **settings: Any) -> AECEnv[str, Any, Any]:
    """A game of two of the registry, or of one's own, with PettingZoo's checks around it. settings: configuration keys."""
    return wrappers.OrderEnforcingWrapper(wrappers.AssertOutOfBoundsWrapper(Game(name, render_mode, **settings)))
