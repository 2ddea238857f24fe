"""Pixels that Gymnasium's environments draw (render_mode "rgb_array") in the moving pictures of play and of evaluations."""

import glob
import importlib.util
import itertools
import os
import sys
import tempfile
import unittest

import numpy as np
import runs

DRAWN = '''
import gymnasium
import numpy as np


class Drawn(gymnasium.Env):
    """A row of eight cells, the walker's in red; an episode has at most twelve steps."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}
    observation_space = gymnasium.spaces.Box(0, 8, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)
    max_steps = 12

    def __init__(self, render_mode=None):
        self.render_mode = render_mode

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = int(self.np_random.integers(4))
        return np.array([self.at], np.float32), {}

    def step(self, action):
        self.at = min(self.at + int(action), 7)
        return np.array([self.at], np.float32), float(action), self.at == 7, False, {}

    def render(self):
        if self.render_mode != "rgb_array":
            return None
        picture = np.full((40, 160, 3), (10, 200, 30), np.uint8)
        picture[:, 20 * self.at:20 * self.at + 20] = (220, 20, 60)
        return picture
'''
GROUND, WALKER = (10, 200, 30), (220, 20, 60)
SCALE = 2  # at which so small a picture is enlarged


def frames_of(path):
    """Every frame of a GIF as [height, width, 3]."""
    from PIL import Image

    with Image.open(path) as picture:
        frames = []
        for i in range(picture.n_frames):
            picture.seek(i)
            frames.append(np.array(picture.convert("RGB")))
        return frames


@unittest.skipUnless(importlib.util.find_spec("PIL"), "no Pillow")
class Pictures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        with open(cls.path("drawn.py"), "w") as file:
            file.write(DRAWN)

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder, name)

    def run_program(self, *words):
        """With the Python of these tests, which has Gymnasium."""
        path = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
        return runs.program(*words, env={**os.environ, "PATH": path})

    def places(self, path):
        """The walker's cell in every frame, whose pixels are those that the environment has drawn, enlarged; below is the caption."""
        places = []
        for frame in frames_of(path):
            drawn = frame[: 40 * SCALE, : 160 * SCALE]
            cells = [tuple(drawn[0, 20 * SCALE * i]) for i in range(8)]
            self.assertEqual(sorted(cells), [GROUND] * 7 + [WALKER])
            expected = np.repeat(np.repeat(np.array([cells], np.uint8), 40 * SCALE, axis=0), 20 * SCALE, axis=1)
            np.testing.assert_array_equal(drawn, expected)
            places.append(cells.index(WALKER))
        return places

    def expect_episode(self, places):
        self.assertIn(places[0], range(4))
        self.assertTrue(set(np.diff(places)) <= {0, 1}, places)
        self.assertTrue(len(places) == 13 or places[-1] == 7, places)

    def test_play_shows_the_pixels_that_an_environment_draws(self):
        video = self.path("play.gif")
        said = self.run_program("play", "--video", video, "--scale", "1", "--seed", "3", "--set", f"env_name={self.path('drawn.py')}")
        places = self.places(video)
        self.expect_episode(places)
        self.assertGreater(places[-1], places[0])
        self.assertIn(f"episode 0: return {places[-1] - places[0]}\n", said)
        self.assertIn(f"{video}: {len(places)} frames\n", said)

    def test_evaluations_of_a_run_show_them_too(self):
        settings = {"min_memory_steps": 64, "hidden_dim": 8, "num_simulations": 4, "evaluation_interval": 128, "evaluation_episodes": 2,
                    "final_evaluation_episodes": 0, "stop_at_goal": "false"}  # fmt: skip
        words = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
        run = self.path("run")
        self.run_program("train", self.path("drawn.py"), "--config", "default", "--quiet", "--run", run, "--env-steps", "256", *words)
        pictures = sorted(glob.glob(os.path.join(run, "episodes", "*.gif")))
        self.assertEqual(len(pictures), 2)  # of one evaluation, and the best
        for picture in pictures:
            self.expect_episode(self.places(picture))

    @unittest.skipUnless(importlib.util.find_spec("pygame"), "no Pygame")
    def test_an_id_of_gymnasium_shows_its_own_drawing(self):
        video = self.path("pole.gif")
        said = self.run_program("play", "--video", video, "--scale", "1", "--seed", "3", "--set", "env_name=gymnasium:CartPole-v1")
        frames = frames_of(video)
        self.assertIn(f"{video}: {len(frames)} frames\n", said)
        pole, changed = np.array([202, 152, 101]), 0  # the pole's colour in gymnasium/envs/classic_control/cartpole.py
        for before, frame in itertools.pairwise(frames):
            self.assertGreater(np.count_nonzero(np.abs(frame.astype(int) - pole).sum(axis=2) < 40), 200)
            changed += np.any(before != frame)
        self.assertEqual(changed, len(frames) - 1)


if __name__ == "__main__":
    unittest.main()
