"""A MuZero search over an exported network, with NumPy and ONNX Runtime alone. It plays every line of TicTacToe:
`cumind export --run RUN --onnx DIR --decode`, then `python3 docs/examples/onnx_search.py DIR`."""

import sys

import numpy as np
import onnxruntime

LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


class Node:
    def __init__(self, state, logits, legal=True):
        prior = np.where(legal, np.exp(logits - logits.max()), 0)
        self.state, self.prior, self.child = state, prior / prior.sum(), {}
        self.visits, self.total, self.reward = np.zeros((3, len(logits)))

    def select(self):  # PUCT; where nothing is known a value is 0
        exploration = 1.25 * self.prior * np.sqrt(1 + self.visits.sum()) / (1 + self.visits)
        return int(np.argmax(np.where(self.prior > 0, self.total / np.maximum(1, self.visits) + exploration, -np.inf)))


class Agent:
    def __init__(self, folder):
        names = "initial_inference", "recurrent_inference"
        self.initial, self.recurrent = (onnxruntime.InferenceSession(f"{folder}/{name}.onnx") for name in names)

    def act(self, observation, legal, simulations=25, discount=-1.0):  # negative: the players take turns
        state, logits, _ = self.initial.run(None, {"observation": observation[None]})
        root = Node(state, logits[0], legal)
        for _ in range(simulations):
            node, path = root, [(root, root.select())]
            while path[-1][1] in node.child:
                node = node.child[path[-1][1]]
                path.append((node, node.select()))
            action = path[-1][1]
            state, reward, logits, value = self.recurrent.run(None, {"state": node.state, "action": np.array([action])})
            node.child[action], node.reward[action], value = Node(state, logits[0]), reward[0], value[0]
            for parent, action in reversed(path):
                value = parent.reward[action] + discount * value
                parent.visits[action] += 1
                parent.total[action] += value
        return int(np.argmax(root.visits))


def losses(agent, side, cells=(0,) * 9, turn=0):
    """How many lines of play the agent loses that plays `side`, 0 or 1; a cell is 0, or 1 + who has it."""
    if any(cells[a] == cells[b] == cells[c] != 0 for a, b, c in LINES):
        return turn == side  # the other one has moved
    board, legal = np.array(cells).reshape(3, 3), [cell == 0 for cell in cells]
    planes = board == turn + 1, board == 2 - turn, np.full((3, 3), turn == 0), np.full((3, 3), turn == 1)
    moves = [agent.act(np.stack(planes, -1).astype(np.float32), legal)] if any(legal) and turn == side else np.flatnonzero(legal)
    return sum(losses(agent, side, (*cells[:move], turn + 1, *cells[move + 1 :]), 1 - turn) for move in moves)


if __name__ == "__main__":
    lost = [losses(Agent(sys.argv[1]), side) for side in (0, 1)]
    print(f"loses {lost[0]} lines of play as the first player and {lost[1]} as the second")
    sys.exit(sum(lost) > 0)
