"""Plays environments written in Python for cumind, which starts the text of spaces.py, actions.py, ids.py, frames.py,
atari.py and this one as `python3 -c TEXT NAME MEMORY`.

NAME is "gymnasium:ID", with ",KEY=VALUE" behind it for each argument of make, "atari:NAME,...", or the path of a file with a function
make() or a single class that has reset and step. Requests come over file descriptor 3, one at a time, and are answered
there; src/env/worker.h says how they look, and docs/ADDING_AN_ENVIRONMENT.md what an environment may be. An episode is known by a number, its key, that its seed and
actions give; one that is not alive any more is played again from its seed.
"""
import collections
import importlib.util
import inspect
import json
import mmap
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

RESET, STEP, REPLAY, SHOW, FRAME = 1, 2, 3, 4, 5
DONE, MISSING, FAILED = 0, 1, 2
ASIDE = 5  # after those of spaces.py
REQUEST, REPLY, OUTCOME = struct.Struct("=iiiiQQQ"), struct.Struct("=ii"), struct.Struct("=diBBxx")
STALE = 20000  # requests after which an episode that was not asked for may make space for another
PICTURE = 4000  # bytes
LINE = 300  # characters of what an exception says
TOGETHER = 1 << 16  # bytes of answers that may wait for each other
SLOTS, LARGE = 256, 1024  # requests of a message at most; bytes from which an answer goes to shared memory


def without_limit(env):
    """(environment, steps): an outermost time limit is taken off, as cumind keeps it itself. 0 steps: there is none."""
    limit = limit_of(find(env, "max_steps"))
    while type(env).__name__ == "TimeLimit":
        limit = limit_of(env._max_episode_steps)
        env = env.env
    return env, limit or limit_of(getattr(find(env, "spec"), "max_episode_steps", None)) or steps_of_frames(env)


def limit_of(value):
    return 0 if value is None else whole_number(value, "max_steps")


def names_of(env):
    names = plain(find(env, "action_names"))
    if names is None:
        return []
    if not isinstance(names, (list, tuple)):
        raise Amiss("action_names of %s; must be a list of texts, one for each action" % shown(names))
    return [str(name) for name in names]


def threshold_of(env):
    """The return from which on it counts as solved; None where there is none."""
    try:
        threshold = float(single(getattr(find(env, "spec"), "reward_threshold", None)))
    except (TypeError, ValueError):
        return None
    return threshold if math.isfinite(threshold) else None


def steps_of_frames(env):
    """The most steps that ALE's limit of frames leaves an episode, 0 where there is none."""
    options = getattr(find(env, "spec"), "kwargs", None) or {}
    frames, skip = options.get("max_num_frames_per_episode") or 0, options.get("frameskip", 1)
    each = skip if isinstance(skip, int) else min(skip)  # it may be drawn from a range
    for layer in layers(env):
        if type(layer).__name__ == "AtariPreprocessing":
            each *= layer.frame_skip
    return -(-frames // max(each, 1))


def say_aside(what):
    """What is done from now on next to what cumind waits for; b"": nothing."""
    try:
        connection.sendall(REPLY.pack(ASIDE, len(what)) + what)
    except OSError:
        pass  # cumind has ended


def close(env):
    say_aside(b"its close")
    try:
        env.close()
    except Exception:
        pass  # it has no close, or it is broken: it is not needed any more
    say_aside(b"")


def load(path):
    """The module of a file, as part of its package if there is an __init__.py next to it."""
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


def is_reusable(env):
    """Whether a reset leaves nothing of the episode before. Box2D's worlds keep an order of what touches what: equal
    seeds and actions lead elsewhere in one that was used."""
    said = find(env, "reusable")
    if said is not None:
        return flag_of(said, "reusable")
    return not any(type(layer).__module__.startswith("gymnasium.envs.box2d.") for layer in layers(env))


class Chance:
    """The global generators of `random` and numpy.random as one instance of an environment has them: between its calls
    they stay as it left them, whoever else plays in this process."""

    current = None  # whose generators are the global ones now

    def __init__(self):
        self.random = random.Random(0)
        if numpy and hasattr(numpy.random, "set_bit_generator"):
            self.numbers = numpy.random.MT19937(0)
        elif numpy:
            self.numbers = numpy.random.RandomState(0).get_state()

    def enter(self):
        """From now on this instance is called."""
        before, Chance.current = Chance.current, self
        if numpy and hasattr(numpy.random, "set_bit_generator"):
            numpy.random.set_bit_generator(self.numbers)
        elif numpy and before is not self:
            if before:
                before.numbers = numpy.random.get_state()
            numpy.random.set_state(self.numbers)

    def seed(self, seed):
        """Of the one that is called."""
        self.random.seed(seed)
        if numpy:
            numpy.random.seed(seed)


def share_random():
    """From now on functions of `random` draw from the generator of the instance that is called."""

    def of_current(name):
        return lambda *numbers, **options: getattr(Chance.current.random, name)(*numbers, **options)

    for name in dir(random.Random):
        if not name.startswith("_") and callable(getattr(random, name, None)):
            setattr(random, name, of_current(name))


def takes_seed(env):
    parameters = inspect.signature(env.reset).parameters.values()
    return any(p.name == "seed" or p.kind == p.VAR_KEYWORD for p in parameters)


def flag_of(value, what="an end"):
    flag = single(value)
    if not isinstance(flag, (bool, int, float)):
        raise Amiss("%s of the kind %s; must be True or False" % (what, type(value).__name__))
    return bool(flag)


def check_methods(env):
    for name in ("reset", "step"):
        if hasattr(env, name) and not callable(getattr(env, name)):
            raise Amiss("a %s of %s; must be a method" % (name, shown(getattr(env, name))))


def info_of(value):
    if value is None or hasattr(value, "get"):
        return value or {}
    raise Amiss("an info of the kind %s, no dict; four values are observation, reward, done, info" % type(value).__name__)


class Instance:
    """An environment that plays one episode after another. `key`: where it stands; `asked`: the last request of it;
    `seen`: its observation; `chosen`: numbers of an action that is not complete."""

    def __init__(self, make, seed=0):
        self.key, self.asked, self.chance = None, 0, Chance()
        self.seen, self.chosen = b"", []
        self.chance.enter()
        self.chance.seed(seed)
        env = make()
        if inspect.isclass(env) or not (hasattr(env, "reset") and hasattr(env, "step")):
            raise Amiss("make() returns %.80r, no environment with reset and step" % (env,))
        check_methods(env)
        self.env, self.limit = without_limit(env)
        self.takes_seed = all(takes_seed(layer) for layer in layers(self.env))

    def reset(self, seed):
        """(observation, info)"""
        self.chosen = []
        self.chance.enter()
        self.chance.seed(seed)
        if self.takes_seed:
            result = self.env.reset(seed=seed)
        else:
            if callable(find(self.env, "seed")):
                self.env.seed(seed)  # as in old Gym
            result = self.env.reset()
        if isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], dict):
            return result
        return result, {}

    def step(self, action):
        """(observation, info, reward, terminated, truncated)"""
        self.chance.enter()
        result = self.env.step(action)
        if not isinstance(result, (tuple, list)) or not 3 <= len(result) <= 5:
            raise Amiss("no tuple of observation, reward, terminated, truncated, info")
        if len(result) == 5:
            value, reward, terminated, truncated, info = result
        elif len(result) == 4:
            value, reward, terminated, info = result
            info = info_of(info)
            truncated = bool(info.get("TimeLimit.truncated", False))
            terminated = bool(terminated) and not truncated
        else:
            value, reward, terminated = result
            truncated, info = False, {}
        return value, info_of(info), reward, flag_of(terminated), flag_of(truncated)

    def close(self):
        self.chance.enter()
        close(self.env)


class Host:
    """All episodes of this process."""

    def __init__(self, name):
        share_random()
        Chance().enter()  # for what a file draws when it is loaded
        self.make = maker_of_id(name[10:]) if name.startswith("gymnasium:") else maker_of_file(name)
        self.live = collections.OrderedDict()  # key -> instance in an episode, that of the oldest request first
        self.free = []
        self.asked = 0
        self.doing = "reset"  # what is called
        self.alive = lambda: None  # said between the calls of a long answer
        self.pictures = Chance()  # what render draws changes nothing
        self.viewer = None  # made when pixels are asked for
        first = Instance(self.make)
        env, self.limit = first.env, first.limit
        self.reusable, self.is_fresh = is_reusable(env), False
        self.says_players = find(env, "players") is not None
        self.players = whole_number(find(env, "players"), "players") if self.says_players else 1
        self.actions = actions_of(env)
        value, info = first.reset(0)
        self.masks = Masks(env, self.actions, value, info)
        self.observations = Observations(find(env, "observation_space"), value, self.masks.part)
        self.observations.arrange(flag_of(find(env, "channels_last") or False, "channels_last"))
        self.shape, self.unit = self.observations.shape, self.observations.unit
        self.count = count_of(self.shape)
        if self.actions.turns > 1:
            self.shape, self.unit = self.longer(), 0.0
        self.width = 1 if self.unit > 0.0 else 4
        self.shows = find(env, "render_mode") == "ansi" or (
            find(env, "render_mode") is None and find(env, "metadata") is None and find(env, "render") is not None
        )
        frames = find(env, "frames_to_stack")
        self.frames = 1 if frames is None else whole_number(frames, "frames_to_stack")
        self.threshold = threshold_of(env)
        self.names = self.actions.names(names_of(env))
        angles = find(env, "action_angles")
        self.angles = self.actions.angles(angles) if self.actions.continuous else 0
        self.leave(first)

    def describe(self):
        return {
            "shape": self.shape,
            "unit": self.unit,
            "actions": self.actions.count,
            "continuous": self.actions.continuous,
            "angles": self.angles,
            "players": self.players,
            "max_steps": self.limit * self.actions.turns,
            "frames": self.frames,
            "mask": self.masks.are_there,
            "shows": self.shows,
            "reward_threshold": self.threshold,
            "action_names": self.names,
        }

    def player(self, env):
        to_play = find(env, "to_play")
        if self.players == 1 and (self.says_players or to_play is None):
            return 0
        player = called(to_play)
        if player not in (0, 1):
            raise Amiss("a to_play of %.40r; must be 0 or 1" % (player,))
        if player == 1 and self.players == 1:
            raise Amiss("a to_play of 1, but no number of players: players = 2 in its class makes it a game of two")
        return int(player)

    def longer(self):
        """The shape of observations with what stands behind them."""
        if len(self.shape) != 1:
            text = "a Box of more than %d numbers as action_space, and pictures: wrap it so that there are fewer numbers"
            raise Amiss(text % AT_ONCE)
        return [self.count + len(self.actions.extra([]))]

    def pack(self, instance, reward, player, terminated, truncated, mask):
        extra = array.array("f", self.actions.extra(instance.chosen)).tobytes()
        return OUTCOME.pack(reward, player, terminated, truncated) + instance.seen + extra + mask

    def reply(self, instance, value, info, reward=0.0, terminated=False, truncated=False):
        env = instance.env
        numbers = self.observations.pack(value, self.width == 1)
        if len(numbers) != self.width * self.count:
            raise Amiss("an observation of %d numbers, not %d" % (len(numbers) // self.width, self.count))
        player = 0 if terminated else self.player(env)
        mask = b""
        if self.masks.are_there:
            mask = bytes(self.actions.count) if terminated else self.masks.read(env, value, info)
        elif "action_mask" in info and not self.actions.continuous:
            raise Amiss("an action_mask in info, where that of reset(seed=0) had none")
        try:
            reward = float(single(reward))
        except (TypeError, ValueError):
            text = "a reward that is no number, but of the kind %s: wrap it so that it is one, as a weighted sum of several"
            raise Amiss(text % type(reward).__name__) from None
        instance.seen = numbers
        return self.pack(instance, reward, player, bool(terminated), bool(truncated), mask)

    def acquire(self, seed):
        """An instance to reset; what is made for this episode alone may draw from its seed as it is made."""
        if self.is_fresh or not self.reusable:
            return Instance(self.make, seed)
        if self.live and not self.free:
            oldest = next(iter(self.live.values()))
            if self.asked - oldest.asked > STALE:
                self.leave(self.live.pop(oldest.key))
        return self.free.pop() if self.free else Instance(self.make)

    def leave(self, instance):
        """Its episode is over, or it is not needed any more."""
        if self.reusable and not self.is_fresh:
            self.free.append(instance)
        else:
            instance.close()

    def keep(self, key, instance, ended):
        instance.key, instance.asked = key, self.asked
        if ended:
            self.leave(instance)
        else:
            other = self.live.pop(key, None)
            if other:
                self.leave(other)  # two of the same episode are one
            self.live[key] = instance

    def reset(self, seed):
        """A new episode: (instance, whether it has ended, bytes of what it gives)."""
        self.doing = "reset"
        instance = self.acquire(seed)
        outcome = instance.reset(seed)
        return instance, False, self.reply(instance, *outcome)

    def step(self, instance, action):
        self.doing = "step"
        instance.chosen += action
        if len(instance.chosen) < self.actions.turns * len(action):
            return instance, False, self.pack(instance, 0.0, self.player(instance.env), False, False, b"")
        value, instance.chosen = self.actions.value(instance.chosen), []
        outcome = instance.step(value)
        return instance, any(outcome[3:]), self.reply(instance, *outcome)

    def replay(self, seed, data):
        """An episode that is played to where the actions lead by all the calls that were made in it."""
        played = self.reset(seed)
        for action in self.actions.form.iter_unpack(data):
            played = self.step(played[0], action)
            self.alive()
        return played

    def show(self, key, seed, data):
        """What render returns where an episode stands, or stood last."""
        instance = self.live.get(key) or next((i for i in self.free if i.key == key), None)
        is_there = instance is not None
        if not is_there:
            instance, ended, _ = self.replay(seed, data)
        self.doing = "render"
        self.pictures.enter()
        text = instance.env.render()
        if not is_there:
            self.keep(key, instance, ended)
        return text.encode("utf-8", "replace")[:PICTURE] if isinstance(text, str) else b""

    def frame(self, seed, data):
        """What draws an episode as pixels where it stands, b"" where nothing does."""
        self.viewer = self.viewer or Viewer(self)
        self.pictures.enter()
        return self.viewer.draw(seed, data)

    def answer(self, what, key, following, seed, data):
        self.asked += 1
        if what == FRAME:
            return DONE, self.frame(seed, data)
        if what == SHOW:
            return DONE, self.show(key, seed, data)
        if what == RESET:
            old = self.live.pop(key, None)
            if old:
                self.leave(old)
            instance, ended, payload = self.reset(seed)
        elif what == STEP:
            instance = self.live.pop(key, None)
            if instance is None:
                return MISSING, b""
            instance, ended, payload = self.step(instance, next(self.actions.form.iter_unpack(data)))
        else:
            instance, ended, payload = self.replay(seed, data)
        self.keep(following, instance, ended)
        return DONE, payload

    def serve(self, connection):
        answer_all(connection, self)

    def instances(self):
        return [*self.live.values(), *self.free]


def is_own(frame):
    """Whether it is no code of Python's or of a package that is installed."""
    folders = frame.filename.split(os.sep)
    is_installed = "site-packages" in folders or "dist-packages" in folders
    return not (is_installed or frame.filename.startswith((os.path.dirname(os.__file__) + os.sep, "<")))


def describe_error(error):
    """"ZeroDivisionError: division by zero (grid.py:17)", where the last line of the user's own stands, or else the last
    one that is not of this file."""
    if isinstance(error, Amiss):
        return str(error)
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename != "<string>"]
    frames = [f for f in frames if is_own(f)] or frames
    place = " (%s:%d)" % (os.path.basename(frames[-1].filename), frames[-1].lineno) if frames else ""
    if isinstance(error, SyntaxError) and error.filename:
        place = " (%s:%d)" % (os.path.basename(error.filename), error.lineno or 0)
        return "%s: %s%s" % (type(error).__name__, error.msg, place)
    try:
        text = " ".join(str(error).split())
    except Exception:
        text = "(no text)"
    text = text if len(text) <= LINE else text[:LINE] + " ..."
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
    if slots.file is not None:
        os.set_inheritable(slots.file, False)
    os.dup2(2, 1)  # what an environment prints is no reply
    sys.stdout.reconfigure(line_buffering=True)
    threading.Thread(target=end_with, args=(connection,), daemon=True).start()
    signal.signal(signal.SIGTERM, lambda *_: None)
    hold(signal.SIG_UNBLOCK)
    os.register_at_fork(
        before=lambda: hold(signal.SIG_BLOCK),
        after_in_parent=lambda: hold(signal.SIG_UNBLOCK),
        after_in_child=in_child,
    )


def end(instances):
    """Closes what is open, as far as that is done before end_with is, and ends all processes of the group."""
    for instance in instances:
        instance.close()
    os.killpg(0, signal.SIGKILL)


def told_first():
    """What is to be said, as replies in front of the next answer."""
    texts = [(level, text.encode("utf-8", "replace")[:PICTURE]) for level, text in notes]
    notes.clear()
    return b"".join([REPLY.pack(level, len(text)) + text for level, text in texts])


class Answers:
    """What is sent to cumind: together, but not later than a tenth of a second after the last ones, so that a call that
    does not come back shows, and calls that together take long are not taken for one."""

    def __init__(self, connection):
        self.connection, self.waiting, self.sent = connection, bytearray(), time.monotonic()

    def is_late(self):
        return time.monotonic() - self.sent > 0.1

    def send(self):
        self.connection.sendall(self.waiting)
        self.waiting.clear()
        self.sent = time.monotonic()

    def add(self, status, payload, is_last):
        self.waiting += told_first() + REPLY.pack(status, len(payload)) + payload
        if is_last or len(self.waiting) > TOGETHER or self.is_late():
            self.send()

    def alive(self):
        if self.is_late():
            self.waiting += REPLY.pack(INFO, 0)
            self.send()


class Slots:
    """Memory that is shared with cumind, which gives it its size before it asks for anything: the answer to request k of
    a message goes to slot k. `file`: its descriptor, None where there is none."""

    def __init__(self, file):
        self.file, self.memory, self.size = file, None, 0

    def open(self):
        """Whether there is some, of which a slot has self.size bytes."""
        if self.file is not None and self.memory is None:
            whole = os.fstat(self.file).st_size
            self.memory, self.size = memoryview(mmap.mmap(self.file, whole) if whole else b""), whole // SLOTS
        return self.size > 0

    def slot(self, k):
        return self.memory[k * self.size : (k + 1) * self.size]

    def put(self, k, payload):
        """What is left to be sent."""
        if len(payload) <= LARGE or not self.open() or len(payload) > self.size:
            return payload
        self.slot(k)[: len(payload)] = payload
        return b""


def answer_safely(host, answer):
    """(status, payload), also where that raises."""
    try:
        return answer()
    except BaseException as error:
        doing = "its %s %s " % (host.doing, "gives" if isinstance(error, Amiss) else "raises")
        return FAILED, (doing + describe_error(error)).encode("utf-8", "replace")[:PICTURE]


def answer_all(connection, host):
    requests = connection.makefile("rb")
    answers = Answers(connection)
    host.alive = answers.alive
    k = 0  # number of a request in its message
    while True:
        head = requests.read(REQUEST.size)
        if len(head) < REQUEST.size:
            return  # cumind has ended
        what, size, more, host.is_fresh, key, following, seed = REQUEST.unpack(head)
        data = requests.read(size)
        status, payload = answer_safely(host, lambda: host.answer(what, key, following, seed, data))
        if what in (RESET, STEP, REPLAY) and status == DONE:
            payload = slots.put(k, payload)
        answers.add(status, payload, more == 0)
        k = k + 1 if more else 0


def serve(name):
    sys.argv[:] = [name]
    stand_alone(connection)

    def send(status, payload):
        connection.sendall(told_first() + REPLY.pack(status, len(payload)) + payload)

    try:
        host = Games(name[6:]) if name.startswith("atari:") else Host(name)
        send(DONE, json.dumps(host.describe()).encode("utf-8"))
    except BaseException as error:  # SystemExit, too
        text = describe_error(error)
        if isinstance(error, ModuleNotFoundError):
            name = error.name or ""
            if name and (os.path.exists(name) or os.path.exists(name + ".py")):
                text += "; that of this folder is imported with PYTHONPATH=%s" % os.getcwd()
            else:
                text += "; the python3 that was found first is %s" % sys.executable
        send(FAILED, text.encode("utf-8", "replace")[:PICTURE])
        end([])
    try:
        host.serve(connection)
    except OSError:
        pass  # cumind was killed
    end(host.instances())


connection = socket.socket(fileno=3)
slots = Slots(int(sys.argv[2]) if len(sys.argv) > 2 else None)
serve(sys.argv[1])
