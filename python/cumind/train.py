"""Training from Python: the run is that of `cumind train`."""

from __future__ import annotations

import base64
import ctypes
import hashlib
import json
import os
import queue
import sys
import threading
from typing import Any, Callable, NamedTuple

from . import _native as lib
from .batch import names, stem
from .errors import InputError, InterruptedRunError
from .progress import Progress
from .run import Run


class Iteration(NamedTuple):
    """What an iteration was. share of the run is done, in [0, 1]; mean_return and mean_length of the last 32 episodes, total_loss
    and eval_return are NaN where there is none; metrics has all its numbers, as metrics.jsonl."""

    iteration: int
    env_steps: int
    updates: int
    episodes: int
    share: float
    seconds: float
    env_steps_per_second: float
    updates_per_second: float
    mean_return: float
    mean_length: float
    total_loss: float
    eval_return: float
    metrics: dict[str, float]


Callback = Callable[[Iteration], object]


class _Training:
    """One call of cumind_train, on a thread of its own: Python sees no signal while the library works on this one."""

    def __init__(self, training: lib.Training, settings: dict[str, Any], asks: bool) -> None:
        self._training, self._settings, self._asks = training, lib.texts(settings), asks
        self._told: queue.SimpleQueue[Iteration | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._result, self._status, self._message = lib.TrainResult(), 0, ""
        training.iteration = self._seen = lib.ITERATION_FUNCTION(self._tell)
        threading.Thread(target=self._work, name="cumind.train", daemon=True).start()

    def _tell(self, _: Any, seen: Any) -> int:
        now = seen.contents
        values = [getattr(now, name) for name in Iteration._fields[:-1]]
        self._told.put(Iteration._make([*values, json.loads(now.metrics)]))
        return self._answers.get() if self._asks else 0

    def _work(self) -> None:
        self._status = lib.native.cumind_train(ctypes.byref(self._training), *self._settings, ctypes.byref(self._result))
        self._message = lib.native.cumind_error_message().decode()
        self._told.put(None)

    def follow(self, show: Callback, callback: Callback | None) -> BaseException | None:
        """Waits for its end; what was raised meanwhile, by the callback or by Ctrl-C, stops it and is given back."""
        raised: BaseException | None = None
        while True:
            try:
                now = self._told.get(timeout=0.1)
                if now is None:
                    return raised
                show(now)
                stops = raised is None and callback is not None and bool(callback(now))
                if self._asks:
                    self._answers.put(int(stops))
            except queue.Empty:
                if raised is not None:
                    lib.native.cumind_train_stop()
            except BaseException as error:  # of any kind: the run is saved first
                if raised is not None and isinstance(error, KeyboardInterrupt):
                    raise
                raised = error
                self._asks = False
                lib.native.cumind_train_stop()
                self._answers.put(1)

    def end(self) -> tuple[Run, str]:
        lib.check(self._status, self._message)
        return Run(os.fsdecode(self._result.run)), ("stopped", "limit", "goal")[self._result.end]


def train(
    env: Any = None,
    *,
    config: Any = None,
    run: str | os.PathLike[str] | None = None,
    resume: str | os.PathLike[str] | None = None,
    checkpoint: str | int | None = None,
    overwrite: bool = False,
    drop_damaged: bool = False,
    init_from: str | os.PathLike[str] | None = None,
    replay_from: str | os.PathLike[str] | None = None,
    callback: Callback | None = None,
    progress: bool = True,
    **settings: Any,
) -> Run:
    """Trains an agent and returns its run: cumind.train("CartPole-v1", seed=1).agent().act(observation).

    env: the name of an environment ("connect4", "cumind/connect4"), an id of Gymnasium, the path of a library or of a file in
    Python, or a class or function that makes an environment with Gymnasium's interface. settings: configuration keys
    (docs/CONFIGURATION.md), as num_simulations=50, env_steps="1M". config: the name of a recipe, the path of a file, or a
    dictionary of sections; None: the recipe of the environment, or, where it has none, defaults that fit it.

    run: the folder of the new run; None: a new name below checkpoint_root_dir. resume: the folder of a run to go on with, from
    its latest checkpoint or from `checkpoint` ("best", or a number of updates; overwrite=True gives up those after it);
    drop_damaged=True goes on without what is damaged. init_from, replay_from: runs whose weights or games a new one begins with.

    callback: is given an Iteration after every one, on this thread; what is true ends the run. progress: a line in terminals and
    notebooks. Ctrl-C, and what the callback raises, saves the run and comes out then; resume=... goes on with it.
    """
    if callback is not None:
        lib.function("callback", callback)
    lib.prefer_this_python()
    training = lib.Training(
        configuration=None if config is None else lib.encode("config", _text_of(config)),
        checkpoint=_number_of(checkpoint),
        overwrite=lib.flag("overwrite", overwrite),
        drop_damaged=lib.flag("drop_damaged", drop_damaged),
    )
    for name, path in (("run", run), ("resume", resume), ("init_from", init_from), ("replay_from", replay_from)):
        setattr(training, name, None if path is None else lib.encode(name, path))
    if env is not None:
        settings = {"env_name": _name_of(env, run), **settings}
    with Progress(lib.flag("progress", progress)) as display:
        work = _Training(training, settings, callback is not None)
        raised = work.follow(display.show, callback)
    return _conclude(work, raised)


def _text_of(config: Any) -> Any:
    """A dictionary of sections as JSON; a name or a path as it is."""
    if not isinstance(config, dict):
        return config
    try:
        return json.dumps(config)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"config: {error}") from None


def _number_of(checkpoint: str | int | None) -> int:
    if isinstance(checkpoint, str):
        if checkpoint not in ("best", "latest"):
            raise InputError(f'checkpoint: "{checkpoint}" is neither "best" nor "latest", and no number of updates')
        return -2 if checkpoint == "best" else -1
    return 0 if checkpoint is None else lib.integer("checkpoint", checkpoint, 1, 2**53)


def _conclude(work: _Training, raised: BaseException | None) -> Run:
    if raised is None:
        return work.end()[0]
    try:
        run, ended = work.end()
    except InterruptedRunError:
        raise raised from None
    advice = f"the run is saved: cumind.train(resume={run.path!r}) goes on with it" if ended == "stopped" else f"the run has ended: {run!r}"
    if isinstance(raised, KeyboardInterrupt):
        raise KeyboardInterrupt(advice) from None
    raised.add_note(advice)
    raise raised


# ---- environments ----


def _name_of(env: Any, run: str | os.PathLike[str] | None) -> str:
    """As the key env_name has it."""
    if not isinstance(env, (str, os.PathLike)):
        return _file_of(env, os.path.dirname(os.fspath(run)) if run is not None else "checkpoints")
    name = os.fspath(env)
    if name.startswith("cumind/"):
        return name[len("cumind/") :]
    if ":" in name or "/" in name or name.endswith((".py", ".so")):
        return name
    known = {stem(known).lower() for known in names()}
    return f"gymnasium:{name}" if stem(name).lower() not in known and _gymnasium_has(name) else name


def _gymnasium_has(name: str) -> bool:
    try:
        import gymnasium
    except ImportError:
        return False
    return name in gymnasium.registry


_STUB = """# Written by cumind.train: {what} of {module}.
import base64, pickle, sys

sys.path[len(sys.path):] = [path for path in {paths!r} if path not in sys.path]
_make = pickle.loads(base64.b64decode({pickled!r}))


def make():
    return _make()
"""


def _file_of(env: Any, folder: str) -> str:
    """A file in Python that makes what the class or function makes, in a folder next to the run, which needs it again."""
    if not callable(env):
        raise InputError(f"env: {lib.brief(env)} is neither a name nor a class or function that makes an environment")
    try:
        import cloudpickle  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        raise InputError("env: a class or function needs cloudpickle (pip install cloudpickle); or write it into a file, env='./grid.py'") from None
    what, module = getattr(env, "__qualname__", type(env).__name__), getattr(env, "__module__", "?")
    try:
        pickled = base64.b64encode(cloudpickle.dumps(env)).decode()
    except Exception as error:
        raise InputError(f"env: {what} cannot be handed to another process: {error}") from None
    paths = [os.path.abspath(path) for path in sys.path]
    text = _STUB.format(what=what, module=module, paths=paths, pickled=pickled).encode()
    word = "".join(c if c.isalnum() else "_" for c in what)[:20]
    path = os.path.join(folder or ".", "environments", f"{word}_{hashlib.sha256(text).hexdigest()[:8]}.py")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(text)
    return path if "/" in path else f"./{path}"
