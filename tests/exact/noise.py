import random


class Noise:
    """Random: action 0 pays 1 with probability 1/4, action 1 with probability 3/4."""

    actions = 2
    max_steps = 1

    def reset(self, seed=None):
        self.random = random.Random(seed)
        return [1.0]

    def step(self, action):
        return [0.0], float(self.random.random() < (0.25, 0.75)[action]), True
