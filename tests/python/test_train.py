"""Training from Python: the run is that of `cumind train`, and a callback, Ctrl-C and errors leave one that goes on."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import cumind

PROGRAM = os.path.abspath(os.environ.get("CUMIND", "build/cumind"))
SHORT = dict(env_steps=768, min_memory_steps=128, final_evaluation_episodes=2, evaluation_episodes=1, evaluation_interval=256,
             hidden_dim=32, threads=1, stop_at_goal=False, num_simulations=8)  # fmt: skip


class Walk:
    """Steps to the right are paid for."""

    actions, max_steps = 2, 8

    def reset(self, seed=None):
        self.at = 0
        return [0.0]

    def step(self, action):
        self.at += int(action)
        return [self.at / 8], float(action), False, {}


class Training(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        os.environ["XDG_STATE_HOME"] = self.folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def train(self, name, env="CartPole-v1", **more):
        return cumind.train(env, run=self.path(name), **{"config": "default", **SHORT, **more})

    def test_a_run_is_that_of_the_program_and_its_numbers_are_arrays(self):
        seen = []
        run = self.train("python", callback=seen.append)
        words = [word for key, value in SHORT.items() for word in ("--set", f"{key}={str(value).lower()}")]
        told = subprocess.run([PROGRAM, "train", "--quiet", "--config", "default", "--run", self.path("program"), *words], capture_output=True, text=True)
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertEqual(run.result["parameter_hash"], cumind.Run(self.path("program")).result["parameter_hash"])
        metrics = run.metrics
        self.assertEqual(metrics["iteration"].tolist(), [now.iteration for now in seen])
        np.testing.assert_allclose(metrics["total_loss"], [now.total_loss for now in seen], rtol=1e-6)
        self.assertEqual(seen[-1].metrics["env_steps"], seen[-1].env_steps)
        self.assertGreaterEqual(len(run.evaluations["eval_return"]), 2)
        self.assertEqual(run.settings["hidden_dim"], 32)
        self.assertEqual(run.configuration["MCTS"]["num_simulations"], 8)
        self.assertEqual(run.checkpoints[-1], run.result["updates"])
        with run.agent(run.checkpoints[-1]) as agent:
            self.assertEqual(agent.facts.updates, run.result["updates"])
        told = subprocess.run([PROGRAM, "eval", "--run", run.path, "--episodes", "5", "--seed", "3", "--json"], capture_output=True, text=True)
        self.assertEqual(run.evaluate(5, seed=3).returns.tolist(), json.loads(told.stdout)["returns"])

    def test_a_callback_ends_a_run_and_what_it_raises_comes_out_saved(self):
        whole = self.train("whole")
        self.train("ended", callback=lambda now: now.iteration == 2)
        self.assertIsNone(cumind.Run(self.path("ended")).result)

        def fail(now):
            if now.iteration == 3:
                raise LookupError("no such plot")

        with self.assertRaisesRegex(LookupError, "no such plot") as caught:
            cumind.train(resume=self.path("ended"), callback=fail)
        self.assertIn("goes on with it", caught.exception.__notes__[0])
        run = cumind.Run(self.path("ended")).resume()
        self.assertEqual(run.result["parameter_hash"], whole.result["parameter_hash"])

    def test_ctrl_c_saves(self):
        program = f"""
import cumind, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests may ignore it
def tell(now): print(now.iteration, flush=True)
cumind.train("CartPole-v1", run={self.path("broken")!r}, config="default", callback=tell, env_steps=10**9, hidden_dim=32, threads=1)
"""
        child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        child.stdout.readline()
        child.send_signal(signal.SIGINT)
        _, told = child.communicate(timeout=60)
        self.assertRegex(told, r"KeyboardInterrupt: the run is saved: cumind.train\(resume='.*broken'\) goes on with it")
        self.assertGreater(cumind.Run(self.path("broken")).agent().facts.env_steps, 0)

    def test_a_class_trains_as_it_is(self):
        run = self.train("walk", Walk, env_steps=256)
        self.assertTrue(run.settings["env_name"].startswith(self.path("environments/Walk_")))
        self.assertIn(run.agent().act([0.0]), (0, 1))


class Words(unittest.TestCase):
    def test_lines_of_the_library_name_arguments_of_python(self):
        for said, wanted in (
            ("x: if it has moved, say where it is with --set env_name=PATH", "x: if it has moved, say where it is with env_name=PATH"),
            ("update 3 is saved: go on from it with --resume runs/a", "update 3 is saved: go on from it with resume=runs/a"),
            ("x; --drop-damaged goes on without what is damaged", "x; drop_damaged=True goes on without what is damaged"),
            ("--replay-from: runs/a has played go", "replay_from: runs/a has played go"),
            ("use cumind_agent_analyse_env", "use Agent.analyse_env"),
            ("settings: komi=x: must be a number", "komi=x: must be a number"),
        ):
            self.assertEqual(cumind._native.spoken(said), wanted)


if __name__ == "__main__":
    unittest.main()
