"""Other people's programs with our agents and environments, where these are installed."""

import importlib.util
import json
import unittest

import gymnasium as gym
import numpy as np

import cumind
import cumind.games
import runs


@unittest.skipUnless(importlib.util.find_spec("stable_baselines3"), "no Stable-Baselines3")
class StableBaselines3(unittest.TestCase):
    def test_evaluate_policy_gives_the_returns_of_eval(self):
        from stable_baselines3.common.evaluation import evaluate_policy
        from stable_baselines3.common.monitor import Monitor
        from stable_baselines3.common.vec_env import DummyVecEnv

        said = runs.program("eval", "--run", runs.path("pole"), "--episodes", "40", "--seed", "100", "--json")
        # One episode of each: number i from seed 100 + i, as there.
        vector = DummyVecEnv([lambda: Monitor(gym.make("cumind/CartPole-v1"))] * 40)
        vector.seed(100)
        returns, _ = evaluate_policy(cumind.load(runs.path("pole")), vector, n_eval_episodes=40, return_episode_rewards=True)
        self.assertEqual(sorted(returns), sorted(json.loads(said)["returns"]))

    def test_ppo_trains_on_our_cartpole(self):
        import torch
        from stable_baselines3 import PPO
        from stable_baselines3.common.env_util import make_vec_env
        from stable_baselines3.common.evaluation import evaluate_policy

        torch.set_num_threads(1)  # so small a network gains nothing by more, and waits for them where a machine is shared
        model = PPO("MlpPolicy", make_vec_env("cumind/CartPole-v1", n_envs=8, seed=1), n_steps=128, batch_size=256, learning_rate=1e-3, seed=1, device="cpu")
        before = evaluate_policy(model, model.get_env(), n_eval_episodes=20)[0]
        model.learn(40_000)
        after = evaluate_policy(model, model.get_env(), n_eval_episodes=20)[0]
        print(f"PPO: mean return {before:.0f} before, {after:.0f} after 40,000 steps")
        self.assertGreater(after, 195)
        self.assertGreater(after, 2 * before)


class PettingZoo(unittest.TestCase):
    def test_connect4_is_that_of_pettingzoo(self):
        try:
            from pettingzoo.classic import connect_four_v3
        except Exception:  # it needs pygame, and says so by an exception of its own
            self.skipTest("no pettingzoo.classic")
        random = np.random.default_rng(3)
        for seed in range(1000):
            ours, theirs = cumind.games.env("connect4"), connect_four_v3.env()
            ours.reset(seed=seed), theirs.reset(seed=seed)
            while True:
                mine, other = ours.last(), theirs.last()
                self.assertEqual((ours.agent_selection, *mine[1:4]), (theirs.agent_selection, *other[1:4]))
                if mine[2]:
                    break
                np.testing.assert_array_equal(mine[0]["action_mask"], other[0]["action_mask"])
                np.testing.assert_array_equal(mine[0]["observation"][..., :2], other[0]["observation"])
                move = int(random.choice(np.flatnonzero(mine[0]["action_mask"])))
                ours.step(move), theirs.step(move)


if __name__ == "__main__":
    unittest.main()
