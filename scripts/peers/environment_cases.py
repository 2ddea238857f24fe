"""Writes random games of OpenSpiel and random runs of Gymnasium's control tasks as reference cases.

Legal moves and the board of every position are in the file. `cumind test-cases DIR` then has to play the same games.
"""
import argparse
import json
import pathlib
import sys
import warnings

import gymnasium
import numpy as np
import pyspiel

# environment, options, OpenSpiel's name, rows of the board, games of one file
BOARDS = (("tictactoe", {}, "tic_tac_toe", 3, 30), ("connect4", {}, "connect_four", 6, 20),
          ("othello", {}, "othello", 8, 8),
          ("hex11", {"swap": False}, "hex(board_size=11)", 11, 4),
          ("hex11", {"swap": True}, "hex(board_size=11,swap=true)", 11, 4),
          ("gomoku15", {"exactly_five": False}, "mnk(m=15,n=15,k=5)", 15, 3),
          ("go5", {"komi": 7.5}, "go(board_size=5,komi=7.5)", 5, 8),
          ("go5", {"komi": 0.0}, "go(board_size=5,komi=0.0)", 5, 8),
          ("go9", {"komi": 7.0}, "go(board_size=9,komi=7.0)", 9, 3))
CELLS = {".": ".", "-": ".", "+": ".", **dict.fromkeys("xXyz", "x"), **dict.fromkeys("oOpq", "o")}
GO = ("go5", "go9")
CONTROLS = ("CartPole-v0", "CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1", "Acrobot-v1")
ACROBOT_STEPS = 110  # it is chaotic


def cells(environment, state, rows):
    """The board, row 0 first: the row of action 0."""
    lines = [line.split() for line in str(state).splitlines()]
    if environment in GO:
        lines = [line[1] for line in lines if len(line) == 2 and line[0].isdigit()][::-1]
    elif environment == "othello":
        lines = ["".join(line[1:9]) for line in lines if line and line[0].isdigit()]
    else:
        lines = ["".join(line) for line in lines if line][:rows]
    return "".join(CELLS[c] for line in lines for c in line)


def legal(environment, state, rows, seen):
    """OpenSpiel ends a game of Go whose board repeats, we forbid the move."""
    actions = state.legal_actions()
    if environment not in GO:
        return actions
    return [a for a in actions if a == actions[-1] or cells(environment, state.child(a), rows) not in seen]


def play(rng, environment, game, rows):
    state, actions, moves = game.new_initial_state(), [], []
    boards = [[0, cells(environment, state, rows)]]
    while not state.is_terminal():
        allowed = legal(environment, state, rows, {board for _, board in boards})
        moves.append([len(actions), allowed])
        if environment in GO and len(allowed) > 1 and rng.random() < 0.97:
            allowed = allowed[:-1]  # a pass now and then
        actions.append(int(rng.choice(allowed)))
        state.apply_action(actions[-1])
        boards.append([len(actions), cells(environment, state, rows)])
    return {"actions": actions, "legal": moves, "boards": boards, "rewards_final": [int(r) for r in state.returns()],
            "end_ply": len(actions)}


def games(rng, environment, options, name, rows, count):
    game = pyspiel.load_game(name)
    played = [play(rng, environment, game, rows) for _ in range(count)]
    return {"environment": environment, "options": options, "games": played}


def act(rng, space, held):
    """Random actions, each kept for some steps."""
    if held is not None and rng.random() < 0.7:
        return held
    if hasattr(space, "n"):
        return int(rng.integers(space.n))
    return float(np.float32(rng.uniform(1.3 * space.low[0], 1.3 * space.high[0])))


def run(rng, environment, task, steps):
    seed = int(rng.integers(1 << 31))
    observation, _ = task.reset(seed=seed)
    episode = {"seed": seed, "reset": observation.tolist(), "actions": [], "observed_steps": [], "observations": [],
               "rewards": []}
    action, terminated, truncated = None, False, False
    while not terminated and not truncated and len(episode["actions"]) < steps:
        action = act(rng, task.action_space, action)
        given = action if isinstance(action, int) else np.array([action], dtype=np.float32)
        observation, reward, terminated, truncated, _ = task.step(given)
        episode["observed_steps"].append(len(episode["actions"]))
        episode["actions"].append(action)
        episode["observations"].append(observation.tolist())
        episode["rewards"].append(float(reward))
    return episode | {"terminated": bool(terminated), "truncated": bool(truncated)}


def runs(rng, environment, count):
    task = gymnasium.make(environment)
    steps = ACROBOT_STEPS if environment.startswith("Acrobot") else task.spec.max_episode_steps
    return {"environment": environment, "step_limit": task.spec.max_episode_steps,
            "episodes": [run(rng, environment, task, steps) for _ in range(count)]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=1, help="files of each environment")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    warnings.filterwarnings("ignore", category=DeprecationWarning)  # CartPole-v0 is an old one
    gymnasium.logger.min_level = gymnasium.logger.ERROR
    written = 0
    for index in range(args.count):
        rng = np.random.default_rng([args.seed, index])
        cases = [games(rng, *row) for row in BOARDS] + [runs(rng, name, 4) for name in CONTROLS]
        for at, case in enumerate(cases):
            case = {"format": "cumind-environment-case-1", **case}
            (args.folder / f"{case['environment']}_{args.seed}_{index}_{at}.json").write_text(json.dumps(case))
            written += 1
    print(f"{args.folder}: {written} files of games and runs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
