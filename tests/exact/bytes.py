import gymnasium
import numpy as np


class Bytes:
    """uint8: eight flags within 0 and 1, one of them set; its number pays 1."""

    actions = 8
    max_steps = 1
    observation_space = gymnasium.spaces.Box(0, 1, (8,), np.uint8)

    def flags(self):
        return np.eye(8, dtype=np.uint8)[self.at]

    def reset(self, seed=None):
        self.at = int(np.random.default_rng(seed).integers(8))
        return self.flags()

    def step(self, action):
        return self.flags(), float(action == self.at), True
