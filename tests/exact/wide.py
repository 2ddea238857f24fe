class Wide:
    """5,000 actions, of which every fifth pays 1."""

    actions = 5000
    max_steps = 1

    def reset(self, seed=None):
        return [1.0]

    def step(self, action):
        return [1.0], float(action % 5 == 2), True
