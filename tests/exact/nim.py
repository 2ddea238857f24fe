class Nim:
    """Two players: five stones, one or two are taken, the last stone wins."""

    players = 2
    actions = 2
    max_steps = 5

    def reset(self, seed=None):
        self.stones, self.player = 5, 0
        return self.observe()

    def observe(self):
        return [float(self.stones == i) for i in range(6)]

    def to_play(self):
        return self.player

    def legal_actions(self):
        return [0, 1] if self.stones > 1 else [0]

    def step(self, action):
        self.stones -= action + 1
        self.player = 1 - self.player
        done = self.stones == 0
        return self.observe(), float(done), done
