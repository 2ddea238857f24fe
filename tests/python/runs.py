"""Short runs of the program that several tests look at: each is trained once, when it is asked for first."""

import atexit
import functools
import os
import subprocess
import tempfile

PROGRAM = os.path.abspath(os.environ.get("CUMIND", "build/cumind"))
SHORT = {"env_steps": 512, "min_memory_steps": 128, "final_evaluation_episodes": 4, "hidden_dim": 32, "num_simulations": 8}
RUNS = {
    "game": {"env_name": "connect4", "policy": "gumbel_muzero"},
    "board": {"env_name": "othello", "policy": "muzero"},
    "rules": {"env_name": "tictactoe", "policy": "alphazero"},
    "pole": {"env_name": "CartPole-v1"},
    "swing": {"env_name": "Pendulum-v1", "max_steps": 40},
}

_folder = tempfile.TemporaryDirectory()
FOLDER = _folder.name
atexit.register(_folder.cleanup)
os.environ["XDG_STATE_HOME"] = FOLDER


def program(*words, **more):
    """What `cumind WORDS` says."""
    done = subprocess.run([PROGRAM, *words], cwd=FOLDER, capture_output=True, text=True, **more)
    if done.returncode:
        raise AssertionError(done.stderr)
    return done.stdout


@functools.cache
def path(run):
    """The folder of a run of this name in RUNS."""
    words = [word for key, value in {**SHORT, **RUNS[run]}.items() for word in ("--set", f"{key}={value}")]
    program("train", "--quiet", "--config", "default", "--run", run, *words)
    return os.path.join(FOLDER, run)
