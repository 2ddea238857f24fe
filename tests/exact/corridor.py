class Corridor:
    """Sparse: five steps to the right pay 1, nothing else pays anything."""

    actions = 2
    max_steps = 30

    def reset(self, seed=None):
        self.at = 0
        return self.observe()

    def observe(self):
        return [float(self.at == i) for i in range(5)]

    def step(self, action):
        self.at = max(0, self.at + (1 if action == 1 else -1))
        done = self.at == 5
        return self.observe(), float(done), done
