"""The corridor of environment_corridor.c in Python: the right end of nine cells pays 1, the left end nothing; both end
the episode. It needs no package. Trained as it stands: cumind train --set env_name=./environment_corridor.py"""
import random


class Corridor:
    actions = 2  # with Gymnasium: action_space = gymnasium.spaces.Discrete(2)
    action_names = ["left", "right"]
    max_steps = 40  # a time limit: the episode is truncated, not terminated

    def reset(self, seed):
        """Equal seeds must give equal episodes, so chance comes from a generator of the episode's own."""
        self.cell = random.Random(seed).randint(1, 7)
        return self.observe(), {}

    def step(self, action):
        self.cell += 1 if action == 1 else -1
        reward = 1.0 if self.cell == 8 else 0.0
        return self.observe(), reward, self.cell in (0, 8), False, {}

    def observe(self):
        return [1.0 if cell == self.cell else 0.0 for cell in range(9)]

    def render(self):
        return "".join("@" if cell == self.cell else "." for cell in range(8)) + ("@" if self.cell == 8 else "$")
