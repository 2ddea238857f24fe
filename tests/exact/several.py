import gymnasium
import numpy as np


class Several:
    """MultiDiscrete and MultiBinary: one of 12 combinations pays 1 at each of two steps, with the flag for the step."""

    action_space = gymnasium.spaces.Dict(
        places=gymnasium.spaces.MultiDiscrete([3, 2]), flag=gymnasium.spaces.MultiBinary(1)
    )
    max_steps = 2

    def reset(self, seed=None):
        self.at = 0
        return np.array([1.0, 0.0], np.float32), {}

    def step(self, action):
        is_right = action["places"].tolist() == [2, 1] and action["flag"].tolist() == [self.at]
        self.at += 1
        return np.array([0.0, 1.0], np.float32), float(is_right), self.at == 2, False, {}
