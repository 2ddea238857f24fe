"""cumind in Python: trained agents, environments in batches, and the tree search over models of one's own.

    run = cumind.train("CartPole-v1", seed=1); agent = run.agent()
    agent = cumind.load("runs/cp")
    env = gymnasium.make("cumind/connect4"); vector = gymnasium.make_vec("cumind/CartPole-v1", num_envs=1024)
    out = cumind.search.gumbel_muzero_policy(root, recurrent_fn, num_simulations=50)
    angles = cumind.von_mises(0.0, kappa=4.0, size=1000, seed=1)

Arrays are NumPy's. Every error is a cumind.Error whose text says what is wrong, where, and what to do. See docs/PYTHON.md.
"""

from __future__ import annotations

from . import _native, search
from .agent import Agent, Analysis, load
from .angles import von_mises
from .batch import Batch, names
from ._native import Facts, Spec
from .errors import (
    AbsentError,
    DeviceError,
    Error,
    FileError,
    InputError,
    InterruptedRunError,
    ModelError,
    NotFiniteError,
    OutOfMemoryError,
    StateError,
)
from .run import Evaluation, Run
from .train import Iteration, train

__version__: str = _native.native.cumind_version().decode()

try:
    from .gym import register as _register
except ImportError:  # no Gymnasium, or one before 1.1
    pass
else:
    _register()

__all__ = [
    "AbsentError",
    "Agent",
    "Analysis",
    "Batch",
    "DeviceError",
    "Error",
    "Evaluation",
    "Facts",
    "FileError",
    "InputError",
    "InterruptedRunError",
    "Iteration",
    "ModelError",
    "NotFiniteError",
    "OutOfMemoryError",
    "Run",
    "Spec",
    "StateError",
    "load",
    "names",
    "search",
    "train",
    "von_mises",
]
