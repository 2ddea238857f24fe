"""Plays MinAtar's games in its own package and in cumind side by side, given the same draws, and compares every bit.

The package's generator is replaced by NumPy's PCG64 with the seed of cumind's episode, which draws as cumind does. Half of the
frames are of uniformly random actions; in the other half those are avoided that end the episode at once, so that games grow
harder. Then the speed of both is measured, interleaved (A-B-A-B).

usage: minatar_frames.py --cumind build/cumind [--frames 100000] [--seed 1] [--rounds 3] [--seconds 1] [--game breakout]
CUMIND_LIBRARY and PYTHONPATH=python lead to cumind's library and package.
"""
import argparse
import json
import statistics
import subprocess
import sys
import time

import minatar
import numpy as np
from cumind.batch import Batch

GAMES = ("breakout", "asterix", "freeway", "seaquest", "space_invaders")
ACTIONS = 6
CAREFUL = 0.98  # of the frames in which an action that ends the episode is avoided, where there is another one
TIMED = 4000  # frames between two looks at the clock


class Draws:
    """What the package asks of numpy.random.RandomState, from the words of cumind's generator."""

    def __init__(self, seed):
        self.words = np.random.PCG64(seed)

    def rand(self, count=None):
        if count is None:
            return (self.words.random_raw() >> 11) * 2.0**-53
        return np.array([self.rand() for _ in range(count)])

    def randint(self, low, high=None, size=None):
        if high is None:
            low, high = 0, low
        if size is None:
            return low + (self.words.random_raw() * (high - low) >> 64)
        return np.array([self.randint(low, high) for _ in range(size)])


class Package:
    """A game of the package whose draws are given."""

    def __init__(self, game):
        self.game = minatar.Environment(game)

    def begin(self):
        """An episode of cumind begins without a last action; one of the package goes on with that of the one before."""
        self.game.last_action = 0
        self.game.reset()

    def seed(self, seed):
        self.game.random = self.game.env.random = Draws(seed)
        self.begin()

    def picture(self):
        return np.asarray(self.game.state(), bool)


def choose(batch, careful, random):
    """The number of the twin whose frame is kept: all of them have been stepped, each by an action of its own."""
    goes_on = np.flatnonzero(~batch.terminated)
    if not careful or len(goes_on) == 0 or random.random() > CAREFUL:
        return int(random.integers(ACTIONS))
    paid = goes_on[batch.reward[goes_on] > 0]
    return int(random.choice(paid if len(paid) else goes_on))


def follow(picture):
    """Breakout is lost long before it ends: left or right, under the ball."""
    ball, paddle = np.argwhere(picture[:, :, 1])[0][1], np.argwhere(picture[:, :, 0])[0][1]
    return 1 if ball < paddle else 3 if ball > paddle else 0


def fail(game, frame, what):
    sys.exit(f"minatar_frames.py: {game}, frame {frame}: {what}")


def compare(name, frames, seed):
    """Plays `frames` frames; every one is tried with all six actions by twins in cumind, one of which is gone on with."""
    batch, package = Batch("minatar_" + name, ACTIONS), Package(name)
    random = np.random.default_rng(seed)
    batch.reset(seeds=[seed] * ACTIONS)
    package.seed(seed)
    facts = {"frames": frames, "episodes": 0, "reward": 0, "longest": 0}
    length, every = 0, np.arange(ACTIONS, dtype=np.int32)
    for frame in range(frames):
        careful = frame >= frames // 2
        if not np.array_equal(batch.observation[0] > 0, package.picture()):
            fail(name, frame, "the pictures differ")
        under = follow(package.picture()) if careful and name == "breakout" else None
        batch.step(every)
        action = choose(batch, careful, random) if under is None or random.random() > CAREFUL else under
        reward, ended = package.game.act(action)
        length += 1
        if reward != batch.reward[action] or bool(ended) != bool(batch.terminated[action]):
            fail(name, frame, f"the package gives {reward}, {ended}; cumind {batch.reward[action]}, {batch.terminated[action]}")
        if not np.array_equal(batch.observation[action] > 0, package.picture()):
            fail(name, frame, "the pictures differ")
        facts["reward"] += int(reward)
        for other in range(ACTIONS):
            if other != action:
                batch.copy(other, action)
        if ended:
            facts["episodes"] += 1
            facts["longest"], length = max(facts["longest"], length), 0
            batch.step(every)  # begins the next one
            package.begin()
    batch.close()
    return facts


def package_speed(name, seconds, seed):
    """Frames a second of random actions, without and with the picture."""
    package, random, rates = Package(name), np.random.default_rng(seed), []
    actions = random.integers(ACTIONS, size=TIMED).tolist()
    for looks in (False, True):
        begin, frames = time.perf_counter(), 0
        while time.perf_counter() - begin < seconds / 2:
            for action in actions:
                _, ended = package.game.act(action)
                if looks:
                    package.game.state()
                if ended:
                    package.game.reset()
            frames += len(actions)
        rates.append(frames / (time.perf_counter() - begin))
    return rates


def own_speed(cumind, name, seconds):
    command = [cumind, "benchmark", "env", "--env", "minatar_" + name, "--set", "frame_stack=1",  # as the package has none
               "--seconds", str(seconds), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"minatar_frames.py: {' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout)


def measure(arguments, name):
    """Medians of the rounds: (cumind's frames a second without and with pictures, the package's)."""
    own, package = [], []
    for _ in range(arguments.rounds):
        result = own_speed(arguments.cumind, name, arguments.seconds)
        own.append((result["steps_per_second_without_observations"], result["steps_per_second"]))
        package.append(package_speed(name, arguments.seconds, arguments.seed))
    return [[statistics.median(column) for column in zip(*side)] for side in (own, package)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cumind", required=True)
    parser.add_argument("--frames", type=int, default=100000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--game", choices=GAMES)
    arguments = parser.parse_args()
    for name in [arguments.game] if arguments.game else GAMES:
        facts = compare(name, arguments.frames, arguments.seed)
        print(f"{name:15} {facts['frames']} frames alike, {facts['episodes']} episodes, reward {facts['reward']}, "
              f"longest {facts['longest']}", flush=True)
        if arguments.rounds == 0:
            continue
        (rules, whole), (package_rules, package_whole) = measure(arguments, name)
        print(f"{'':15} frames/s: {rules:,.0f} and with pictures {whole:,.0f}; the package {package_rules:,.0f} and "
              f"{package_whole:,.0f}", flush=True)


if __name__ == "__main__":
    main()
