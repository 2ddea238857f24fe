"""A walk from one corner of a grid to the other, which alone is rewarded. `cumind train --env ./environment_grid.py` learns
it with the defaults that such a task gets (docs/TUNING.md)."""


class Grid:
    size = 9
    actions, action_names = 4, ["right", "left", "down", "up"]
    max_steps = 100

    def reset(self):
        self.x = self.y = 0
        return self.observe(), {}

    def step(self, action):
        right, down = ((1, 0), (-1, 0), (0, 1), (0, -1))[action]
        self.x = min(max(self.x + right, 0), self.size - 1)
        self.y = min(max(self.y + down, 0), self.size - 1)
        is_there = self.x == self.y == self.size - 1
        return self.observe(), float(is_there), is_there, False, {}

    def observe(self):
        return [self.x / (self.size - 1), self.y / (self.size - 1)]

    def render(self):
        rows = [["."] * self.size for _ in range(self.size)]
        rows[-1][-1], rows[self.y][self.x] = "$", "@"
        return "\n".join("".join(row) for row in rows)
