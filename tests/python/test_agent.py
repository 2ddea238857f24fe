"""Agents in Python: what `cumind search` and `cumind eval` say is what they play."""

import json
import os
import subprocess
import tempfile
import threading
import time
import unittest

import gymnasium as gym
import numpy as np

import cumind

PROGRAM = os.path.abspath(os.environ.get("CUMIND", "build/cumind"))
SHORT = {"env_steps": 512, "min_memory_steps": 128, "final_evaluation_episodes": 4, "hidden_dim": 32, "num_simulations": 8}
RUNS = {
    "game": {"env_name": "connect4", "policy": "gumbel_muzero"},
    "rules": {"env_name": "tictactoe", "policy": "alphazero"},
    "pole": {"env_name": "CartPole-v1"},
    "swing": {"env_name": "Pendulum-v1", "max_steps": 40},
}


class Agents(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        os.environ["XDG_STATE_HOME"] = cls.folder.name
        for run, keys in RUNS.items():
            words = [word for key, value in {**SHORT, **keys}.items() for word in ("--set", f"{key}={value}")]
            cls.program("train", "--quiet", "--config", "default", "--run", run, *words)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def program(cls, *words, **more):
        done = subprocess.run([PROGRAM, *words], cwd=cls.folder.name, capture_output=True, text=True, **more)
        if done.returncode:
            raise AssertionError(done.stderr)
        return done.stdout

    def load(self, run, **settings):
        return cumind.load(os.path.join(self.folder.name, run), **settings)

    def test_actions_are_those_of_cumind_search(self):
        env, games, seen, masks = gym.make("cumind/connect4").unwrapped, [], [], []
        random = np.random.default_rng(1)
        while len(games) < 300:
            observation, info = env.reset()
            moves = []
            for _ in range(random.integers(1, 12)):
                move = int(random.choice(np.flatnonzero(info["action_mask"])))
                observation, _, ended, cut, info = env.step(move)
                moves.append(move)
                if ended or cut:
                    break
                games.append(",".join(map(str, moves)))
                seen.append(observation)
                masks.append(info["action_mask"])
        said = self.program("search", "--run", "game", "--positions", "-", "--json", input="\n".join(games) + "\n")
        answers = [json.loads(line) for line in said.splitlines()]
        with self.load("game", checkpoint="latest") as agent:
            analysis = agent.analyse(np.array(seen), np.array(masks))
            self.assertEqual(agent.act(np.array(seen), np.array(masks)).tolist(), [answer["action"] for answer in answers])
            self.assertEqual(agent.act(seen[7], masks[7]), answers[7]["action"])
            np.testing.assert_array_equal(analysis.visits, [answer["visits"] for answer in answers])
            np.testing.assert_allclose(analysis.value, [answer["value"] for answer in answers], rtol=1e-6)

    def test_returns_are_those_of_cumind_eval(self):
        said = json.loads(
            self.program("eval", "--run", "pole", "--episodes", "10", "--seed", "100", "--json", "--checkpoint", "latest")
        )
        agent, env, returns = self.load("pole", checkpoint="latest"), gym.make("cumind/CartPole-v1"), []
        for seed in range(100, 110):
            observation, total, over = env.reset(seed=seed)[0], 0.0, False
            while not over:
                action, _ = agent.predict(observation)
                observation, reward, ended, cut, _ = env.step(action)
                total, over = total + reward, ended or cut
            returns.append(total)
        self.assertAlmostEqual(float(np.mean(returns)), said["mean"], places=6)

    def test_actions_of_continuous_tasks_are_numbers(self):
        agent, env = self.load("swing"), gym.make("cumind/Pendulum-v1")
        observation, _ = env.reset(seed=1)
        action = agent.act(observation)
        self.assertEqual((action.shape, action.dtype), ((1,), np.float32))
        self.assertTrue(env.action_space.contains(action))
        self.assertEqual(agent.act(np.array([observation] * 3)).shape, (3, 1))

    def test_the_network_answers_by_its_functions(self):
        agent, observation = self.load("pole"), np.zeros((5, 4), np.float32)
        hidden, logits, value = agent.initial_inference(observation)
        self.assertEqual((hidden.shape, logits.shape, value.shape), ((5, 32), (5, 2), (5,)))
        following, reward, logits, value = agent.recurrent_inference(hidden, np.array([0, 1, 0, 1, 0]))
        self.assertEqual((following.shape, reward.shape), ((5, 32), (5,)))
        one = agent.recurrent_inference(hidden[1], 1)
        np.testing.assert_array_equal(one[0], following[1])
        np.testing.assert_array_equal(agent.analyse(observation).raw_value, agent.initial_inference(observation)[2])

    def test_agents_on_the_true_rules_are_asked_of_environments(self):
        agent = self.load("rules")
        batch = agent.environments(3, seed=2)
        analysis = agent.analyse_env(batch)
        self.assertEqual(analysis.visits.shape, (3, 9))
        batch.step(analysis.action)
        self.assertEqual(agent.analyse_env(batch, 1, 1).action.shape, (1,))
        self.assertTrue(np.all(agent.analyse_env(batch).visits[range(3), analysis.action] == 0))

    def test_a_close_waits_for_the_call_of_another_thread(self):
        agent, observation = self.load("game"), np.zeros((64, 6, 7, 4), np.float32)
        caught = []

        def ask():
            try:
                while True:
                    agent.act(observation)
            except cumind.StateError as error:
                caught.append(str(error))

        thread = threading.Thread(target=ask)
        thread.start()
        time.sleep(0.2)
        agent.close()
        thread.join()
        self.assertEqual(caught, ["this agent is closed"])

    def test_settings_change_what_the_run_says(self):
        self.assertEqual(self.load("pole", evaluation_simulations=30).facts.simulations, 30)

    def test_loads_and_closes_leave_memory_where_it_was(self):
        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * 4096

        for turn in range(60):
            agent = self.load("pole", threads=1)
            agent.act(np.zeros(4, np.float32))
            agent.close()
            cumind.Batch("CartPole-v1", 64).close()
            if turn == 20:
                before = resident()
        self.assertLess(resident() - before, 16 << 20)  # an agent is some megabytes

    def test_wrong_arguments_are_named(self):
        agent, rules = self.load("pole"), self.load("rules")
        good = np.zeros(4, np.float32)
        for call, error, text in (
            (lambda: cumind.load("/nowhere"), cumind.FileError, "/nowhere"),
            (lambda: self.load("pole", checkpoint="newest"), cumind.InputError, 'checkpoint: "newest"'),
            (lambda: self.load("pole", num_simulationz=3), cumind.InputError, "num_simulations"),
            (lambda: agent.act(np.zeros(5)), cumind.InputError, r"observation: shape \(5,\)"),
            (lambda: agent.act(np.zeros((0, 4))), cumind.InputError, "observation: shape"),
            (lambda: agent.act(None), cumind.InputError, "observation: "),
            (lambda: agent.act([[0, 0, 0, 0], [1]]), cumind.InputError, "observation: "),
            (lambda: agent.recurrent_inference(3, 1), cumind.InputError, "hidden: shape"),
            (lambda: self.load("pole", checkpoint=2**64 - 3), cumind.InputError, "checkpoint: 18446744073709551613"),
            (lambda: self.load("pole", checkpoint=None), cumind.InputError, "checkpoint: None is no whole number"),
            (lambda: agent.act(good * np.nan), cumind.InputError, "number 0 of row 0 is not finite"),
            (lambda: agent.act(good, [1, 0]), cumind.InputError, "every action of CartPole-v1 is always legal, but row 0 rules out action 1"),
            (lambda: agent.predict(good, deterministic=False), cumind.InputError, "deterministic"),
            (lambda: agent.recurrent_inference(np.zeros(31), 0), cumind.InputError, "hidden: shape"),
            (lambda: agent.recurrent_inference(np.zeros(32), 2), cumind.InputError, "action: 2 in row 0"),
            (lambda: rules.act(np.zeros(rules.spec.shape)), cumind.InputError, "needs states, not observations"),
        ):
            with self.subTest(text), self.assertRaisesRegex(error, text):
                call()
        agent.close()
        with self.assertRaisesRegex(cumind.StateError, "this agent is closed"):
            agent.act(good)


if __name__ == "__main__":
    unittest.main()
