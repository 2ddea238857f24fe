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


class Amiss(Exception):
    """Something that an environment gives, and cumind cannot take."""


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


def called(value):
    return value() if callable(value) else value


def without_limit(env):
    """(environment, steps): an outermost time limit is taken off, as cumind keeps it itself. 0 steps: there is none."""
    limit = find(env, "max_steps") or 0
    while type(env).__name__ == "TimeLimit":
        limit = env._max_episode_steps
        env = env.env
    return env, int(limit or getattr(find(env, "spec"), "max_episode_steps", 0) or steps_of_frames(env))


def steps_of_frames(env):
    """The most steps that ALE's limit of frames leaves an episode, 0 where there is none."""
    options = getattr(find(env, "spec"), "kwargs", None) or {}
    frames, skip = options.get("max_num_frames_per_episode") or 0, options.get("frameskip", 1)
    each = skip if isinstance(skip, int) else min(skip)  # it may be drawn from a range
    for layer in layers(env):
        if type(layer).__name__ == "AtariPreprocessing":
            each *= layer.frame_skip
    return -(-frames // max(each, 1))


def maker_of_id(name):
    import gymnasium

    options = {"disable_env_checker": True}
    env = gymnasium.make(name, **options)
    if "ansi" in (find(env, "metadata") or {}).get("render_modes", []):
        options["render_mode"] = "ansi"
    env.close()
    return lambda: gymnasium.make(name, **options)


def load(path):
    """The module of a file, as part of its package if there is an __init__.py beside it."""
    folder, file = os.path.split(os.path.abspath(path))
    name, package = os.path.splitext(file)[0], ""
    while os.path.exists(os.path.join(folder, "__init__.py")):
        folder, last = os.path.split(folder)
        package = last + "." + package
    sys.path.insert(0, folder)
    if package:
        return importlib.import_module(package + name)
    while name in sys.modules:
        name += "_"  # random.py is not to be what others import as random
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def maker_of_file(path):
    module = load(path)
    if callable(getattr(module, "make", None)):
        return module.make
    own = [c for c in vars(module).values() if inspect.isclass(c) and c.__module__ == module.__name__]
    own = [c for c in own if hasattr(c, "reset") and hasattr(c, "step")]
    if len(own) == 1:
        return own[0]
    names = ", ".join(c.__name__ for c in own) or "none"
    raise Amiss("needed is one class with reset and step, or a function make() that returns one; here: " + names)


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


def count_of(shape):
    count = 1
    for extent in shape:
        count *= extent
    return count


def kind_of(space):
    """The name of a space's class, or of the one of these that it is derived from."""
    names = [c.__name__ for c in type(space).__mro__]
    known = ("Discrete", "MultiDiscrete", "Box", "Dict", "Tuple")
    return next((name for name in names if name in known), names[0])


Discrete = collections.namedtuple("Discrete", "n start")  # a part of MultiDiscrete


def whole(value):
    """An array of bytes, from one of bytes or of other numbers that are some."""
    numbers = numpy.asarray(value)
    if numbers.dtype == numpy.uint8:
        return numbers
    with numpy.errstate(invalid="ignore"):
        converted = numbers.astype(numpy.uint8)
    if not numpy.array_equal(converted, numbers):
        raise Amiss("an observation of other numbers than 0, 1 .. 255, which its dtype, uint8, stands for")
    return converted


class Observations:
    """How an observation becomes numbers: Discrete as one number per value, spaces of several parts one behind another,
    without texts. Where all of them are bytes they stay that, each `unit` of a number: 1 for Discrete, 1 / 255 for
    arrays; else `unit` is 0 and numbers are float32. Pictures, which are of bytes, get their channels last: these are
    the first axis where that is the shortest, as in stacks of frames. `first` is an observation."""

    def __init__(self, space, first):
        self.kind, self.parts = kind_of(space), None
        spaces = getattr(space, "spaces", None)
        if self.kind == "Discrete":
            self.shape, self.start = [int(space.n)], int(getattr(space, "start", 0))
            self.unit = 1.0
            return
        if self.kind == "MultiDiscrete":
            starts = space.nvec * 0 + getattr(space, "start", 0)
            each = map(Discrete, space.nvec.reshape(-1), starts.reshape(-1))
            self.parts = [(i, Observations(one, 0)) for i, one in enumerate(each)]
        elif self.kind in ("Dict", "Tuple"):
            keys = spaces if self.kind == "Dict" else range(len(spaces))
            self.parts = [(k, Observations(spaces[k], first[k])) for k in keys if not isinstance(first[k], str)]
        if self.parts is not None:
            self.shape = [sum(count_of(part.shape) for _, part in self.parts)]
            units = {part.unit for _, part in self.parts}
            self.unit = units.pop() if len(units) == 1 else 0.0
            return
        if isinstance(first, (str, dict)) or self.kind in ("Sequence", "Graph", "OneOf"):
            kind = type(first).__name__ if self.kind == "NoneType" else self.kind
            raise Amiss("observations of the kind %s; wrap the environment so that they are numbers" % kind)
        is_bytes = numpy and str(getattr(first if space is None else space, "dtype", "")) == "uint8"
        self.unit = 1.0 / 255.0 if is_bytes else 0.0
        self.shape = list(numpy.asarray(first).shape) if numpy else shape_of(first)
        self.shape = [int(extent) for extent in self.shape] or [1]
        self.has_channels_first = bool(is_bytes) and len(self.shape) == 3 and self.shape[0] < min(self.shape[1:])
        if self.has_channels_first:
            self.shape.append(self.shape.pop(0))

    def pack(self, value, as_bytes):
        if self.parts is not None:
            if self.kind == "MultiDiscrete":
                value = numpy.reshape(value, -1)
            return b"".join([part.pack(value[key], as_bytes) for key, part in self.parts])
        if self.kind == "Discrete":
            at, count = int(value) - self.start, self.shape[0]
            if not 0 <= at < count:
                last = self.start + count - 1
                raise Amiss("an observation of %d; its space is from %d to %d" % (value, self.start, last))
            numbers = bytearray(count)
            numbers[at] = 1
            return bytes(numbers) if as_bytes else array.array("f", list(numbers)).tobytes()
        try:
            if self.unit > 0.0:
                numbers = whole(value)
                if self.has_channels_first:
                    numbers = numpy.moveaxis(numbers, 0, -1)
                return (numbers if as_bytes else numbers.astype(numpy.float32) * numpy.float32(self.unit)).tobytes()
            if numpy:
                return numpy.asarray(value, dtype=numpy.float32).tobytes()
            numbers = array.array("f")
            flatten(value, numbers)
            return numbers.tobytes()
        except (TypeError, ValueError):
            kind = type(value).__name__
            raise Amiss("an observation that is no array of numbers, but of the kind " + kind) from None


class Actions:
    """How a number, or several in [-1, 1], become an action."""

    def __init__(self, env):
        space = find(env, "action_space")
        self.continuous = kind_of(space) == "Box"
        if self.continuous:
            self.low, self.high = space.low.reshape(-1), space.high.reshape(-1)
            if not (numpy.isfinite(self.low).all() and numpy.isfinite(self.high).all()):
                raise Amiss("actions without bounds; wrap the environment so that they have some")
            self.space, self.count, self.start = space, len(self.low), 0
            self.whole = numpy.issubdtype(space.dtype, numpy.integer)
            self.form = struct.Struct("=%df" % self.count)
            return
        count = getattr(space, "n", None) or find(env, "actions")
        if space is not None and kind_of(space) != "Discrete":
            kind = kind_of(space)
            raise Amiss("actions of the kind %s; must be Discrete or Box: wrap it so that they are" % kind)
        if not count:
            raise Amiss("neither action_space nor actions, the number of actions")
        self.count, self.start = int(count), int(getattr(space, "start", 0))
        self.form = struct.Struct("=i")

    def unpack(self, data):
        for values in self.form.iter_unpack(data):
            if not self.continuous:
                yield values[0] + self.start
                continue
            unit = numpy.clip(numpy.asarray(values, dtype=numpy.float32), -1.0, 1.0)
            value = self.low + (unit + 1.0) * 0.5 * (self.high - self.low)
            value = numpy.clip(numpy.rint(value) if self.whole else value, self.low, self.high)
            yield value.reshape(self.space.shape).astype(self.space.dtype)


def is_reusable(env):
    """Whether a reset leaves nothing of the episode before. Box2D's worlds keep an order of what touches what: equal seeds
    and actions lead elsewhere in one that was used."""
    said = find(env, "reusable")
    if said is not None:
        return bool(said)
    return not any(type(layer).__module__.startswith("gymnasium.envs.box2d.") for layer in layers(env))


def close(env):
    try:
        env.close()
    except Exception:
        pass  # it has no close, or it is broken: nobody needs it any more


def takes_seed(env):
    parameters = inspect.signature(env.reset).parameters.values()
    return any(p.name == "seed" or p.kind == p.VAR_KEYWORD for p in parameters)


class Host:
    """All episodes of this process."""

    def __init__(self, name):
        maker = maker_of_id(name[10:]) if name.startswith("gymnasium:") else maker_of_file(name)
        self.make = lambda: without_limit(maker())[0]
        env, self.limit = without_limit(maker())
        self.live = collections.OrderedDict()  # key -> (environment, number of the last request), oldest first
        self.free = []
        self.asked = 0
        self.reusable = is_reusable(env)
        self.seeded = all(takes_seed(layer) for layer in layers(env))
        self.players = int(find(env, "players") or 1)
        self.actions = Actions(env)
        self.has_mask = self.has_info_mask = False
        value, info = self.reset(env, 0)
        self.observations = Observations(find(env, "observation_space"), value)
        self.has_info_mask = "action_mask" in info
        self.has_mask = self.has_info_mask or any(
            find(env, name) is not None for name in ("action_masks", "legal_actions")
        )
        self.width = 1 if self.observations.unit > 0.0 else 4
        self.count = count_of(self.observations.shape)
        self.shows = find(env, "render_mode") == "ansi" or (
            find(env, "render_mode") is None and find(env, "metadata") is None and find(env, "render") is not None
        )
        self.threshold = getattr(find(env, "spec"), "reward_threshold", None)
        self.names = [str(name) for name in find(env, "action_names") or []]
        self.leave(env)

    def describe(self):
        return {
            "shape": self.observations.shape,
            "unit": self.observations.unit,
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
            if callable(find(env, "seed")):
                env.seed(seed)  # as in old Gym
            result = env.reset()
        if isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], dict):
            return result
        return result, {}

    def mask(self, env, info):
        count, start = self.actions.count, self.actions.start
        flags = info.get("action_mask") if self.has_info_mask else called(find(env, "action_masks"))
        if flags is not None:
            mask = bytes([1 if allowed else 0 for allowed in flags])
        elif self.has_info_mask:
            raise Amiss("no action_mask in info, where that of reset(seed=0) had one")
        else:
            mask = bytearray(count)
            for action in called(find(env, "legal_actions")):
                if not start <= action < start + count:
                    last = start + count - 1
                    raise Amiss("legal_actions with %d; they are from %d to %d" % (action, start, last))
                mask[action - start] = 1
        if len(mask) != count:
            raise Amiss("a mask of %d actions, not %d" % (len(mask), count))
        if 1 not in mask:
            raise Amiss("no legal action, but the episode has not ended")
        return bytes(mask)

    def player(self, env):
        if self.players == 1:
            return 0
        player = int(called(find(env, "to_play")))
        if player not in (0, 1):
            raise Amiss("a to_play of %d; must be 0 or 1" % player)
        return player

    def reply(self, env, value, info, reward=0.0, terminated=False, truncated=False):
        numbers = self.observations.pack(value, self.width == 1)
        if len(numbers) != self.width * self.count:
            raise Amiss("an observation of %d numbers, not %d" % (len(numbers) // self.width, self.count))
        player = 0 if terminated else self.player(env)
        mask = b""
        if self.has_mask:
            mask = bytes(self.actions.count) if terminated else self.mask(env, info)
        elif "action_mask" in info:
            raise Amiss("an action_mask in info, where that of reset(seed=0) had none")
        try:
            reward = float(reward)
        except (TypeError, ValueError):
            raise Amiss("a reward that is no number, but of the kind " + type(reward).__name__) from None
        return OUTCOME.pack(reward, player, bool(terminated), bool(truncated)) + numbers + mask

    def take(self):
        """An environment to reset."""
        if self.live and not self.free:
            key = next(iter(self.live))
            if self.asked - self.live[key][1] > STALE:
                self.leave(self.live.pop(key)[0])
        return self.free.pop() if self.free else self.make()

    def leave(self, env):
        """Its episode is over, or nobody needs it any more."""
        if self.reusable:
            self.free.append(env)
        else:
            close(env)

    def keep(self, key, env, ended):
        if ended:
            self.leave(env)
        else:
            other = self.live.pop(key, None)
            if other:
                self.leave(other[0])  # two of the same episode are one
            self.live[key] = (env, self.asked)

    def step(self, env, action):
        result = env.step(action)
        if not isinstance(result, (tuple, list)) or not 3 <= len(result) <= 5:
            raise Amiss("no tuple of observation, reward, terminated, truncated, info")
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
                self.leave(old[0])
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
    if isinstance(error, Amiss):
        return str(error)
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename != "<string>"]
    place = " (%s:%d)" % (os.path.basename(frames[-1].filename), frames[-1].lineno) if frames else ""
    if isinstance(error, SyntaxError) and error.filename:
        place = " (%s:%d)" % (os.path.basename(error.filename), error.lineno or 0)
        return "%s: %s%s" % (type(error).__name__, error.msg, place)
    text = " ".join(str(error).split())
    return type(error).__name__ + (": " + text if text else "") + place


def end_with(connection):
    """An environment that hangs ends, with all that it has started, a second after cumind, however that ended."""
    closed = select.poll()
    closed.register(connection, 0)
    closed.poll()
    time.sleep(0.7)
    os.killpg(0, signal.SIGKILL)


def stand_alone(connection):
    """cumind has made this process a group of its own, deaf for SIGTERM: when it ends is for cumind to say. What an
    environment starts is of the group, may be ended by SIGTERM as usual, and does not keep the connection open."""

    def hold(how):
        signal.pthread_sigmask(how, [signal.SIGTERM])

    def in_child():
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        hold(signal.SIG_UNBLOCK)
        if connection.fileno() >= 0:
            os.close(connection.detach())

    connection.set_inheritable(False)
    os.dup2(2, 1)  # what an environment prints is no reply
    threading.Thread(target=end_with, args=(connection,), daemon=True).start()
    signal.signal(signal.SIGTERM, lambda *_: None)
    hold(signal.SIG_UNBLOCK)
    os.register_at_fork(
        before=lambda: hold(signal.SIG_BLOCK),
        after_in_parent=lambda: hold(signal.SIG_UNBLOCK),
        after_in_child=in_child,
    )


def end(envs):
    """Closes what is open, as far as that is done before end_with is, and ends all processes of the group."""
    for env in envs:
        close(env)
    os.killpg(0, signal.SIGKILL)


def answer_all(connection, host):
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
        except BaseException as error:
            doing = {RESET: "its reset", SHOW: "its render"}.get(what, "its step")
            doing += " gives " if isinstance(error, Amiss) else " raises "
            status, payload = FAILED, (doing + describe_error(error)).encode("utf-8")[:PICTURE]
        waiting += REPLY.pack(status, len(payload)) + payload
        if more == 0 or len(waiting) > TOGETHER:
            connection.sendall(waiting)
            waiting.clear()


def serve(name):
    connection = socket.socket(fileno=3)
    sys.argv[:] = [name]
    stand_alone(connection)

    def send(status, payload):
        connection.sendall(REPLY.pack(status, len(payload)) + payload)

    try:
        host = Host(name)
        send(DONE, json.dumps(host.describe()).encode("utf-8"))
    except BaseException as error:  # SystemExit, too
        text = describe_error(error)
        if isinstance(error, ModuleNotFoundError):
            text += "; %s is the python3 that was found first, is that the right one?" % sys.executable
        send(FAILED, text.encode("utf-8")[:PICTURE])
        end([])
    try:
        answer_all(connection, host)
    except OSError:
        pass  # cumind was killed
    end([env for env, _ in host.live.values()] + host.free)


serve(sys.argv[1])
