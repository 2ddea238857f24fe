class Forever:
    """Endless: action 1 pays 1 at every step, and no step is the last one."""

    actions = 2

    def reset(self, seed=None):
        return [1.0]

    def step(self, action):
        return [1.0], float(action), False
