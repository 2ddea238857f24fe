"""Bad input of every argument of every public function: an exception that names the argument and says what is wanted."""

import inspect
import os
import tempfile
import threading
import time
import unittest

import numpy as np

import cumind
import cumind.games
import cumind.gym
import runs
from cumind import search
from cumind.batch import Copies

NAN = float("nan")
SEEN = np.zeros(4, np.float32)  # by CartPole
FULL = np.zeros((6, 7, 4), np.float32)  # of Connect Four
ROOT = search.RootFnOutput(np.zeros((2, 3), np.float32), np.zeros(2, np.float32), np.zeros((2, 1), np.float32))


def step(params, rng_key, action, embedding):
    zeros = np.zeros(2, np.float32)
    return search.RecurrentFnOutput(zeros, zeros, np.zeros((2, 3), np.float32), zeros), embedding


def decide(params, rng_key, action, embedding):
    return search.DecisionRecurrentFnOutput(np.zeros((2, 2), np.float32), np.zeros(2, np.float32)), embedding


def happen(params, rng_key, outcome, embedding):
    zeros = np.zeros(2, np.float32)
    return search.ChanceRecurrentFnOutput(np.zeros((2, 3), np.float32), zeros, zeros, zeros), embedding


def giving(**changes):
    """`step` with other members; embedding=: with another embedding."""

    def model(params, rng_key, action, embedding):
        out, following = step(params, rng_key, action, embedding)
        return out._replace(**{key: value for key, value in changes.items() if key != "embedding"}), changes.get("embedding", following)

    return model


class Things:
    """What functions are called on, made when it is asked for first."""

    def __getattr__(self, name):
        made = {
            "agent": lambda: cumind.load(runs.path("pole")),
            "game_agent": lambda: cumind.load(runs.path("game")),
            "swinger": lambda: cumind.load(runs.path("swing")),
            "run": lambda: cumind.Run(runs.path("pole")),
            "batch": lambda: cumind.Batch("connect4", 2),
            "pendulums": lambda: cumind.Batch("Pendulum-v1", 2),
            "single": lambda: cumind.gym.Environment("connect4"),
            "vector": lambda: cumind.gym.Vector("connect4", 2),
            "game": self.begin_game,
        }[name]()
        setattr(self, name, made)
        return made

    @staticmethod
    def begin_game():
        game = cumind.games.Game("connect4")
        game.reset(seed=1)
        return game


IT = Things()
POLICY = {"num_simulations": 4, "invalid_actions": None, "max_depth": None, "params": None, "rng_key": 1, "qtransform": None, "noise": None}
PUCT = {**POLICY, "dirichlet_fraction": 0.25, "dirichlet_alpha": 0.3, "pb_c_init": 1.25, "pb_c_base": 19652.0, "temperature": 1.0}

# Name of a function: how it is got, and arguments that it takes.
GOOD = {
    "von_mises": (
        lambda: cumind.von_mises,
        {"mu": [0.0, 1.0], "kappa": 2, "size": (3, 2), "seed": 1, "stream": 0, "first": 0, "dtype": np.float32, "threads": 1},
    ),
    "load": (lambda: cumind.load, {"run": lambda: runs.path("pole"), "checkpoint": "latest"}),
    "Agent": (lambda: cumind.Agent, {"run": lambda: runs.path("pole"), "checkpoint": "latest"}),
    "Agent.act": (lambda: IT.game_agent.act, {"observation": FULL, "mask": np.ones(7, bool)}),
    "Agent.analyse": (lambda: IT.game_agent.analyse, {"observation": FULL, "mask": np.ones(7, bool)}),
    "Agent.predict": (
        lambda: IT.agent.predict,
        {"observation": SEEN, "state": None, "episode_start": None, "deterministic": True, "mask": [1, 1]},
    ),
    "Agent.environments": (lambda: IT.agent.environments, {"count": 1, "seed": 0}),
    "Agent.analyse_env": (lambda: IT.game_agent.analyse_env, {"batch": lambda: IT.game_agent.environments(3), "first": 0, "n": 2}),
    "Agent.evaluate": (lambda: IT.agent.evaluate, {"episodes": 1, "seed": 0}),
    "Agent.initial_inference": (lambda: IT.agent.initial_inference, {"observation": SEEN}),
    "Agent.recurrent_inference": (lambda: IT.agent.recurrent_inference, {"hidden": np.zeros((2, 32), np.float32), "action": [0, 1]}),
    "Run": (lambda: cumind.Run, {"path": lambda: runs.path("pole")}),
    "Run.agent": (lambda: IT.run.agent, {"checkpoint": "latest"}),
    "Run.evaluate": (lambda: IT.run.evaluate, {"episodes": 1, "seed": 0, "checkpoint": "latest"}),
    "Batch": (lambda: cumind.Batch, {"name": "connect4", "count": 2, "seed": 0}),
    "Batch.reset": (lambda: IT.batch.reset, {"which": [1, 1], "seeds": [0, 1]}),
    "Batch.step": (lambda: cumind.Batch("connect4", 2).step, {"actions": [0, 1]}),
    "Batch.step of numbers": (lambda: IT.pendulums.step, {"actions": [[0.0], [0.5]]}),
    "Batch.picture": (lambda: IT.batch.picture, {"index": 0}),
    "Batch.action_name": (lambda: IT.batch.action_name, {"action": 0}),
    "Batch.copy": (lambda: IT.batch.copy, {"to": 0, "source": 1}),
    "gym.Environment": (lambda: cumind.gym.Environment, {"name": "connect4", "render_mode": None, "seed": 0}),
    "gym.Environment.reset": (lambda: IT.single.reset, {"seed": 0, "options": None}),
    "gym.Environment.step": (lambda: IT.single.step, {"action": 0}),
    "gym.Vector": (lambda: cumind.gym.Vector, {"name": "connect4", "num_envs": 2, "copy": True, "seed": 0}),
    "gym.Vector.reset": (lambda: IT.vector.reset, {"seed": 0, "options": None}),
    "gym.Vector.step": (lambda: cumind.gym.Vector("connect4", 2).step, {"actions": [0, 1]}),
    "games.env": (lambda: cumind.games.env, {"name": "connect4", "render_mode": None}),
    "games.Game": (lambda: cumind.games.Game, {"name": "connect4", "render_mode": None}),
    "games.Game.reset": (lambda: IT.game.reset, {"seed": 0, "options": None}),
    "games.Game.step": (lambda: IT.begin_game().step, {"action": 0}),
    "games.Game.observe": (lambda: IT.game.observe, {"agent": "player_0"}),
    "games.Game.observation_space": (lambda: IT.game.observation_space, {"agent": "player_0"}),
    "games.Game.action_space": (lambda: IT.game.action_space, {"agent": "player_0"}),
    "search.qtransform_by_min_max": (None, {"min_value": -1.0, "max_value": 1.0}),
    "search.qtransform_by_parent_and_siblings": (None, {"epsilon": 1e-8}),
    "search.qtransform_completed_by_mix_value": (
        None,
        {"value_scale": 0.1, "maxvisit_init": 50.0, "rescale_values": True, "use_mixed_value": True, "epsilon": 1e-8},
    ),
    "search.muzero_policy": (lambda: search.muzero_policy, {"root": ROOT, "recurrent_fn": step, **PUCT}),
    "search.gumbel_muzero_policy": (
        lambda: search.gumbel_muzero_policy,
        {"root": ROOT, "recurrent_fn": step, **POLICY, "max_num_considered_actions": 16, "gumbel_scale": 1.0},
    ),
    "search.stochastic_muzero_policy": (
        lambda: search.stochastic_muzero_policy,
        {"root": ROOT, "decision_recurrent_fn": decide, "chance_recurrent_fn": happen, "num_chance_outcomes": 2, **PUCT},
    ),
}

# What is passed on or not looked at, as where it comes from: no value of it is wrong.
ANYTHING = {
    ("Agent.predict", "state"): "Stable-Baselines3 hands it back",
    ("Agent.predict", "episode_start"): "Stable-Baselines3 hands it over",
    ("gym.Environment.reset", "options"): "Gymnasium's own environments do not look at it",
    ("gym.Vector.reset", "options"): "the same",
    ("games.Game.reset", "options"): "the same",
    ("search.muzero_policy", "params"): "the model's",
    ("search.gumbel_muzero_policy", "params"): "the model's",
    ("search.stochastic_muzero_policy", "params"): "the model's",
}

OPENS = [
    ("run", 3, "run: expected str, bytes or os.PathLike object, not int"),
    ("run", "", "run: it is empty"),
    ("run", "a\0b", "run: it holds a NUL"),
    ("run", "/nowhere", "^/nowhere: there is no such folder"),
    ("checkpoint", "newest", 'checkpoint: "newest" is none of latest, best, preferred, and no number'),
    ("checkpoint", 1.5, "checkpoint: 1.5 is no whole number"),
    ("checkpoint", None, "checkpoint: None is no whole number"),
    ("checkpoint", -4, r"checkpoint: -4 is not in 0 \.\."),
    ("checkpoint", 2**70, r"checkpoint: 1180591620717411303424 is not in 0 \.\."),
    ("checkpoint", 12345, "12345"),
    ("num_simulationz", 3, 'unknown key "num_simulationz"; did you mean MCTS.num_simulations'),
    ("evaluation_simulations", "many", "^evaluation_simulations=many: must be"),
    ("evaluation_simulations", -1, "^evaluation_simulations=-1: must be"),
    ("evaluation_simulations", None, "^evaluation_simulations=None: must be"),
    ("backend", "abacus", "^backend=abacus: must be"),
]
SEES = [
    ("observation", None, "observation: object is no type of numbers"),
    ("observation", "board", "observation: <U5 is no type of numbers"),
    ("observation", [[0, 1], [2]], "observation: "),
    ("observation", 3.0, r"observation: shape \(\), but \(6, 7, 4\) or rows of it are wanted"),
    ("observation", np.zeros((6, 7, 5)), r"observation: shape \(6, 7, 5\), but \(6, 7, 4\)"),
    ("observation", np.zeros((0, 6, 7, 4)), r"observation: shape \(0, 6, 7, 4\), but \(6, 7, 4\)"),
    ("observation", np.zeros((1, 1, 6, 7, 4)), r"observation: shape \(1, 1, 6, 7, 4\)"),
    ("observation", FULL + 1j, "observation: complex64 is no type of numbers"),
    ("observation", FULL * NAN, "observation: number 0 of row 0 is not finite"),
    ("observation", np.full((6, 7, 4), 1e300), "observation: number 0 of row 0 is not finite"),
    ("mask", np.zeros(7, bool), "mask: row 0 allows no action"),
    ("mask", np.ones(8, bool), r"mask: shape \(8,\), but \(7,\) is wanted"),
    ("mask", np.ones((1, 7), bool), r"mask: shape \(1, 7\), but \(7,\) is wanted"),
    ("mask", np.ones(7), "mask: numbers of type float64 are no uint8"),
    ("mask", [1, 1, 1, 1, 1, 1, 300], "mask: numbers out of the range of uint8"),
    ("mask", "1111111", "mask: <U7 is no type of numbers"),
]
NAMES = [
    ("name", 3, "name: expected str, bytes or os.PathLike object, not int"),
    ("name", "", "name: it is empty"),
    ("name", "conect4", "connect4"),
    ("name", "catch\0", "name: it holds a NUL"),
    ("name", "./none.so", "none.so"),
    ("learning_rate", 1, "learning_rate=1 is no key of the section Environment"),
    ("max_stepz", 1, 'unknown key "max_stepz"'),
    ("max_steps", "long", "^max_steps=long: must be"),
]
RENDERS = [("render_mode", "human", "render_mode: 'human' is neither None nor \"ansi\""), ("render_mode", 3, "render_mode: 3 is neither")]


def whole(name, low, high):
    """Rows of an argument that is a whole number."""
    return [
        (name, "x", f"{name}: 'x' is no whole number"),
        (name, 1.5, f"{name}: 1.5 is no whole number"),
        (name, [0, 1], rf"{name}: \[0, 1\] is no whole number"),
        (name, low - 1, rf"{name}: {low - 1} is not in {low} \.\. "),
        (name, high + 1, rf"{name}: {high + 1} is not in {low} \.\. {high}"),
    ]


def real(name, *wrong):
    """Rows of an argument that is a number with limits."""
    return [
        (name, "x", f"{name}: 'x' is no number"),
        (name, None, f"{name}: None is no number"),
        (name, NAN, rf"{name}: must be in \["),
        (name, 10**400, f"{name}: 1000.*is no number here: "),
        *((name, value, rf"{name}: must be ") for value in wrong),
    ]


def flags(name):
    return [(name, value, f"{name}: {value!r} is neither True nor False") for value in ("no", None, 2)]


PLAYS = [
    ("actions", [0], r"actions: shape \(1,\), but \(2,\) is wanted"),
    ("actions", 0, r"actions: shape \(\), but \(2,\) is wanted"),
    ("actions", [0.0, 1.0], "actions: numbers of type float64 are no int32"),
    ("actions", [0, 2**40], "actions: numbers out of the range of int32"),
    ("actions", ["a", "b"], "actions: <U1 is no type of numbers"),
    ("actions", None, "actions: object is no type of numbers"),
    ("actions", [0, 7], r"instance 1: action 7 is not in \[0, 7\)"),
    ("actions", [-1, 0], r"instance 0: action -1 is not in \[0, 7\)"),
]
SEEDS = [*whole("seed", 0, 2**64 - 1)]
SEARCHES = [
    ("root", None, r"root: None is no RootFnOutput\(prior_logits, value, embedding\)"),
    ("root", (1, 2, 3), r"root: \(1, 2, 3\) is no RootFnOutput"),
    ("root", ROOT._replace(prior_logits=np.zeros(3)), r"root.prior_logits: shape \(3,\), but \[B, A\] is wanted"),
    ("root", ROOT._replace(prior_logits=np.zeros((0, 3))), r"root.prior_logits: shape \(0, 3\)"),
    ("root", ROOT._replace(prior_logits=np.zeros((2, 0))), r"root.prior_logits: shape \(2, 0\)"),
    ("root", ROOT._replace(prior_logits=np.zeros((1, 70000)), value=[0], embedding=np.zeros(1)), r"num_actions must be in \[1, 65536\]"),
    ("root", ROOT._replace(prior_logits="abc"), "root.prior_logits: <U3 is no type of numbers"),
    ("root", ROOT._replace(prior_logits=ROOT.prior_logits * NAN), "root.prior_logits: number 0 of root 0 is not finite"),
    ("root", ROOT._replace(value=np.zeros(3)), r"root.value: shape \(3,\), but \(2,\) is wanted"),
    ("root", ROOT._replace(value=np.array([0, np.inf])), "root.value: number 0 of root 1 is not finite"),
    ("root", ROOT._replace(embedding=None), r"root.embedding: an array of shape \(\) where 2 rows are wanted"),
    ("root", ROOT._replace(embedding=()), "root.embedding: it has no array"),
    ("root", ROOT._replace(embedding=np.zeros((3, 1))), r"root.embedding: an array of shape \(3, 1\) where 2 rows are wanted"),
    *whole("num_simulations", 0, 65536),
    ("num_simulations", None, "num_simulations: None is no whole number"),
    ("invalid_actions", [[1, 0, 0]], r"invalid_actions: shape \(1, 3\), but \(2, 3\) is wanted"),
    ("invalid_actions", "none", "invalid_actions: <U4 is no type of numbers"),
    *whole("max_depth", 0, 65536),
    ("rng_key", "seven", "rng_key: <U5 is no type of numbers"),
    ("rng_key", -1, "rng_key: -1 is no key: "),
    ("rng_key", 1.5, "rng_key: 1.5 is no key: "),
    ("qtransform", "best", "qtransform: 'best' is none of cumind.search's"),
    ("noise", np.zeros((2, 2)), r"noise: shape \(2, 2\), but \(2, 3\) is wanted"),
    ("noise", np.full((2, 3), NAN), "^noise: number 0 of root 0 is not finite"),
    ("noise", "loud", "noise: <U4 is no type of numbers"),
]
STEPS = [
    ("recurrent_fn", None, "recurrent_fn: None is no function"),
    ("recurrent_fn", lambda *_: None, r"recurrent_fn: it gives None, but \(RecurrentFnOutput\(reward, discount, prior_logits, value\), embedding\)"),
    ("recurrent_fn", lambda *_: (1, 2), r"recurrent_fn: it gives \(1, 2\), but"),
    ("recurrent_fn", giving(value=np.zeros(3)), r"value: shape \(3,\), but \(2,\) is wanted"),
    ("recurrent_fn", giving(reward="much"), "reward: <U4 is no type of numbers"),
    ("recurrent_fn", giving(discount=np.full(2, NAN)), "a number that is not finite for a node of root 0"),
    ("recurrent_fn", giving(prior_logits=np.zeros((2, 4))), r"prior_logits: shape \(2, 4\), but \(2, 3\) is wanted"),
    ("recurrent_fn", giving(embedding=None), "embedding: shape"),
    ("recurrent_fn", giving(embedding=np.zeros((2, 2))), r"embedding: shape \(2, 2\), but \(2, 1\) is wanted"),
    ("recurrent_fn", giving(embedding=(1, 2)), "embedding: "),
    ("recurrent_fn", giving(embedding=np.zeros((2, 1), complex)), "embedding: numbers of type complex128, but the root's are float32"),
]
OF_PUCT = [
    *real("dirichlet_fraction", -0.1, 1.1),
    *real("dirichlet_alpha", 0.0, -1.0),
    *real("pb_c_init", -1.0),
    *real("pb_c_base", 0.0),
    *real("temperature", -1.0),
]

# Of each function: argument, bad value, words of the exception.
BAD = {
    "von_mises": [
        ("mu", "north", "mu: <U5 is no type of numbers"),
        ("mu", [0.0, NAN], r"^mu\[1\] is nan; a finite angle in radians is wanted"),
        ("mu", 1j, "mu: complex128 is no type of numbers"),
        ("mu", np.zeros(3), r"size: \(3,\) of mu and kappa does not fit into \(3, 2\)"),
        ("kappa", None, "kappa: object is no type of numbers"),
        ("kappa", -1.0, r"^kappa\[0\] is -1; a concentration from 0 to 1e30 is wanted"),
        ("kappa", np.full((3, 2), np.inf), r"^kappa\[0\] is inf; a concentration"),
        ("kappa", np.ones(3), r"kappa: shape \(3,\) does not go together with \(2,\) of mu"),
        *whole("seed", 0, 2**64 - 1),
        *whole("stream", 0, 2**64 - 1),
        *whole("first", 0, 2**64 - 1),
        *whole("threads", 0, 1024),
        ("size", "many", "size: 'many' is no whole number"),
        ("size", (3, -1), r"size: -1 is not in 0 \.\. "),
        ("size", 3, r"size: \(2,\) of mu and kappa does not fit into \(3,\)"),
        ("size", (2**48, 2), "size: "),
        ("dtype", np.float16, "dtype: .*float16.* is neither float32 nor float64"),
        ("dtype", "angle", "dtype: 'angle' is neither float32 nor float64"),
        ("dtype", None, "dtype: None is neither float32 nor float64"),
    ],
    "load": OPENS,
    "Agent": OPENS,
    "Agent.act": SEES,
    "Agent.analyse": SEES,
    "Agent.predict": [
        ("observation", np.zeros(5), r"observation: shape \(5,\), but \(4,\) or rows of it are wanted"),
        *flags("deterministic"),
        ("deterministic", False, "deterministic: this agent plays without chance; leave it True"),
        ("mask", [1, 0], "mask: every action of CartPole-v1 is always legal, but row 0 rules out action 1"),
    ],
    "Agent.environments": [*whole("count", 1, 2**31 - 1), *SEEDS],
    "Agent.analyse_env": [
        ("batch", 3, "batch: 3 is no cumind.Batch"),
        ("batch", None, "batch: None is no cumind.Batch"),
        ("batch", lambda: cumind.Batch("tictactoe", 3), "trained on connect4, the environments are tictactoe"),
        *whole("first", 0, 2),
        *whole("n", 1, 3),
    ],
    "Agent.evaluate": [*whole("episodes", 1, 1000000), *whole("seed", 0, 2**53)],
    "Agent.initial_inference": [
        ("observation", np.zeros((2, 5)), r"observation: shape \(2, 5\), but \(4,\) or rows of it are wanted"),
        ("observation", np.zeros((0, 4)), r"observation: shape \(0, 4\)"),
        ("observation", SEEN * NAN, "observation: number 0 of row 0 is not finite"),
    ],
    "Agent.recurrent_inference": [
        ("hidden", 3, r"hidden: shape \(\), but \(32,\) or rows of it are wanted"),
        ("hidden", np.zeros((2, 31)), r"hidden: shape \(2, 31\), but \(32,\)"),
        ("hidden", np.zeros((0, 32)), r"hidden: shape \(0, 32\), but \(32,\)"),
        ("hidden", np.zeros((1, 2, 32)), r"hidden: shape \(1, 2, 32\)"),
        ("hidden", np.full((2, 32), np.inf), "hidden: number 0 of row 0 is not finite"),
        ("hidden", "x", "hidden: <U1 is no type of numbers"),
        ("action", 1, r"action: shape \(\), but \(2,\) is wanted"),
        ("action", [0, 1, 0], r"action: shape \(3,\), but \(2,\) is wanted"),
        ("action", [0.0, 1.0], "action: numbers of type float64 are no int32"),
        ("action", [0, 2], r"action: 2 in row 1 is not in \[0, 2\)"),
    ],
    "Run": [
        ("path", 3, "path: expected str, bytes or os.PathLike object, not int"),
        ("path", "", "path: it is empty"),
        ("path", "a\0b", "path: it holds a NUL"),
        ("path", "/nowhere", "/nowhere: there is no such folder"),
        ("path", "/", "this is not the folder of a run"),
    ],
    "Run.agent": [row for row in OPENS if row[0] != "run"],
    "Run.evaluate": [*whole("episodes", 1, 1000000), *whole("seed", 0, 2**53), *(row for row in OPENS if row[0] != "run")],
    "Batch": [*NAMES, *whole("count", 1, 2**31 - 1), *SEEDS],
    "Batch.reset": [
        ("which", [1], r"which: shape \(1,\), but \(2,\) is wanted"),
        ("which", [0.5, 1], "which: numbers of type float64 are no uint8"),
        ("seeds", [1], r"seeds: shape \(1,\), but \(2,\) is wanted"),
        ("seeds", [1, -1], "seeds: numbers out of the range of uint64"),
        ("seeds", [1, 2**64], "seeds: object is no type of numbers"),
        ("seeds", 7, r"seeds: shape \(\), but \(2,\) is wanted"),
    ],
    "Batch.step": [
        *PLAYS,
        ("copies", [], r"copies: \[\] is no Copies of this batch"),
        ("copies", Copies(cumind.Batch("connect4", 1)), "copies: .* is no Copies of this batch"),
    ],
    "Batch.step of numbers": [
        ("actions", [0.0, 0.0], r"actions: shape \(2,\), but \(2, 1\) is wanted"),
        ("actions", [[NAN], [0.0]], "instance 0: the action is NaN"),
        ("actions", [["a"], ["b"]], "actions: <U1 is no type of numbers"),
    ],
    "Batch.picture": whole("index", 0, 1),
    "Batch.action_name": whole("action", 0, 6),
    "Batch.copy": [*whole("to", 0, 1), *whole("source", 0, 1)],
    "gym.Environment": [*NAMES, *RENDERS, *SEEDS],
    "gym.Environment.reset": SEEDS,
    "gym.Environment.step": whole("action", 0, 6),
    "gym.Vector": [*NAMES, *RENDERS, *whole("num_envs", 1, 2**31 - 1), *flags("copy"), *SEEDS],
    "gym.Vector.reset": [
        ("seed", "x", "seed: 'x' is no whole number"),
        ("seed", 1.5, "seed: 1.5 is no whole number"),
        ("seed", -1, "seed: -1 is not in 0"),
        ("seed", 2**64, "seed: 18446744073709551616 is not in 0"),
        ("seed", [1], "seed: 1 of them for 2 environments"),
        ("seed", [None, "x"], r"seed\[1\]: 'x' is no whole number"),
        ("seed", [0, -1], r"seed\[1\]: -1 is not in 0"),
    ],
    "gym.Vector.step": PLAYS,
    "games.env": [*NAMES, *RENDERS, ("name", "catch", "catch is of one player: use gymnasium.make")],
    "games.Game": [*NAMES, *RENDERS],
    "games.Game.reset": SEEDS,
    "games.Game.step": [*whole("action", 0, 6), ("action", None, "action: None is no whole number")],
    **{
        f"games.Game.{name}": [("agent", "player_2", "agent: 'player_2' is none of player_0, player_1"), ("agent", 0, "agent: 0 is none of")]
        for name in ("observe", "observation_space", "action_space")
    },
    "search.qtransform_by_min_max": [*real("min_value"), *real("max_value"), ("max_value", -1.0, "max_value: must be above min_value -1")],
    "search.qtransform_by_parent_and_siblings": real("epsilon", 0.0),
    "search.qtransform_completed_by_mix_value": [
        *real("value_scale", -1.0),
        *real("maxvisit_init", -1.0),
        *flags("rescale_values"),
        *flags("use_mixed_value"),
        *real("epsilon", 0.0),
    ],
    "search.muzero_policy": [*SEARCHES, *STEPS, *OF_PUCT],
    "search.gumbel_muzero_policy": [*SEARCHES, *STEPS, *whole("max_num_considered_actions", 0, 65536), ("max_num_considered_actions", 0, "max_num_considered_actions: must be"), *real("gumbel_scale", -1.0)],
    "search.stochastic_muzero_policy": [
        *SEARCHES,
        *OF_PUCT,
        *whole("num_chance_outcomes", 1, 65536),
        ("decision_recurrent_fn", 3, "decision_recurrent_fn: 3 is no function"),
        ("decision_recurrent_fn", happen, r"chance_logits: |decision_recurrent_fn: it gives .* but \(DecisionRecurrentFnOutput"),
        ("chance_recurrent_fn", None, "chance_recurrent_fn: None is no function"),
        ("chance_recurrent_fn", decide, r"chance_recurrent_fn: it gives .* but \(ChanceRecurrentFnOutput\(action_logits"),
    ],
}


def public():
    """Every public function, by the name that GOOD has for it, and its arguments."""
    for module, prefix in ((cumind, ""), (search, "search."), (cumind.gym, "gym."), (cumind.games, "games.")):
        for name, thing in vars(module).items():
            is_own = getattr(thing, "__module__", "").startswith("cumind") and not name.startswith("_")
            if name in NOT_CALLED or not is_own or (prefix == "" and name not in cumind.__all__):
                continue
            if inspect.isfunction(thing) and thing.__module__ == (module.__name__ if prefix else thing.__module__):
                yield prefix + name, thing
            elif inspect.isclass(thing) and not issubclass(thing, cumind.Error) and (prefix == "" or thing.__module__ == module.__name__):
                yield prefix + name, thing.__init__
                for method, function in vars(thing).items():
                    if inspect.isfunction(function) and not method.startswith("_"):
                        yield f"{prefix}{name}.{method}", function


# What the library makes, helpers of its classes, and train, which has a test of its own below.
NOT_CALLED = {
    *("Analysis", "Evaluation", "Iteration", "Facts", "Spec", "QTransform", "Tree", "PolicyOutput", "SearchSummary"),
    *("RootFnOutput", "RecurrentFnOutput", "DecisionRecurrentFnOutput", "ChanceRecurrentFnOutput"),
    *("action_space", "observation_space", "seed_of", "episode_seed", "check_render_mode", "register"),
}


def value_of(thing):
    """Arguments may be made when they are asked for; models are functions as they are."""
    return thing() if callable(thing) and getattr(thing, "__name__", "") == "<lambda>" and not inspect.signature(thing).parameters else thing


class Arguments(unittest.TestCase):
    def call(self, name, changes):
        get, good = GOOD[name]
        given = {key: value_of(value) for key, value in {**good, **changes}.items()}
        if get is None:  # a q-transform is looked at by the search
            return search.muzero_policy(ROOT, step, 4, qtransform=getattr(search, name.split(".")[1])(**given))
        return get()(**given)

    def test_every_function_takes_what_is_good(self):
        for name in GOOD:
            with self.subTest(name):
                self.call(name, {})

    def test_every_bad_argument_is_named(self):
        for name, rows in BAD.items():
            for argument, value, words in rows:
                with self.subTest(f"{name}({argument}={cumind._native.brief(value)})"):
                    with self.assertRaisesRegex(cumind.Error, words) as caught:
                        self.call(name, {argument: value})
                    self.assertNotIn("\n", str(caught.exception))
                    self.assertNotIn("--", str(caught.exception))

    def test_every_argument_of_every_public_function_has_a_row(self):
        missing, found = [], 0
        for name, function in public():
            if name in ("train", "Run.resume"):
                continue
            found += 1
            rows = {argument for key, bad in BAD.items() if key.split(" ")[0] == name for argument, _, _ in bad}
            for parameter in inspect.signature(function).parameters.values():
                if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) or parameter.name == "self":
                    continue
                if parameter.name not in rows and (name, parameter.name) not in ANYTHING:
                    missing.append(f"{name}({parameter.name})")
        self.assertEqual(missing, [])
        self.assertGreater(found, 40)


class Training(unittest.TestCase):
    def test_every_bad_argument_of_train_is_named(self):
        rows = {
            "env": [(3, "env: 3 is neither a name nor a class"), ("conect4", "connect4"), ("", "env"), ("a\0b", "NUL")],
            "config": [
                (3, "config: expected str, bytes or os.PathLike object, not int"),
                ("", "config: it is empty"),
                ("conect4", "config conect4: there is no such recipe"),
                ({"MCTS": {"num_simulations": {1, 2}}}, "config: .*set is not JSON serializable"),
                ({"MCTS": {"num_simulationz": 3}}, "config.*num_simulationz"),
                ({"MCTS": 3}, "config.*MCTS"),
            ],
            "run": [(3, "run: expected str"), ("", "run: it is empty"), ("a\0b", "run: it holds a NUL")],
            "resume": [(3, "resume: expected str"), ("", "resume: it is empty"), ("/nowhere", "/nowhere: there is no such folder")],
            "checkpoint": [
                ("newest", 'checkpoint: "newest" is neither "best" nor "latest"'),
                (1.5, "checkpoint: 1.5 is no whole number"),
                (0, "checkpoint: 0 is not in 1 "),
                (3, "checkpoint, overwrite and drop_damaged go together with resume"),
            ],
            "overwrite": [("yes", "overwrite: 'yes' is neither True nor False"), (True, "go together with resume")],
            "drop_damaged": [(None, "drop_damaged: None is neither True nor False"), (True, "go together with resume")],
            "init_from": [(3, "init_from: expected str"), ("/nowhere", "/nowhere: there is no such folder")],
            "replay_from": [(3, "replay_from: expected str"), ("/nowhere", "/nowhere: there is no such folder")],
            "callback": [(3, "callback: 3 is no function")],
            "progress": [("bar", "progress: 'bar' is neither True nor False")],
            "settings": [],
        }
        self.assertEqual(set(rows), set(inspect.signature(cumind.train).parameters))
        with tempfile.TemporaryDirectory() as folder:
            good = {"env": "CartPole-v1", "run": os.path.join(folder, "a")}
            for argument, bad in rows.items():
                for value, words in bad:
                    with self.subTest(f"train({argument}={value!r})"), self.assertRaisesRegex(cumind.Error, words):
                        cumind.train(**{**({"run": good["run"]} if argument == "resume" else good), argument: value} if argument != "resume" else {"resume": value})
            for key, value, words in (
                ("num_simulation", 3, '^num_simulation=3: unknown key "num_simulation"; did you mean'),
                ("num_simulations", 0, "^num_simulations=0: must be"),
                ("learning_rate", NAN, "^learning_rate=nan: must be"),
                ("env_steps", "some", "^env_steps=some: must be"),
            ):
                with self.subTest(key), self.assertRaisesRegex(cumind.InputError, words):
                    cumind.train(**good, **{key: value})
            self.assertEqual(os.listdir(folder), [])

    def test_a_second_training_at_the_same_time_is_refused(self):
        said = []

        def begin_another(now):
            try:
                cumind.train("CartPole-v1", env_steps=512)
            except cumind.StateError as error:
                said.append(str(error))
            return True

        with tempfile.TemporaryDirectory() as folder:
            keys = {"config": "default", "env_steps": 512, "hidden_dim": 32, "num_simulations": 8, "min_memory_steps": 128}
            cumind.train("CartPole-v1", run=os.path.join(folder, "a"), callback=begin_another, **keys)
        self.assertEqual(said, ["a training goes on in this process already; there is one at a time"])


class Handles(unittest.TestCase):
    def test_a_closed_handle_is_named_by_every_call(self):
        agent, batch = cumind.load(runs.path("pole")), cumind.Batch("connect4", 2)
        single, vector, game = cumind.gym.Environment("connect4"), cumind.gym.Vector("connect4", 2), IT.begin_game()
        own = agent.environments(2)
        for handle in (agent, batch, single, vector, game):
            handle.close()
            handle.close()
        for call, words in (
            (lambda: agent.act(SEEN), "this agent is closed"),
            (lambda: agent.predict(SEEN), "this agent is closed"),
            (lambda: agent.analyse(SEEN), "this agent is closed"),
            (lambda: agent.environments(), "this agent is closed"),
            (lambda: agent.analyse_env(own), "this agent is closed"),
            (lambda: agent.evaluate(1), "this agent is closed"),
            (lambda: agent.initial_inference(SEEN), "this agent is closed"),
            (lambda: agent.recurrent_inference(np.zeros(32), 0), "this agent is closed"),
            (lambda: IT.game_agent.analyse_env(batch), "this env is closed"),
            (lambda: batch.reset(), "this env is closed"),
            (lambda: batch.step([0, 0]), "this env is closed"),
            (lambda: batch.picture(), "this env is closed"),
            (lambda: batch.action_name(0), "this env is closed"),
            (lambda: batch.copy(0, 1), "this env is closed"),
            (lambda: single.reset(), "this env is closed"),
            (lambda: single.step(0), "this env is closed"),
            (lambda: vector.reset(), "this env is closed"),
            (lambda: vector.step([0, 0]), "this env is closed"),
            (lambda: game.reset(), "this env is closed"),
            (lambda: game.step(0), "this env is closed"),
        ):
            with self.assertRaisesRegex(cumind.StateError, words):
                call()

    def test_a_handle_that_another_thread_uses_is_named(self):
        poles, agent = cumind.Batch("CartPole-v1", 100000), IT.agent
        zeros, many = np.zeros(100000, np.int32), np.zeros((256, 4), np.float32)
        for call, words in (
            (lambda: poles.step(zeros), "the batch of environments is in use by another thread; a handle is for one at a time"),
            (lambda: agent.act(many), "the agent is in use by another thread; a handle is for one at a time"),
        ):
            with self.subTest(words):
                self.assertIn(words, self.refusals(call))

    def refusals(self, call):
        """What two threads that call until one of them is refused are told."""
        said, end = [], time.monotonic() + 60

        def repeat():
            while not said and time.monotonic() < end:
                try:
                    call()
                except cumind.StateError as error:
                    said.append(str(error))

        threads = [threading.Thread(target=repeat) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return said


if __name__ == "__main__":
    unittest.main()
