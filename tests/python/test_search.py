"""cumind.search against the reference cases of mctx (tests/cases/search), and what it says of wrong models."""

import glob
import json
import os
import unittest
import unittest.mock

import numpy as np

import cumind
from cumind import _native
from cumind.search import (
    ChanceRecurrentFnOutput,
    DecisionRecurrentFnOutput,
    RecurrentFnOutput,
    RootFnOutput,
    gumbel_muzero_policy,
    muzero_policy,
    stochastic_muzero_policy,
)

CASES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cases/search")


def libraries():
    """What makes arrays, by the name of its library; those that are installed."""
    yield "numpy", np.asarray
    try:
        import torch

        yield "torch", lambda array: torch.from_numpy(np.array(array))
    except ImportError:
        pass
    try:
        import jax.numpy as jnp

        yield "jax", jnp.asarray
    except ImportError:
        pass


def host(array):
    return np.asarray(array)


def options_of(case):
    options = dict(case["options"])
    transform = dict(options.pop("qtransform"))
    name = transform.pop("name")
    for key in ("dirichlet_alpha", "max_num_considered_actions"):
        options.setdefault(key, None)
    return {
        **{key: value for key, value in options.items() if value is not None},
        "qtransform": getattr(cumind.search, name)(**transform),
        "num_simulations": case["num_simulations"],
        "max_depth": case["max_depth"],
        "invalid_actions": case["root"]["invalid_actions"],
        "noise": case["root"].get("gumbel", case["root"].get("dirichlet_noise")),
    }


def search(case, make):
    """The case's search, whose states are numbers of rows of its tables."""
    table = {key: np.array(value) for key, value in case["model"].items()}
    number = lambda array: make(np.asarray(array, np.float32))
    logits, value = table["prior_logits"].astype(np.float32), table["value"].astype(np.float32)
    start = np.array(case["root"]["state"])
    root = RootFnOutput(number(logits[start]), number(value[start]), make(start.astype(np.int32)))
    following, reward, discount = table["next_state"], table["reward"], table["discount"]
    if case["policy"] != "stochastic_muzero":

        def step(params, rng_key, action, state):
            at = host(state), host(action)
            after = following[at]
            out = RecurrentFnOutput(*map(number, (reward[at], discount[at], logits[after], value[after])))
            return out, make(after.astype(np.int32))

        policy = muzero_policy if case["policy"] == "muzero" else gumbel_muzero_policy
        return policy(root, step, **options_of(case))
    actions = case["num_actions"]

    def decide(params, rng_key, action, state):
        at = host(state), host(action)
        out = DecisionRecurrentFnOutput(number(table["chance_logits"][at]), number(table["afterstate_value"][at]))
        return out, make((at[0] * actions + at[1]).astype(np.int32))

    def happen(params, rng_key, outcome, after):
        at = host(after) // actions, host(after) % actions, host(outcome)
        state = following[at]
        out = ChanceRecurrentFnOutput(*map(number, (logits[state], value[state], reward[at], discount[at])))
        return out, make(state.astype(np.int32))

    return stochastic_muzero_policy(
        root, decide, happen, num_chance_outcomes=case["num_chance_outcomes"], **options_of(case)
    )


class References(unittest.TestCase):
    def test_every_case_of_mctx_in_every_library(self):
        paths = sorted(glob.glob(f"{CASES}/*.json"))
        self.assertGreater(len(paths), 30)
        for path in paths:
            with open(path) as file:
                case = json.load(file)
            for name, make in libraries():
                with self.subTest(case=os.path.basename(path), library=name):
                    self.compare(case, search(case, make))

    def compare(self, case, out):
        wanted, tree, unit = dict(case["expected"]), out.search_tree, case["unit"]
        actions = np.array(wanted["action_from_parent"])  # mctx counts outcomes of chance from A on
        wanted["action_from_parent"] = np.where(actions >= case["num_actions"], actions - case["num_actions"], actions)
        columns = np.array(wanted["children_index"]).shape[2]
        for key, got in (
            ("node_visits", tree.node_visits),
            ("parents", tree.parents),
            ("action_from_parent", tree.action_from_parent),
        ):
            np.testing.assert_array_equal(got, wanted[key], key)
        if case["policy"] != "stochastic_muzero":
            np.testing.assert_array_equal(tree.children_index[:, :, :columns], wanted["children_index"])
        for key, got, scale in (
            ("node_values", tree.node_values, unit),
            ("root_value", tree.summary().value, unit),
            ("root_qvalues", tree.summary().qvalues, unit),
            ("action_weights", host(out.action_weights), 1.0),
        ):
            want = np.array(wanted[key])
            self.assertLessEqual(np.max(np.abs(got - want) / np.maximum(np.abs(want), scale)), 1e-5, key)
        if wanted["action"] is not None:
            self.assertEqual(host(out.action).tolist(), wanted["action"])


class Models(unittest.TestCase):
    root = RootFnOutput(np.zeros((2, 3), np.float32), np.zeros(2, np.float32), np.arange(2.0)[:, None])

    @staticmethod
    def model(params, rng_key, action, embedding):
        reward = (action == 2).astype(np.float32)
        return RecurrentFnOutput(reward, np.full(2, 0.5, np.float32), np.zeros((2, 3), np.float32), reward), embedding + 1

    def test_the_best_action_is_found_and_the_tree_holds_its_visits(self):
        for policy in (muzero_policy, gumbel_muzero_policy):
            out = policy(self.root, self.model, 32)
            self.assertEqual(out.action.tolist(), [2, 2])
            np.testing.assert_allclose(out.action_weights.sum(1), 1, atol=1e-5)
            summary = out.search_tree.summary()
            self.assertEqual(summary.visit_counts.sum(1).tolist(), [32, 32])
            children = out.search_tree.children_index[:, 0, :3]
            for b in range(2):
                for a in range(3):
                    child = children[b, a]
                    visits = out.search_tree.node_visits[b, child] if child >= 0 else 0
                    self.assertEqual(visits, summary.visit_counts[b, a])

    def test_a_key_gives_the_same_search_again_and_another_one_another(self):
        weights = [muzero_policy(self.root, self.model, 16, rng_key=key).action_weights for key in (1, 1, 2)]
        np.testing.assert_array_equal(weights[0], weights[1])
        self.assertFalse(np.array_equal(weights[0], weights[2]))

    def test_every_call_of_the_model_has_a_key_of_its_own(self):
        for key in (5, None):
            seen = []

            def model(params, rng_key, action, embedding):
                seen.append(rng_key)
                return self.model(params, rng_key, action, embedding)

            muzero_policy(self.root, model, 6, rng_key=key)
            self.assertEqual(len(set(seen)), 1 if key is None else 6)

    def test_arrays_of_other_libraries_and_types_are_taken_where_nothing_is_lost(self):
        out = muzero_policy(self.root._replace(value=[0, 0], prior_logits=np.zeros((2, 3), np.float64)), self.model, 4)
        self.assertEqual(out.action_weights.dtype, np.float32)

        def model(params, rng_key, action, embedding):
            out, following = self.model(params, rng_key, action, embedding)
            return out, following + 0.5

        with self.assertRaisesRegex(cumind.InputError, "embedding: numbers of type float64, but the root's are int64"):
            muzero_policy(self.root._replace(embedding=np.zeros((2, 1), np.int64)), model, 4)
        with self.assertRaisesRegex(cumind.InputError, "root.embedding: it has no array"):
            muzero_policy(self.root._replace(embedding=()), model, 4)

    def test_invalid_actions_are_not_played(self):
        out = gumbel_muzero_policy(self.root, self.model, 16, invalid_actions=[[0, 0, 1], [0, 1, 0]], rng_key=3)
        self.assertNotEqual(out.action[0], 2)
        self.assertEqual(out.search_tree.summary().visit_counts[0, 2], 0)
        self.assertEqual(out.search_tree.summary().visit_counts[1, 1], 0)

    def test_embeddings_may_be_nests(self):
        nest = {"board": np.zeros((2, 3, 3)), "more": (np.arange(2), [np.ones((2, 1), np.float32)])}

        def model(params, rng_key, action, embedding):
            assert set(embedding) == {"board", "more"} and embedding["board"].shape == (2, 3, 3)
            out, _ = self.model(params, rng_key, action, np.zeros(2))
            board, (count, [ones]) = embedding["board"], embedding["more"]
            np.testing.assert_array_equal(board[:, 0, 0], count - np.arange(2))
            return out, {"board": board + 1, "more": (count + 1, [ones])}

        out = muzero_policy(self.root._replace(embedding=nest), model, 12)
        self.assertEqual(out.action.tolist(), [2, 2])

    def test_libraries_get_arrays_of_their_own_and_agree(self):
        wanted = gumbel_muzero_policy(self.root, self.model, 20, rng_key=4)
        for name, make in libraries():
            with self.subTest(name):
                like = make(np.zeros(1, np.float32))

                def model(params, rng_key, action, embedding):
                    self.assertIs(type(action), type(like))
                    self.assertIs(type(embedding), type(like))
                    out, following = self.model(params, rng_key, host(action), host(embedding))
                    return RecurrentFnOutput(*map(make, out)), make(following)

                out = gumbel_muzero_policy(RootFnOutput(*map(make, self.root)), model, 20, rng_key=4)
                self.assertIs(type(out.action), type(like))
                np.testing.assert_array_equal(host(out.action_weights), wanted.action_weights)

    def test_the_library_gets_no_array_that_is_not_aligned(self):
        packed = np.arange(6, dtype=np.float32)
        unaligned = np.frombuffer(b"x" + packed.tobytes(), np.uint8)[1:].view(np.float32)
        self.assertFalse(unaligned.flags.aligned)
        handed = _native.as_array("x", unaligned, np.float32, packed.shape)
        self.assertTrue(handed.flags.aligned)
        np.testing.assert_array_equal(handed, packed)

    def test_many_logits_are_read_where_the_model_has_them(self):
        rows, actions = 300, 40
        drawn = np.random.default_rng(3).normal(size=(rows, 2 * actions)).astype(np.float32)
        packed = drawn[:, :actions].copy()
        lowest = packed.copy()
        lowest[:, 7] = np.finfo(np.float32).min  # to the library the logit of what is not there, to mctx one that is low
        unaligned = np.frombuffer(b"x" + packed.tobytes(), np.uint8)[1:].view(np.float32).reshape(packed.shape)
        odd = [
            np.asfortranarray(packed), packed[::-1], unaligned, packed.astype(np.float64), np.broadcast_to(packed[0], packed.shape),
            packed[:20], lowest,
        ]  # fmt: skip
        cases = [(np.asarray, logits) for logits in odd]
        for _, make in libraries():
            cases += [(make, make(packed)), (make, make(drawn)[:, :actions]), (make, make(drawn)[:, 8:actions])]
        for number, (make, logits) in enumerate(cases):
            with self.subTest(number):
                before = host(logits).copy()
                there = self.search_over(logits, make)
                with unittest.mock.patch.object(cumind.search, "_LARGE", 2**40):
                    copied = self.search_over(logits, make)
                np.testing.assert_array_equal(there, copied)
                np.testing.assert_array_equal(host(logits), before)

    @staticmethod
    def search_over(logits, make):
        count = len(logits)

        def model(params, rng_key, action, embedding):
            value = np.sin(host(embedding) + host(action)).astype(np.float32)
            out = RecurrentFnOutput(make(value), make(np.full(count, 0.9, np.float32)), logits, make(value))
            return out, make(host(embedding) * 3 + host(action) + 1)

        root = RootFnOutput(logits, make(np.zeros(count, np.float32)), make(np.arange(count, dtype=np.float32)))
        return host(gumbel_muzero_policy(root, model, 12, rng_key=1).action_weights)

    def test_afterstates_and_outcomes_take_turns(self):
        calls = []

        def decide(params, rng_key, action, embedding):
            calls.append("decide")
            return DecisionRecurrentFnOutput(np.zeros((2, 2), np.float32), np.zeros(2, np.float32)), embedding + action[:, None]

        def happen(params, rng_key, outcome, embedding):
            calls.append("happen")
            self.assertTrue(np.all((outcome >= 0) & (outcome < 2)))
            value = (embedding[:, 0] >= 2).astype(np.float32)
            return ChanceRecurrentFnOutput(np.zeros((2, 3), np.float32), value, value, np.full(2, 0.9, np.float32)), embedding * 0

        root = self.root._replace(embedding=np.zeros((2, 1)))
        out = stochastic_muzero_policy(root, decide, happen, 40, 2)
        self.assertEqual(out.action.tolist(), [2, 2])
        self.assertEqual(set(calls), {"decide", "happen"})

    def test_what_a_model_raises_comes_out(self):
        def away(params, rng_key, action, embedding):
            raise LookupError("the robot is away")

        def short(params, rng_key, action, embedding):
            out, following = self.model(params, rng_key, action, embedding)
            return out._replace(value=out.value[:1]), following

        def nan(params, rng_key, action, embedding):
            out, following = self.model(params, rng_key, action, embedding)
            return out._replace(value=out.value * np.nan), following

        with self.assertRaisesRegex(LookupError, "the robot is away"):
            muzero_policy(self.root, away, 4)
        with self.assertRaisesRegex(cumind.InputError, r"value: shape \(1,\), but \(2,\) is wanted"):
            muzero_policy(self.root, short, 4)
        with self.assertRaisesRegex(cumind.NotFiniteError, "root 0"):
            muzero_policy(self.root, nan, 4)


if __name__ == "__main__":
    unittest.main()
