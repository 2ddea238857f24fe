"""Environments in Python: Gymnasium's and PettingZoo's own checkers, and arrays that are what they say."""

import copy
import os
import pickle
import subprocess
import sys
import unittest
import warnings

import gymnasium as gym
import numpy as np
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import api_test, seed_test

import cumind
import cumind.games

ONE_PLAYER = [name for name in cumind.names() if cumind.Batch(name).spec.players == 1]
GAMES = [name for name in cumind.names() if name not in ONE_PLAYER]


class Environments(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore")

    def test_gymnasiums_checker_accepts_every_row(self):
        for name in cumind.names():
            with self.subTest(name):
                check_env(gym.make(f"cumind/{name}").unwrapped, skip_render_check=True)

    def test_pettingzoos_checkers_accept_every_game(self):
        for name in GAMES:
            with self.subTest(name):
                api_test(cumind.games.env(name), num_cycles=100)
                seed_test(lambda name=name: cumind.games.env(name), num_cycles=20)

    def test_a_vector_steps_as_single_environments_do(self):
        vector = gym.make_vec("cumind/CartPole-v1", num_envs=3)
        singles = [gym.make("cumind/CartPole-v1").unwrapped for _ in range(3)]
        seen, _ = vector.reset(seed=5)
        alone = [single.reset(seed=5 + i)[0] for i, single in enumerate(singles)]
        np.testing.assert_array_equal(seen, alone)
        ended = np.zeros(3, bool)
        for t in range(60):
            actions = np.array([t % 2, 1, (t // 2) % 2], np.int32)
            seen, reward, terminated, truncated, _ = vector.step(actions)
            for i in np.flatnonzero(~ended):
                one, gain, end, cut, _ = singles[i].step(actions[i])
                np.testing.assert_array_equal(one, seen[i])
                self.assertEqual((gain, end, cut), (reward[i], terminated[i], truncated[i]))
            ended |= terminated | truncated
        self.assertTrue(ended[1])

    def test_a_seed_gives_gymnasiums_own_episode(self):
        ours, theirs = gym.make("cumind/CartPole-v1"), gym.make("CartPole-v1")
        for seed in range(5):
            np.testing.assert_allclose(ours.reset(seed=seed)[0], theirs.reset(seed=seed)[0], rtol=0, atol=1e-7)
            for action in (0, 1, 1, 0, 1):
                np.testing.assert_allclose(ours.step(action)[0], theirs.step(action)[0], rtol=0, atol=1e-6)

    def test_an_ended_episode_begins_again_in_the_next_step(self):
        vector = gym.make_vec("cumind/catch", num_envs=2)
        self.assertIs(vector.metadata["autoreset_mode"], gym.vector.AutoresetMode.NEXT_STEP)
        vector.reset(seed=1)
        for _ in range(20):
            _, reward, terminated, _, _ = vector.step(np.ones(2, np.int32))
            if terminated.all():
                break
        self.assertTrue(np.all(reward != 0))
        _, reward, terminated, _, _ = vector.step(np.ones(2, np.int32))
        self.assertFalse(terminated.any())
        np.testing.assert_array_equal(reward, 0)

    def test_results_are_copies_unless_asked_otherwise(self):
        kept = gym.make_vec("cumind/CartPole-v1", num_envs=2)
        shown = gym.make_vec("cumind/CartPole-v1", num_envs=2, copy=False)
        for vector, same in ((kept, False), (shown, True)):
            vector.reset(seed=1)
            first = vector.step(np.zeros(2, np.int32))[0]
            before = first.copy()
            second = vector.step(np.ones(2, np.int32))[0]
            self.assertEqual(np.shares_memory(first, second), same)
            self.assertEqual(np.array_equal(first, before), not same)

    def test_what_a_caller_keeps_of_a_step_stays_as_it_was(self):
        """Arrays are written again only where nothing refers to them, not even a view."""
        keeps = (
            lambda told: told,
            lambda told: told[0][1:, :2],
            lambda told: told[1][::-1],
            lambda told: memoryview(told[2]),
            lambda told: told[4]["to_play"],
            lambda told: told[4]["action_mask"].T,
        )
        for keep in keeps:
            vector = gym.make_vec("cumind/connect4", num_envs=3)
            vector.reset(seed=1)
            kept, before = [], []
            for t in range(6):
                told = vector.step(np.full(3, t))
                kept.append(keep(told))
                before.append(pickle.dumps(told))
                del told
            again = gym.make_vec("cumind/connect4", num_envs=3)
            again.reset(seed=1)
            for t in range(6):
                told = again.step(np.full(3, t))
                self.assertEqual(pickle.dumps(told), before[t])
                for mine, other in zip(self._arrays(kept[t]), self._arrays(keep(told))):
                    np.testing.assert_array_equal(mine, other)

    def _arrays(self, kept):
        if isinstance(kept, tuple):
            return [*kept[:4], *kept[4].values()]
        return [kept]

    def test_arrays_of_a_vector_serve_again_when_nothing_refers_to_them(self):
        vector = gym.make_vec("cumind/CartPole-v1", num_envs=4)
        vector.reset(seed=1)
        places = set()
        for _ in range(20):
            told = vector.step(np.zeros(4, np.int64))
            places.add(told[0].ctypes.data)
        self.assertEqual(len(places), 2)

    def test_actions_may_be_of_any_whole_type(self):
        wanted = None
        for actions in (np.array([0, 1]), np.array([0, 1], np.int32), np.array([0, 1], np.uint8), np.array([[0, 9], [1, 9]])[:, 0], [0, 1]):
            vector = gym.make_vec("cumind/CartPole-v1", num_envs=2)
            vector.reset(seed=1)
            told = vector.step(actions)[0]
            wanted = told if wanted is None else wanted
            np.testing.assert_array_equal(told, wanted)

    def test_an_illegal_action_ends_a_single_episode_and_is_refused_by_a_vector(self):
        env = gym.make("cumind/tictactoe").unwrapped
        env.reset(seed=1)
        _, _, _, _, info = env.step(4)
        self.assertEqual(info["action_mask"].tolist(), [1, 1, 1, 1, 0, 1, 1, 1, 1])
        _, reward, terminated, _, info = env.step(4)
        self.assertTrue(terminated and info["illegal_action"] and reward == -1)
        vector = gym.make_vec("cumind/tictactoe", num_envs=2)
        vector.reset()
        vector.step(np.array([4, 0], np.int32))
        with self.assertRaisesRegex(cumind.InputError, "instance 0: action 4 is illegal here"):
            vector.step(np.array([4, 1], np.int32))

    def test_a_game_ends_with_a_winner_and_a_loser(self):
        game = cumind.games.env("connect4")
        game.reset(seed=1)
        for column in (3, 2, 3, 2, 3, 2, 3):
            self.assertEqual(game.observe(game.agent_selection)["action_mask"][column], 1)
            game.step(column)
        self.assertEqual(game.rewards, {"player_0": 1.0, "player_1": -1.0})
        self.assertTrue(all(game.terminations.values()))

    def test_environments_without_a_seed_play_different_episodes(self):
        first = [gym.make("cumind/CartPole-v1").reset()[0].tolist() for _ in range(3)]
        self.assertEqual(len({tuple(seen) for seen in first}), 3)
        rows = gym.make_vec("cumind/CartPole-v1", num_envs=3, vectorization_mode="sync").reset()[0]
        self.assertEqual(len({tuple(seen) for seen in rows}), 3)

    def test_arrays_outlive_their_environments(self):
        shown = cumind.Batch("CartPole-v1", 50000).observation
        self.assertTrue(np.all(np.abs(shown) <= 0.05))
        vector = gym.make_vec("cumind/CartPole-v1", num_envs=50000, copy=False)
        shown = vector.reset(seed=1)[0]
        before = shown.copy()
        vector.close()
        np.testing.assert_array_equal(shown, before)

    def test_handles_are_not_copied(self):
        batch = cumind.Batch("catch")
        for take in (copy.deepcopy, pickle.dumps):
            with self.subTest(take), self.assertRaisesRegex(TypeError, "cannot be copied or pickled"):
                take(batch)
        batch.step([0])

    def test_names_have_sizes_and_ids_need_none(self):
        self.assertIn("go9", cumind.names())
        for name in ("go9", "go", "connect4"):
            self.assertIn(f"cumind/{name}", gym.registry)
        self.assertNotIn("cumind/connect", gym.registry)

    def test_a_forked_process_is_refused_what_its_parent_has_opened(self):
        batch = cumind.Batch("catch")
        child = os.fork()
        if child == 0:
            try:
                batch.step([0])
            except cumind.StateError as error:
                os._exit(7 if "forked" in str(error) else 2)
            os._exit(1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 7)
        batch.step([0])

    def test_what_a_task_is_can_be_read(self):
        text = repr(cumind.Batch("catch").spec)
        self.assertRegex(text, r"Spec\(name=b'catch', observation_rank=3, observation_shape=\(10, 5, 1\), .* players=1")
        self.assertEqual(str(cumind.Batch("go").spec), "go9")

    def test_a_forked_process_leaves_environments_in_python_alone(self):
        program = """
import os, sys, cumind
batch = cumind.Batch("gymnasium:CartPole-v1")
if os.fork() == 0:
    sys.exit(0)  # with what is done at exit
os.wait()
batch.step([0])
if os.fork() == 0:
    try:
        cumind.Batch("gymnasium:CartPole-v1")
    except cumind.StateError:
        os._exit(7)
    os._exit(1)
assert os.waitstatus_to_exitcode(os.wait()[1]) == 7
"""
        path = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
        subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, "PATH": path})


if __name__ == "__main__":
    unittest.main()
