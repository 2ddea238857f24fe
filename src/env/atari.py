"""Atari's games, played by the emulator of the user's package ale_py as docs/spec/atari.md says. cumind puts this text
between frames.py and serve.py. One process plays many games with threads, as the emulator runs without Python's lock,
and leaves raw screens in shared memory, which cumind makes pictures of."""
import collections
import difflib
import os
import queue
import random
import threading

NOOP, NOOPS, HOLD = 0, 30, 4  # an action; most of them after a reset; frames of a decision
ATARI_OUTCOME = struct.Struct("=diBBBx")  # as OUTCOME, where lives stand for the player, and then how many screens follow


def plain_name(game):
    """Of a game as people write it: "MsPacman", "ms_pacman"."""
    return game.replace("_", "").lower()


def rom_of(game):
    """The path of a game's program, which the package brings."""
    from ale_py import roms

    known = {plain_name(rom): rom for rom in roms.get_all_rom_ids()}
    rom = known.get(plain_name(game))
    if rom is None:
        near = difflib.get_close_matches(plain_name(game), known, SOME, 0.0)
        raise Amiss("ale-py has no game %.40s; near it are %s" % (game, ", ".join(known[name] for name in near)))
    return roms.get_rom_path(rom)


class Atari:
    """What all games of this process have in common, from "NAME,KEY=VALUE,..."."""

    def __init__(self, name):
        import ale_py

        game, *given = name.split(",")
        options = arguments_of(given)
        self.size, self.is_gray = options["size"], options["gray"]
        self.sticky, self.is_full = options["sticky"], options["full"]
        self.make, self.rom = ale_py.ALEInterface, rom_of(game)
        self.make.setLoggerMode(ale_py.LoggerMode.Error)
        ale = self.emulator()
        ale.reset_game()
        self.start = ale.cloneSystemState()
        actions = ale.getLegalActionSet() if self.is_full else ale.getMinimalActionSet()
        self.codes = [action.value for action in actions]
        self.names = [action.name.lower() for action in actions]
        if self.codes[0] != NOOP:
            raise Amiss("the first of its actions is %s, not noop" % self.names[0])
        self.shape = [*ale.getScreenDims(), 1 if self.is_gray else 3]
        self.bytes = count_of(self.shape)

    def emulator(self):
        ale = self.make()
        ale.setFloat("repeat_action_probability", 0.0)
        ale.setInt("frame_skip", 1)
        ale.setInt("max_num_frames_per_episode", 0)
        ale.loadROM(self.rom)
        return ale

    def restart(self, ale):
        """As after the first reset of an emulator: what a later one leaves depends, in Demon Attack for one, on what was
        played before. Its screens are no part of its state: two frames draw over what they showed."""
        ale.restoreSystemState(self.start)
        for _ in range(2):
            ale.act(NOOP)
        ale.restoreSystemState(self.start)

    def describe(self):
        return {
            "shape": [self.size, self.size, self.shape[2]],
            "screen": self.shape,
            "unit": 1.0 / 255.0,
            "actions": len(self.codes),
            "players": 1,
            "max_steps": 0,
            "frames": 4,
            "action_names": self.names,
        }


class Game:
    """An emulator that plays one episode after another, one request at a time. `key`: where it stands, while it is
    played; `asked`: its last request."""

    def __init__(self, atari):
        self.atari, self.ale = atari, None
        self.key, self.asked = None, 0

    def reset(self, seed):
        if self.ale is None:
            self.ale = self.atari.emulator()
            self.ale.reset_game()
        self.atari.restart(self.ale)
        self.held, self.chance = NOOP, random.Random(seed).random
        for _ in range(1 + int(NOOPS * self.chance())):
            self.ale.act(NOOP)
            if self.ale.game_over():
                self.atari.restart(self.ale)

    def show(self, screen):
        if self.atari.is_gray:
            self.ale.getScreenGrayscale(screen)
        else:
            self.ale.getScreenRGB(screen)

    def choose(self, code):
        """The action of the next frame, where actions are sticky."""
        if self.chance() >= self.atari.sticky:
            self.held = code
        return self.held

    def decide(self, action, screens):
        """(reward, whether the game is over, how many of the screens show something now)"""
        code, reward = self.atari.codes[action], 0
        act, game_over, is_sticky = self.ale.act, self.ale.game_over, self.atari.sticky > 0.0
        for left in range(HOLD - 1, -1, -1):
            reward += act(self.choose(code) if is_sticky else code)
            if left < 2 and screens is not None:
                self.show(screens[1 - left])
            if game_over():
                return reward, True, 2 if left == 0 else 0
        return reward, False, 2

    def start(self, seed, screens):
        """An outcome after a reset."""
        self.reset(seed)
        self.show(screens[0])
        return ATARI_OUTCOME.pack(0.0, self.ale.lives(), False, False, 1), False

    def step(self, action, screens):
        """(outcome, whether the game is over)"""
        reward, is_over, shown = self.decide(action, screens)
        return ATARI_OUTCOME.pack(reward, 0 if is_over else self.ale.lives(), is_over, False, shown), is_over

    def replay(self, seed, actions, screens):
        """The outcome of the last action."""
        self.reset(seed)
        for action in actions[:-1]:
            self.decide(action, None)
        return self.step(actions[-1], screens)


class Task:
    """A request, and what is done for it by a thread."""

    def __init__(self, what, game, seed, actions, place):
        self.what, self.game, self.seed, self.actions, self.place = what, game, seed, actions, place
        self.outcome, self.is_over, self.error = b"", False, None
        self.done = threading.Lock()
        self.done.acquire()

    def play(self):
        _, screens = self.place
        if self.what == RESET:
            return self.game.start(self.seed, screens)
        if self.what == STEP:
            return self.game.step(self.actions[0], screens)
        return self.game.replay(self.seed, self.actions, screens)

    def run(self):
        try:
            self.outcome, self.is_over = self.play()
        except BaseException as error:
            self.error = error
        self.done.release()


def play_all(tasks):
    """Takes tasks out of a deque, of which other threads do the same, until there are none."""
    while True:
        try:
            task = tasks.popleft()
        except IndexError:
            return
        task.run()


class GameViewer:
    """A game that only draws: one that stands where an episode does is known by its seed and actions."""

    def __init__(self, atari):
        self.game, self.seed, self.actions = Game(atari), None, []
        self.screen = numpy.empty([*atari.shape[:2], 3], numpy.uint8)

    def draw(self, seed, actions):
        if self.seed != seed or actions[: len(self.actions)] != self.actions:
            self.game.reset(seed)
            self.seed, self.actions = seed, []
        for action in actions[len(self.actions) :]:
            self.game.decide(action, None)
        self.actions = actions
        self.game.ale.getScreenRGB(self.screen)
        return FRAME_HEAD.pack(*self.screen.shape[:2]) + self.screen.tobytes()


class Games:
    """All games of this process, and the threads that play them, this one included: as many as there are processors."""

    def __init__(self, name):
        self.atari = Atari(name)
        self.live = collections.OrderedDict()  # key -> game in an episode, that of the oldest request first
        self.free = []
        self.asked, self.places, self.viewer = 0, {}, None
        self.doing = "reset"
        self.messages = queue.SimpleQueue()  # deques of tasks, one for each thread that helps
        self.helpers = len(os.sched_getaffinity(0)) - 1
        for _ in range(self.helpers):
            threading.Thread(target=self.help, daemon=True).start()

    def describe(self):
        return self.atari.describe()

    def help(self):
        while True:
            play_all(self.messages.get())

    def play(self, tasks):
        """The tasks of a message. Threads are woken once for all of them; some may still be under way at the end."""
        waiting = collections.deque(tasks)
        for _ in range(min(self.helpers, len(tasks) - 1)):
            self.messages.put(waiting)
        play_all(waiting)

    def place(self, k):
        """Where the answer to request k of a message goes: (all bytes, the two screens)."""
        if k not in self.places:
            size = ATARI_OUTCOME.size + 2 * self.atari.bytes
            memory = slots.slot(k)[:size] if slots.open() else memoryview(bytearray(size))
            screens = numpy.frombuffer(memory, numpy.uint8, 2 * self.atari.bytes, ATARI_OUTCOME.size)
            self.places[k] = memory, screens.reshape([2, *self.atari.shape[: 2 if self.atari.is_gray else 3]])
        return self.places[k]

    def acquire(self):
        if self.live and not self.free:
            oldest = next(iter(self.live.values()))
            if self.asked - oldest.asked > STALE:
                self.leave(self.live.pop(oldest.key))
        return self.free.pop() if self.free else Game(self.atari)

    def leave(self, game):
        """Its episode is over, or it is not needed any more."""
        game.key = None
        self.free.append(game)

    def keep(self, key, game):
        other = self.live.pop(key, None)
        if other:
            self.leave(other)  # two of the same episode are one
        game.key, game.asked = key, self.asked
        self.live[key] = game

    def begin(self, k, request):
        """The task of request k of a message; None: its episode is not alive."""
        what, key, _, seed, data = request
        self.asked += 1
        game = self.live.pop(key, None)
        if what == STEP and game is None:
            return None
        if what == RESET and game:
            self.leave(game)
        if what != STEP:
            game = self.acquire()
        return Task(what, game, seed, array.array("i", data), self.place(k))

    def finish(self, task, following):
        """(status, payload) of a task that is done."""
        task.done.acquire()
        self.doing = "reset" if task.what == RESET else "step"
        if task.error:
            raise task.error
        if task.is_over:
            self.leave(task.game)
        else:
            self.keep(following, task.game)
        memory, _ = task.place
        memory[: len(task.outcome)] = task.outcome
        return DONE, b"" if slots.size else bytes(memory)

    def serve(self, connection):
        answer_games(connection, self)

    def instances(self):
        return []  # emulators end with the process

    def answer(self, task, request):
        if request[0] == FRAME:
            self.viewer = self.viewer or GameViewer(self.atari)
            return DONE, self.viewer.draw(request[3], array.array("i", request[4]).tolist())
        return self.finish(task, request[2]) if task else (MISSING, b"")


def answer_games(connection, games):
    requests, answers = connection.makefile("rb"), Answers(connection)
    while True:
        message = read_message(requests)
        if not message:
            return  # cumind has ended
        tasks = [games.begin(k, request) if request[0] < SHOW else None for k, request in enumerate(message)]
        games.play([task for task in tasks if task])
        for k, request in enumerate(message):
            status, payload = answer_safely(games, lambda: games.answer(tasks[k], request))
            answers.add(status, payload, k == len(message) - 1)


def read_message(requests):
    """All requests of a message, [what, key, following, seed, data] each; [] at the end."""
    message, more = [], 1
    while more:
        head = requests.read(REQUEST.size)
        if len(head) < REQUEST.size:
            return []
        what, size, more, _, key, following, seed = REQUEST.unpack(head)
        message.append((what, key, following, seed, requests.read(size)))
    return message
