import gymnasium
import numpy as np


class Parts:
    """Dict: two parts name the action that pays 1; another one says whether it is the second step."""

    action_space = gymnasium.spaces.Discrete(4)
    observation_space = gymnasium.spaces.Dict(
        colour=gymnasium.spaces.Discrete(2),
        place=gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float32),
        second=gymnasium.spaces.MultiBinary(1),
    )
    max_steps = 2

    def observe(self):
        place = np.array([1.0, -1.0] if self.right else [-1.0, 1.0], np.float32)
        return {"colour": self.colour, "place": place, "second": np.array([self.at], np.int8)}

    def reset(self, seed=None):
        generator = np.random.default_rng(seed)
        self.colour, self.right = (int(n) for n in generator.integers(2, size=2))
        self.at = 0
        return self.observe(), {}

    def step(self, action):
        self.at += 1
        return self.observe(), float(action == 2 * self.colour + self.right), self.at == 2, False, {}
