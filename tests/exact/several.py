import gymnasium
import numpy as np


class Several:
    """MultiDiscrete and MultiBinary: each of four parts that is right pays 1/4; one of them is the number of the step."""

    action_space = gymnasium.spaces.Dict(
        places=gymnasium.spaces.MultiDiscrete([3, 4]), flags=gymnasium.spaces.MultiBinary(2)
    )
    max_steps = 2

    def reset(self, seed=None):
        self.at = 0
        return np.array([1.0, 0.0], np.float32), {}

    def step(self, action):
        right = np.concatenate([action["places"] == [2, 1], action["flags"] == [self.at, 1]])
        self.at += 1
        return np.array([0.0, 1.0], np.float32), float(right.mean()), self.at == 2, False, {}
