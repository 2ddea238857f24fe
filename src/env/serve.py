"""Plays environments written in Python for cumind, which starts this file's text as `python3 -c TEXT NAME`.

NAME is "gymnasium:ID", or the path of a file with a function make() or a single class that has reset and step. Requests
come over file descriptor 3, one at a time, and are answered there; src/env/worker.h says how they look, and
docs/ADDING_AN_ENVIRONMENT.md what an environment may be. An episode is known by a number, its key, that its seed and
actions give; one that is not alive any more is played again from its seed.
"""
import array
import collections
import importlib.util
import inspect
import json
import os
import random
import select
import signal
import socket
import struct
import sys
import threading
import time
import traceback

try:
    import numpy
except ImportError:
    numpy = None  # environments of plain lists need none

RESET, STEP, REPLAY, SHOW = 1, 2, 3, 4
DONE, MISSING, FAILED = 0, 1, 2
REQUEST, REPLY, OUTCOME = struct.Struct("=iiiiQQQ"), struct.Struct("=ii"), struct.Struct("=diBBxx")
STALE = 20000  # requests after which an episode that nobody asked for may make room for another
PICTURE = 4000  # bytes
TOGETHER = 1 << 16  # bytes of answers that may wait for each other


def layers(env):
    """The environment and all that it wraps, outermost first."""
    while env is not None:
        yield env
        env = env.__dict__.get("env") if hasattr(env, "__dict__") else None


def find(env, name):
    """An attribute of the outermost layer that has it, or None."""
    for layer in layers(env):
        if name in getattr(layer, "__dict__", ()) or hasattr(type(layer), name):
            return getattr(layer, name)
    return None


def without_limit(env):
    """(environment, steps): an outermost time limit is taken off, as cumind keeps it itself. 0 steps: there is none."""
    limit = find(env, "max_steps") or 0
    while type(env).__name__ == "TimeLimit":
        limit = env._max_episode_steps
        env = env.env
    return env, int(limit or getattr(find(env, "spec"), "max_episode_steps", 0) or 0)


def maker_of_id(name):
    import gymnasium

    options = {"disable_env_checker": True}
    env = gymnasium.make(name, **options)
    if "ansi" in (find(env, "metadata") or {}).get("render_modes", []):
        options["render_mode"] = "ansi"
    env.close()
    return lambda: gymnasium.make(name, **options)


def maker_of_file(path):
    folder, file = os.path.split(os.path.abspath(path))
    sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location(os.path.splitext(file)[0], path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    if callable(getattr(module, "make", None)):
        return module.make
    own = [c for c in vars(module).values() if inspect.isclass(c) and c.__module__ == spec.name]
    own = [c for c in own if hasattr(c, "reset") and hasattr(c, "step")]
    if len(own) == 1:
        return own[0]
    names = ", ".join(c.__name__ for c in own) or "none"
    raise TypeError("needed is one class with reset and step, or a function make() that returns one; here: " + names)


def flatten(numbers, out):
    if isinstance(numbers, (list, tuple)):
        for number in numbers:
            flatten(number, out)
    else:
        out.append(numbers)


def shape_of(numbers):
    shape = []
    while isinstance(numbers, (list, tuple)):
        shape.append(len(numbers))
        numbers = numbers[0] if numbers else 0
    return shape


class Observations:
    """How an observation becomes float32 numbers: Discrete as one number per value, bytes divided by 255, spaces of
    several parts one behind another."""

    def __init__(self, space, first):
        self.kind = type(space).__name__
        self.space = space
        self.scale = 1.0
        if self.kind == "Discrete":
            self.shape, self.start = [int(space.n)], int(getattr(space, "start", 0))
            return
        if self.kind in ("Dict", "Tuple", "MultiDiscrete", "Text", "Sequence", "Graph"):
            import gymnasium

            self.kind, self.flatten = "flat", gymnasium.spaces.flatten
            self.shape = [int(gymnasium.spaces.flatdim(space))]
            return
        if str(getattr(space, "dtype", "")) == "uint8":
            self.scale = 1.0 / 255.0
        self.shape = list(numpy.asarray(first).shape) if numpy else shape_of(first)
        self.shape = [int(extent) for extent in self.shape] or [1]

    def pack(self, value):
        if self.kind == "Discrete":
            at = int(value) - self.start
            numbers = array.array("f", bytes(4 * self.shape[0]))
            numbers[at] = 1.0
            return numbers.tobytes()
        if self.kind == "flat":
            value = self.flatten(self.space, value)
        if numpy:
            numbers = numpy.asarray(value, dtype=numpy.float32)
            return (numbers * numpy.float32(self.scale) if self.scale != 1.0 else numbers).tobytes()
        numbers = array.array("f")
        flatten(value, numbers)
        return numbers.tobytes()


class Actions:
    """How a number, or several in [-1, 1], become an action."""

    def __init__(self, env):
        space = find(env, "action_space")
        self.continuous = type(space).__name__ == "Box"
        if self.continuous:
            self.low, self.high = space.low.reshape(-1), space.high.reshape(-1)
            if not (numpy.isfinite(self.low).all() and numpy.isfinite(self.high).all()):
                raise TypeError("actions without bounds; wrap the environment so that they have some")
            self.space, self.count, self.start = space, len(self.low), 0
            self.form = struct.Struct("=%df" % self.count)
            return
        count = getattr(space, "n", None) or find(env, "actions")
        if space is not None and type(space).__name__ != "Discrete":
            raise TypeError("actions of the kind %s; must be Discrete or Box" % type(space).__name__)
        if not count:
            raise TypeError("neither action_space nor actions, the number of actions")
        self.count, self.start = int(count), int(getattr(space, "start", 0))
        self.form = struct.Struct("=i")

    def unpack(self, data):
        for values in self.form.iter_unpack(data):
            if not self.continuous:
                yield values[0] + self.start
                continue
            unit = numpy.clip(numpy.asarray(values, dtype=numpy.float32), -1.0, 1.0)
            value = self.low + (unit + 1.0) * 0.5 * (self.high - self.low)
            yield value.reshape(self.space.shape).astype(self.space.dtype)


class Host:
    """All episodes of this process."""

    def __init__(self, name):
        maker = maker_of_id(name[10:]) if name.startswith("gymnasium:") else maker_of_file(name)
        self.make = lambda: without_limit(maker())[0]
        env, self.limit = without_limit(maker())
        self.live = collections.OrderedDict()  # key -> (environment, number of the last request), oldest first
        self.free = []
        self.asked = 0
        parameters = inspect.signature(env.reset).parameters.values()
        self.seeded = any(p.name == "seed" or p.kind == p.VAR_KEYWORD for p in parameters)
        self.players = int(find(env, "players") or 1)
        self.actions = Actions(env)
        self.has_mask = self.has_info_mask = False
        value, info = self.reset(env, 0)
        self.observations = Observations(find(env, "observation_space"), value)
        self.has_info_mask = "action_mask" in info
        self.has_mask = self.has_info_mask or bool(find(env, "action_masks") or find(env, "legal_actions"))
        self.bytes = 4
        for extent in self.observations.shape:
            self.bytes *= extent
        self.shows = find(env, "render_mode") == "ansi" or (
            find(env, "render_mode") is None and find(env, "metadata") is None and find(env, "render") is not None
        )
        self.threshold = getattr(find(env, "spec"), "reward_threshold", None)
        self.names = [str(name) for name in find(env, "action_names") or []]
        self.free.append(env)

    def describe(self):
        return {
            "shape": self.observations.shape,
            "actions": self.actions.count,
            "continuous": self.actions.continuous,
            "players": self.players,
            "max_steps": self.limit,
            "mask": self.has_mask,
            "shows": self.shows,
            "reward_threshold": self.threshold,
            "action_names": self.names,
        }

    def reset(self, env, seed):
        if self.seeded:
            result = env.reset(seed=seed)
        else:
            random.seed(seed)
            if numpy:
                numpy.random.seed(seed)
            result = env.reset()
        if isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], dict):
            return result
        return result, {}

    def mask(self, env, info):
        count = self.actions.count
        if self.has_info_mask:
            return bytes(1 if allowed else 0 for allowed in info["action_mask"])
        masks = find(env, "action_masks")
        if masks:
            return bytes(1 if allowed else 0 for allowed in masks())
        legal = bytearray(count)
        for action in find(env, "legal_actions")():
            legal[action - self.actions.start] = 1
        return bytes(legal)

    def player(self, env):
        if self.players == 1:
            return 0
        player = find(env, "to_play")
        return int(player() if callable(player) else player)

    def reply(self, env, value, info, reward=0.0, terminated=False, truncated=False):
        numbers = self.observations.pack(value)
        if len(numbers) != self.bytes:
            raise ValueError("an observation of %d numbers, not %d" % (len(numbers) // 4, self.bytes // 4))
        player = 0 if terminated else self.player(env)
        mask = b""
        if self.has_mask:
            mask = bytes(self.actions.count) if terminated else self.mask(env, info)
            if len(mask) != self.actions.count:
                raise ValueError("a mask of %d actions, not %d" % (len(mask), self.actions.count))
        return OUTCOME.pack(float(reward), player, bool(terminated), bool(truncated)) + numbers + mask

    def take(self):
        """An environment to reset."""
        if self.free:
            return self.free.pop()
        if self.live:
            key = next(iter(self.live))
            if self.asked - self.live[key][1] > STALE:
                return self.live.pop(key)[0]
        return self.make()

    def keep(self, key, env, ended):
        if ended:
            self.free.append(env)
        else:
            other = self.live.pop(key, None)
            if other:
                self.free.append(other[0])  # two of the same episode are one
            self.live[key] = (env, self.asked)

    def step(self, env, action):
        result = env.step(action)
        if len(result) == 5:
            value, reward, terminated, truncated, info = result
        elif len(result) == 4:
            value, reward, terminated, info = result
            truncated = bool(info.get("TimeLimit.truncated", False))
            terminated = bool(terminated) and not truncated
        else:
            value, reward, terminated = result
            truncated, info = False, {}
        return value, info, reward, terminated, truncated

    def replay(self, seed, data):
        """Another environment that was played to where the actions lead: (environment, what its last step gave)."""
        env = self.take()
        outcome = self.reset(env, seed)
        for action in self.actions.unpack(data):
            outcome = self.step(env, action)
        return env, outcome

    def answer(self, what, key, following, seed, data):
        self.asked += 1
        if what == RESET:
            old = self.live.pop(key, None)
            if old:
                self.free.append(old[0])
            env = self.take()
            outcome = self.reset(env, seed)
        elif what == STEP:
            env = self.live.pop(key, (None,))[0]
            if env is None:
                return MISSING, b""
            outcome = self.step(env, next(self.actions.unpack(data)))
        elif what == REPLAY:
            env, outcome = self.replay(seed, data)
        else:
            if key not in self.live:
                self.keep(key, self.replay(seed, data)[0], False)
            text = self.live[key][0].render()
            return DONE, text.encode("utf-8")[:PICTURE] if isinstance(text, str) else b""
        payload = self.reply(env, *outcome)
        self.keep(following, env, any(outcome[3:]))
        return DONE, payload


def describe_error(error):
    """"ZeroDivisionError: division by zero (grid.py:17)", where the last line that is not of this file stands."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename != "<string>"]
    place = " (%s:%d)" % (os.path.basename(frames[-1].filename), frames[-1].lineno) if frames else ""
    if isinstance(error, SyntaxError) and error.filename:
        place = " (%s:%d)" % (os.path.basename(error.filename), error.lineno or 0)
        return "%s: %s%s" % (type(error).__name__, error.msg, place)
    text = " ".join(str(error).split())
    return type(error).__name__ + (": " + text if text else "") + place


def end_with(connection):
    """An environment that hangs ends a second after cumind has, however that ended."""
    closed = select.poll()
    closed.register(connection, 0)
    closed.poll()
    time.sleep(1.0)
    os._exit(0)


def serve(name):
    connection = socket.socket(fileno=3)
    threading.Thread(target=end_with, args=(connection,), daemon=True).start()
    # When this process ends is for cumind to say. What an environment starts and ends gets the signal as usual.
    signal.signal(signal.SIGTERM, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    os.dup2(2, 1)  # what an environment prints is no reply

    def send(status, payload):
        connection.sendall(REPLY.pack(status, len(payload)) + payload)

    try:
        host = Host(name)
        send(DONE, json.dumps(host.describe()).encode("utf-8"))
    except Exception as error:
        text = describe_error(error)
        if isinstance(error, ModuleNotFoundError):
            text += "; %s is the python3 that was found first, is that the right one?" % sys.executable
        send(FAILED, text.encode("utf-8")[:PICTURE])
        return
    requests = connection.makefile("rb")
    waiting = bytearray()  # answers of steps that were asked for together
    while True:
        head = requests.read(REQUEST.size)
        if len(head) < REQUEST.size:
            return  # cumind has ended
        what, size, more, _, key, following, seed = REQUEST.unpack(head)
        data = requests.read(size)
        try:
            status, payload = host.answer(what, key, following, seed, data)
        except Exception as error:
            doing = {RESET: "its reset", SHOW: "its render"}.get(what, "its step")
            status, payload = FAILED, (doing + " raises " + describe_error(error)).encode("utf-8")[:PICTURE]
        waiting += REPLY.pack(status, len(payload)) + payload
        if more == 0 or len(waiting) > TOGETHER:
            connection.sendall(waiting)
            waiting.clear()


try:
    serve(sys.argv[1])
except ConnectionError:
    pass  # cumind has ended
