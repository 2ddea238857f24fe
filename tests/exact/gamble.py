import random


class Gamble:
    """Chance: 0 is safe and pays 0.5; 1 leads to a place that pays 1 for action 1, or to one that pays 0.5 for it, evenly."""

    actions = 2
    max_steps = 2

    def reset(self, seed=None):
        self.place = 0
        random.seed(seed)  # the global generator: each instance has a state of its own
        return self.observe()

    def observe(self):
        return [float(self.place == i) for i in range(3)]

    def step(self, action):
        if self.place:
            return self.observe(), action / self.place, True
        if action == 0:
            return self.observe(), 0.5, True
        self.place = random.choice((1, 2))
        return self.observe(), 0.0, False
