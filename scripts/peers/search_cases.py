"""Writes random searches by DeepMind's mctx as reference cases: every input, the noise included, and the finished tree.

Sizes, options, masks and tables are drawn; `cumind test-cases DIR` then has to find the same trees (integers exactly,
numbers to 1e-5). A draw is left out if mctx itself finds another tree when the numbers of the model change by 1e-6 of
themselves, or with another key for its noise on ties: nothing can be asked of such a search.
"""
import argparse
import json
import pathlib
import sys

import jax
import jax.numpy as jnp
import mctx
import numpy as np
from mctx._src import policies

POLICIES = ("muzero", "gumbel_muzero", "stochastic_muzero")
IMPOSSIBLE = -1e9
LOWEST = np.finfo(np.float32).min  # of a logit: to mctx a very low one like any other
SHAKES = 3  # runs with changed numbers and keys


class Case:
    """One drawn search: sizes, options and tables."""

    def __init__(self, rng, policy):
        self.policy = policy
        self.actions = int(rng.choice([1, 2, 3, 4, 5, 7, 8, 9, 12, 17, 18, 33, 65, 82]))
        self.chance = int(rng.choice([1, 2, 3, 6, 9, 21])) if policy == "stochastic_muzero" else 0
        most = 120 if self.actions < 20 else 40
        self.simulations = int(rng.choice([1, 2, 5, 16, 25, 32, 50, 64, most]))
        self.batch = int(rng.choice([1, 2, 3, 8, 9, 17]))
        self.states = int(rng.integers(2, 20))
        self.max_depth = int(rng.choice([1, 2, 3, 5, self.simulations + 1])) if rng.random() < 0.25 else None
        self.options = self.draw_options(rng)
        self.model = self.draw_model(rng)
        self.state = rng.integers(0, self.states, self.batch)
        self.invalid = self.draw_mask(rng) if rng.random() < 0.5 else None
        self.noise = self.draw_noise(rng)

    def draw_options(self, rng):
        names = ["qtransform_by_min_max", "qtransform_by_parent_and_siblings", "qtransform_completed_by_mix_value"]
        name = names[2] if self.policy == "gumbel_muzero" and rng.random() < 0.7 else str(rng.choice(names))
        transform = {"name": name}
        if name == "qtransform_by_min_max":
            transform |= {"min_value": float(-rng.integers(1, 8)), "max_value": float(rng.integers(1, 8))}
        elif name == "qtransform_by_parent_and_siblings":
            transform |= {"epsilon": float(rng.choice([1e-8, 1e-4, 0.5]))}
        else:
            transform |= {"value_scale": float(rng.choice([0.05, 0.1, 0.5])),
                          "maxvisit_init": float(rng.choice([1, 10, 50])), "rescale_values": bool(rng.random() < 0.8),
                          "use_mixed_value": bool(rng.random() < 0.8), "epsilon": float(rng.choice([1e-8, 1e-3]))}
        if self.policy == "gumbel_muzero":
            return {"qtransform": transform, "gumbel_scale": float(rng.choice([0, 0.5, 1])),
                    "max_num_considered_actions": int(rng.choice([1, 2, 3, 4, 8, 16, 100]))}
        return {"qtransform": transform, "pb_c_init": float(rng.choice([0.5, 1.25, 3])),
                "pb_c_base": float(rng.choice([20, 500, 19652])), "dirichlet_fraction": float(rng.choice([0, 0.25, 1])),
                "temperature": float(rng.choice([0, 0, 0.05, 0.5, 1, 4]))}

    def draw_model(self, rng):
        s, a, c = self.states, self.actions, self.chance
        edge = (s, a, c) if c else (s, a)
        scale = float(rng.choice([0.01, 1, 30]))
        numbers = lambda size, by=1.0: np.round(rng.normal(size=size) * by, 3).astype(np.float32)
        discounts = [[0.997], [-1], [0.9, 0, -0.9], [1, 0]][rng.integers(4)]
        model = {"next_state": rng.integers(0, s, edge), "reward": numbers(edge, scale) * (rng.random(edge) < 0.7),
                 "discount": rng.choice(discounts, edge).astype(np.float32),
                 "prior_logits": numbers((s, a), float(rng.choice([0.5, 2]))), "value": numbers(s, scale)}
        if rng.random() < 0.3:
            model["prior_logits"][:, 1:][rng.random((s, a - 1)) < 0.3] = rng.choice([-50, IMPOSSIBLE, LOWEST])
        if c:
            chance = numbers((s, a, c), 1.5)
            chance[..., 1:][rng.random((s, a, c - 1)) < 0.2] = IMPOSSIBLE
            model |= {"chance_logits": chance, "afterstate_value": numbers((s, a), scale)}
        return model

    def draw_mask(self, rng):
        mask = rng.random((self.batch, self.actions)) < rng.choice([0.2, 0.8])
        mask[np.arange(self.batch), rng.integers(0, self.actions, self.batch)] = False
        return mask.astype(np.int32)

    def draw_noise(self, rng):
        size = (self.batch, self.actions)
        if self.policy == "gumbel_muzero":
            return np.round(rng.gumbel(size=size), 5).astype(np.float32)
        if self.options["dirichlet_fraction"] == 0:
            return None
        return np.round(rng.dirichlet(np.full(self.actions, 0.3), self.batch), 6).astype(np.float32)

    def unit(self):
        tables = (self.model[name] for name in ("reward", "value", "afterstate_value") if name in self.model)
        return max(float(np.abs(table).max()) for table in tables) or 1.0


def searcher(case):
    """A jitted function (key, tables, noise) -> (output, whole tree), with mctx's own noise replaced by the case's."""
    options = dict(case.options)
    transform = dict(options.pop("qtransform"))
    function = getattr(mctx, transform.pop("name"))
    options["qtransform"] = lambda tree, node: function(tree, node, **transform)
    if case.policy != "gumbel_muzero":
        options["dirichlet_alpha"] = 0.3

    def step(tables, at):
        return dict(reward=tables["reward"][at], discount=tables["discount"][at])

    def recurrent(tables, _, action, state):
        to = tables["next_state"][state, action]
        said = mctx.RecurrentFnOutput(prior_logits=tables["prior_logits"][to], value=tables["value"][to],
                                      **step(tables, (state, action)))
        return said, to

    def decide(tables, _, action, state):
        said = mctx.DecisionRecurrentFnOutput(chance_logits=tables["chance_logits"][state, action],
                                              afterstate_value=tables["afterstate_value"][state, action])
        return said, state * case.actions + action

    def happen(tables, _, outcome, afterstate):
        at = (afterstate // case.actions, afterstate % case.actions, outcome)
        to = tables["next_state"][at]
        said = mctx.ChanceRecurrentFnOutput(action_logits=tables["prior_logits"][to], value=tables["value"][to],
                                            **step(tables, at))
        return said, to

    models = (decide, happen) if case.policy == "stochastic_muzero" else (recurrent,)
    policy = getattr(mctx, case.policy + "_policy")

    @jax.jit
    def run(key, tables, noise):
        trees = []
        search, dirichlet, gumbel = policies.search.search, jax.random.dirichlet, jax.random.gumbel

        def kept(**arguments):
            trees.append(search(**arguments))
            return trees[-1]

        root = mctx.RootFnOutput(prior_logits=tables["prior_logits"][case.state], value=tables["value"][case.state],
                                 embedding=jnp.asarray(case.state))
        policies.search.search = kept
        if case.policy == "gumbel_muzero":
            jax.random.gumbel = lambda *_, **__: noise
        else:
            jax.random.dirichlet = lambda *_, **__: noise
        try:
            out = policy(tables, key, root, *models, num_simulations=case.simulations, max_depth=case.max_depth,
                         invalid_actions=None if case.invalid is None else jnp.asarray(case.invalid), **options)
        finally:
            policies.search.search, jax.random.dirichlet, jax.random.gumbel = search, dirichlet, gumbel
        return out, trees[0]

    return run


def states_of(case, tree):
    """[B, N+1]: the model's state of a slot, or s A + a of an afterstate; -1 where there is none."""
    states = tree.embeddings
    if case.policy == "stochastic_muzero":
        states = jnp.where(states.is_decision_node, states.state_embedding, states.afterstate_embedding)
    return np.where(tree.node_visits > 0, states, -1)


def found(case, out, tree):
    summary = out.search_tree.summary()
    result = {name: np.asarray(getattr(tree, name)) for name in
              ("node_visits", "raw_values", "node_values", "parents", "action_from_parent", "children_index",
               "children_visits", "children_rewards", "children_discounts", "children_values")}
    result |= {"node_states": states_of(case, tree), "root_value": summary.value, "root_qvalues": summary.qvalues,
               "root_prior_logits": tree.children_prior_logits[:, 0, :case.actions],
               "action_weights": out.action_weights}
    if case.policy == "gumbel_muzero":
        return result | {"action": out.action}
    logits = policies._apply_temperature(policies._get_logits_from_probs(out.action_weights),
                                         case.options["temperature"])
    sampled = case.options["temperature"] != 0
    return result | {"action_probs": jax.nn.softmax(logits), "action": None if sampled else out.action}


def integers(result):
    return [np.asarray(x) for x in result.values() if x is not None and np.asarray(x).dtype.kind == "i"]


def is_sharp(case, rng, run, tables, noise, result):
    """Whether small changes of the numbers leave the tree as it is."""
    if case.policy != "gumbel_muzero" and case.options["temperature"] == 0:
        weights = np.sort(result["action_weights"], axis=-1)
        if case.actions > 1 and (weights[:, -1] == weights[:, -2]).any():
            return False
    for shake in range(SHAKES):
        changed = {name: jnp.asarray(x * (1 + 1e-6 * rng.uniform(-1, 1, x.shape))).astype(x.dtype)
                   if x.dtype.kind == "f" and name != "discount" else x for name, x in tables.items()}
        other = found(case, *run(jax.random.PRNGKey(shake + 1), changed, noise))
        if any((a != b).any() for a, b in zip(integers(result), integers(other))):
            return False
    return True


def plain(x):
    """Numbers as JSON has them, in the shortest form that reads back to the same float32."""
    if x is None:
        return None
    x = np.asarray(x)
    if x.dtype.kind != "f":
        return x.tolist()
    shortest = np.vectorize(lambda number: float(str(np.float32(number))), otypes=[object])
    return shortest(x).tolist()


def document(case, name, result):
    root = {"state": plain(case.state), "invalid_actions": plain(case.invalid)}
    root["gumbel" if case.policy == "gumbel_muzero" else "dirichlet_noise"] = plain(case.noise)
    sizes = {"batch": case.batch, "num_actions": case.actions, "num_simulations": case.simulations}
    if case.chance:
        sizes["num_chance_outcomes"] = case.chance
    return {"format": "cumind-search-case-1", "name": name, "policy": case.policy, **sizes,
            "max_depth": case.max_depth, "options": case.options, "unit": case.unit(),
            "action_is_sampled": "action" in result and result["action"] is None,
            "model": {key: plain(x) for key, x in case.model.items()}, "root": root,
            "expected": {key: plain(x) for key, x in result.items()}}


def make(seed, index):
    """(name, document or None where the draw was left out)."""
    rng = np.random.default_rng([seed, index])
    case = Case(rng, POLICIES[index % len(POLICIES)])
    run = searcher(case)
    tables = {name: jnp.asarray(x) for name, x in case.model.items()}
    noise = jnp.zeros((case.batch, case.actions)) if case.noise is None else jnp.asarray(case.noise)
    result = found(case, *run(jax.random.PRNGKey(0), tables, noise))
    name = f"{case.policy}_{seed}_{index}"
    sharp = is_sharp(case, rng, run, tables, noise, result)
    return name, document(case, name, result) if sharp else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=30, help="searches to draw")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    written = 0
    for index in range(args.count):
        name, case = make(args.seed, index)
        if case is None:
            continue
        (args.folder / f"{name}.json").write_text(json.dumps(case, allow_nan=False))
        written += 1
        jax.clear_caches()
    print(f"{args.folder}: {written} searches, {args.count - written} left out because rounding decides them")
    return 0 if written else 1


if __name__ == "__main__":
    sys.exit(main())
