"""Agents in Python: what `cumind search` and `cumind eval` say is what they play."""

import json
import os
import threading
import time
import unittest

import gymnasium as gym
import numpy as np

import cumind
import runs


def positions(name, count):
    """Of random games from the start of seed 0: moves as `cumind search` reads them, observations, masks."""
    env, random = gym.make(f"cumind/{name}").unwrapped, np.random.default_rng(1)
    games, seen, masks = [], [], []
    while len(games) < count:
        info = env.reset(seed=0)[1]
        moves = []
        for _ in range(random.integers(1, 12)):
            moves.append(int(random.choice(np.flatnonzero(info["action_mask"]))))
            observation, _, ended, cut, info = env.step(moves[-1])
            if ended or cut:
                break
            games.append(",".join(map(str, moves)))
            seen.append(observation)
            masks.append(info["action_mask"])
    return games[:count], np.array(seen[:count]), np.array(masks[:count])


class Agents(unittest.TestCase):
    def load(self, run, **settings):
        return cumind.load(runs.path(run), **settings)

    def test_actions_are_those_of_cumind_search(self):
        for run in ("game", "board", "pole"):
            with self.subTest(run), self.load(run, checkpoint="latest") as agent:
                games, seen, masks = positions(str(agent.spec), 1000)
                said = runs.program("search", "--run", runs.path(run), "--checkpoint", "latest", "--positions", "-", "--json", input="\n".join(games) + "\n")
                answers = [json.loads(line) for line in said.splitlines()]
                analysis = agent.analyse(seen, masks)
                self.assertEqual(agent.act(seen, masks).tolist(), [answer["action"] for answer in answers])
                self.assertEqual(agent.act(seen[7], masks[7]), answers[7]["action"])
                np.testing.assert_array_equal(analysis.visits, [answer["visits"] for answer in answers])
                np.testing.assert_allclose(analysis.value, [answer["value"] for answer in answers], rtol=1e-6)

    def test_agents_of_the_zoo_have_names(self):
        with cumind.load("zoo:catch") as agent:
            self.assertEqual(str(agent.spec), "catch")
        with self.assertRaisesRegex(cumind.InputError, "did you mean zoo:catch"):
            cumind.load("zoo:cach")

    def test_returns_are_those_of_cumind_eval(self):
        said = json.loads(
            runs.program("eval", "--run", runs.path("pole"), "--episodes", "10", "--seed", "100", "--json", "--checkpoint", "latest")
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

    @unittest.skipIf("ASAN_OPTIONS" in os.environ, "AddressSanitizer keeps for a while what is freed")
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


if __name__ == "__main__":
    unittest.main()
