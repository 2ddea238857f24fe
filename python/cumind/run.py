"""Runs: their configuration, metrics and checkpoints, their agents and evaluations, and going on with them."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _native as lib
from .agent import Agent
from .errors import FileError, InputError

_WHOLE = ("iteration", "env_steps", "updates", "episodes")


@dataclass(frozen=True)
class Evaluation:
    """returns float64 [n]; of games of two against a player that moves at random. mean, std, and low and high of the 95 %
    interval of the mean."""

    returns: NDArray[np.float64]

    @property
    def mean(self) -> float:
        return float(self.returns.mean())

    @property
    def std(self) -> float:
        return float(self.returns.std(ddof=1)) if len(self.returns) > 1 else 0.0

    def __repr__(self) -> str:
        return f"<cumind.Evaluation of {len(self.returns)} episodes: mean {self.mean:.2f}, std {self.std:.2f}>"


class Run:
    """The folder of a run. What is asked for is read then, so it may be asked of a run that is training.

    Raises FileError where there is no such folder, InputError where it is not that of a run.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fsdecode(lib.encode("path", path))
        if not os.path.exists(self.path):
            raise FileError(f"{self.path}: there is no such folder")
        if not os.path.exists(os.path.join(self.path, "config.json")):
            raise InputError(f"{self.path}: this is not the folder of a run: it has no config.json")

    def __repr__(self) -> str:
        return f"cumind.Run({self.path!r})"

    def __fspath__(self) -> str:
        return self.path

    def _json(self, name: str) -> dict[str, Any]:
        try:
            with open(os.path.join(self.path, name), encoding="utf-8") as file:
                content = json.load(file)
        except OSError as error:
            raise FileError(f"{self.path}/{name}: {error.strerror}") from None
        except ValueError as error:
            raise InputError(f"{self.path}/{name}: {error}") from None
        return content if isinstance(content, dict) else {}

    @property
    def configuration(self) -> dict[str, dict[str, Any]]:
        """The sections of its configuration, each a dictionary of its keys."""
        return self._json("config.json")

    @property
    def settings(self) -> dict[str, Any]:
        """The same without sections: settings["num_simulations"]."""
        return {key: value for section in self.configuration.values() for key, value in section.items()}

    @property
    def result(self) -> dict[str, Any] | None:
        """What a run that has finished ended with (result.json): end, mean, ci95 ...; None: it has not."""
        return self._json("result.json") if os.path.exists(os.path.join(self.path, "result.json")) else None

    @property
    def metrics(self) -> dict[str, NDArray[Any]]:
        """A row for each iteration that was written: metrics["mean_return"] is a float64 array [rows], NaN where a row has no such
        number; iteration, env_steps, updates and episodes are int64."""
        return _columns(self._rows())

    @property
    def evaluations(self) -> dict[str, NDArray[Any]]:
        """The same of the rows after which the run was evaluated: eval_return, eval_std, eval_length, eval_episodes over env_steps."""
        return _columns([row for row in self._rows() if "eval_return" in row])

    def _rows(self) -> list[dict[str, float]]:
        path = os.path.join(self.path, "metrics.jsonl")
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as file:
            lines = file.read().split("\n")[:-1]  # one that is being written has no end yet
        try:
            return [json.loads(line) for line in lines]
        except ValueError as error:
            raise InputError(f"{path}: a damaged line of metrics: {error}") from None

    @property
    def checkpoints(self) -> list[int]:
        """The numbers of updates of its checkpoints, which `agent` takes."""
        folder = os.path.join(self.path, "checkpoints")
        found = os.listdir(folder) if os.path.isdir(folder) else []
        return sorted(int(name) for name in found if name.isdecimal())

    def agent(self, checkpoint: str | int = "preferred", **settings: Any) -> Agent:
        """Its agent, as cumind.load takes it."""
        return Agent(self.path, checkpoint, **settings)

    def evaluate(self, episodes: int = 100, seed: int = 0, checkpoint: str | int = "preferred", **settings: Any) -> Evaluation:
        """Plays episodes without noise, number i from seed + i: the returns of `cumind eval`."""
        with self.agent(checkpoint, **settings) as agent:
            return Evaluation(agent.evaluate(episodes, seed))

    def resume(self, **arguments: Any) -> Run:
        """Goes on with it: cumind.train(resume=...)."""
        from .train import train

        return train(resume=self.path, **arguments)


def _columns(rows: list[dict[str, float]]) -> dict[str, NDArray[Any]]:
    names = dict.fromkeys(name for row in rows for name in row)
    return {
        name: np.array([row.get(name, 0 if name in _WHOLE else np.nan) for row in rows], np.int64 if name in _WHOLE else np.float64)
        for name in names
    }
