class Flags:
    """Masked: only actions 2 and 3 are legal, given as flags; 3 pays, the illegal ones would cost."""

    actions = 4
    max_steps = 2

    def reset(self, seed=None):
        self.legal_actions = [False, False, True, True]
        self.at = 0
        return [0.0]

    def step(self, action):
        self.at += 1
        return [float(self.at)], (-100.0, -100.0, 0.0, 1.0)[action], self.at == 2
