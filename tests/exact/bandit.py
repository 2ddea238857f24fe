class Bandit:
    """One step: lever 0 pays 500, lever 1 pays 5000."""

    actions = 2
    max_steps = 1

    def reset(self, seed=None):
        return [1.0]

    def step(self, action):
        return [1.0], (500.0, 5000.0)[action], True
