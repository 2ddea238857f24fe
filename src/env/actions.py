"""What actions and masks of an environment are as numbers. cumind puts this text between spaces.py and ids.py.

An action is a number from 0 on, or numbers in [-1, 1]. A mask is a byte of 0 or 1 for each action. `turns` of them make
one of the environment: where it has more numbers than are chosen at once.
"""
import itertools
import struct

MOST_ACTIONS = 65536
MOST_NAMES = 1024
MOST_NUMBERS, AT_ONCE = 32, 24  # of a Box
NAME = 15  # characters of an action's name
SHOWN = 8  # parts of an action that a line names


class Whole:
    """Discrete: a number of `count` from `start` on."""

    def __init__(self, count, start=0):
        self.counts, self.starts = [int(count)], [int(start)]

    def value(self, digits):
        return self.starts[0] + next(digits)

    def digits(self, action):
        return [whole_number(action, "legal_actions with a number") - self.starts[0]]

    def flags(self, mask):
        return rows_of(mask, self.counts)


class Wholes:
    """MultiDiscrete, or MultiBinary, as an array of numbers."""

    def __init__(self, space):
        is_binary = kind_of(space) == "MultiBinary"
        self.shape, self.type = tuple(space.shape), space.dtype
        counts = numpy.full(self.shape, 2) if is_binary else numpy.asarray(space.nvec)
        starts = counts * 0 + (0 if is_binary else getattr(space, "start", 0))
        self.counts, self.starts = (array.reshape(-1).tolist() for array in (counts, starts))
        self.is_binary = is_binary

    def value(self, digits):
        numbers = [start + next(digits) for start in self.starts]
        return numpy.array(numbers, self.type).reshape(self.shape)

    def digits(self, action):
        numbers = listed(action, "legal_actions with an action")
        if len(numbers) != len(self.counts):
            raise Amiss("legal_actions with an action of %d numbers, not %d" % (len(numbers), len(self.counts)))
        return [whole_number(n, "legal_actions with a number") - start for n, start in zip(numbers, self.starts)]

    def flags(self, mask):
        """As sample(mask=...) takes them: a row of flags for each number; 0, 1, or 2 for either, for each of MultiBinary."""
        flags = [] if mask is None else listed(mask, "a mask")
        if self.is_binary and len(flags) == len(self.counts):
            return [[flag != 1, flag != 0] for flag in flags]
        return rows_of(mask, self.counts)


class Several:
    """Dict, or Tuple, of some of these."""

    def __init__(self, space):
        self.is_dict = kind_of(space) == "Dict"
        keys = space.spaces if self.is_dict else range(len(space.spaces))
        self.parts = [(key, part_of_space(space.spaces[key])) for key in keys]
        self.counts = [count for _, part in self.parts for count in part.counts]
        self.starts = [start for _, part in self.parts for start in part.starts]

    def value(self, digits):
        values = [(key, part.value(digits)) for key, part in self.parts]
        return dict(values) if self.is_dict else tuple(value for _, value in values)

    def at(self, value, key, what):
        try:
            return value[key]
        except (TypeError, LookupError):
            raise Amiss("%s without the part %r of its action_space" % (what, key)) from None

    def digits(self, action):
        return [n for key, part in self.parts for n in part.digits(self.at(action, key, "legal_actions with an action"))]

    def flags(self, mask):
        if mask is None or is_flat(mask):
            return rows_of(mask, self.counts)
        return [row for key, part in self.parts for row in part.flags(self.at(mask, key, "a mask"))]


class Bins:
    """Box with others: some values of each number, all of them where it has few whole ones."""

    def __init__(self, space):
        self.space, (self.low, self.high) = space, bounded(space)
        bins = {1: 11, 2: 5}.get(len(self.low), 3)
        self.counts = [bins] * len(self.low)
        if is_whole(space):
            self.counts = [min(bins, int(high - low) + 1) for low, high in zip(self.low, self.high)]
        self.starts = [0] * len(self.low)

    def value(self, digits):
        places = numpy.array([next(digits) / max(count - 1, 1) for count in self.counts])
        return as_box(self.space, self.low + places * (self.high - self.low))

    def digits(self, action):
        raise Amiss("legal_actions of actions with a Box; give action_masks()")

    def flags(self, mask):
        return rows_of(mask, self.counts)


def bounded(space):
    """The bounds of a Box's numbers, one behind another."""
    low, high = (numpy.asarray(bound, dtype=float).reshape(-1) for bound in (space.low, space.high))
    if not (numpy.isfinite(low).all() and numpy.isfinite(high).all()):
        raise Amiss("actions without bounds; wrap the environment so that they have some")
    return low, high


def is_whole(space):
    return numpy.issubdtype(space.dtype, numpy.integer)


def as_box(space, numbers):
    """An action of a Box, of its numbers one behind another."""
    low, high = space.low.reshape(-1), space.high.reshape(-1)
    numbers = numpy.clip(numpy.rint(numbers) if is_whole(space) else numbers, low, high)
    return numbers.reshape(space.shape).astype(space.dtype)


def is_number(value):
    return value is not None and not isinstance(value, (dict, list, tuple)) and getattr(value, "ndim", 0) == 0


def is_flat(mask):
    return not isinstance(mask, dict) and all(map(is_number, mask))


def flags_of(mask):
    flags = [1 if flag == 1 else 0 if flag == 0 else 2 for flag in listed(mask, "a mask")]
    if 2 in flags:
        raise Amiss("a mask with another number than 0 and 1; wanted is one of them for each action")
    return flags


def rows_of(mask, counts):
    """Flags for each of `counts` values of each part, of a mask in which they lie one behind another; None: all are 1."""
    flags = [1] * sum(counts) if mask is None else flags_of(mask)
    if len(flags) != sum(counts):
        raise Amiss("a mask of %d flags, where the parts of an action have %d" % (len(flags), sum(counts)))
    rest = iter(flags)
    return [[*itertools.islice(rest, count)] for count in counts]


def part_of_space(space):
    kind = kind_of(space)
    if kind == "Discrete":
        return Whole(space.n, getattr(space, "start", 0))
    if kind in ("MultiDiscrete", "MultiBinary"):
        return Wholes(space)
    if kind in ("Dict", "Tuple"):
        return Several(space)
    if kind == "Box":
        return Bins(space)
    text = "actions of the kind %s; must be Box, Discrete, MultiDiscrete, MultiBinary, or Dict or Tuple of these"
    raise Amiss(text % kind + ": wrap it so that they are")


class Numbers:
    """How numbers in [-1, 1] become an action of a Box."""

    continuous = True

    def __init__(self, space):
        size = len(bounded(space)[0])
        if size > MOST_NUMBERS:
            text = "a Box of %d numbers as action_space; at most %d are possible: wrap it so that there are fewer"
            raise Amiss(text % (size, MOST_NUMBERS))
        self.turns = -(-size // AT_ONCE)
        self.space, self.count = space, -(-size // self.turns)
        self.low, self.high = space.low.reshape(-1), space.high.reshape(-1)
        self.form = struct.Struct("=%df" % self.count)
        if self.turns > 1:
            text = "its actions of %d numbers are chosen in %d steps of %d, those chosen first stand behind the observation"
            tell(INFO, text % (size, self.turns, self.count))

    def value(self, numbers):
        unit = numpy.clip(numpy.asarray(numbers[: len(self.low)], dtype=numpy.float32), -1.0, 1.0)
        return as_box(self.space, self.low + (unit + 1.0) * 0.5 * (self.high - self.low))

    def angles(self, given):
        """A bit for each number that is an angle; given: which these are, or None."""
        most = len(self.low) if self.turns == 1 else 0
        numbers = [] if given is None else [whole_number(d, "action_angles") for d in listed(given, "action_angles")]
        if any(not 0 <= d < most for d in numbers):
            raise Amiss("action_angles of %s; must be places of numbers of an action that has at most %d" % (numbers, AT_ONCE))
        return sum(1 << d for d in set(numbers))

    def extra(self, chosen):
        """Of the turns before this one: their numbers, and how many they are."""
        if self.turns == 1:
            return []
        missing = (self.turns - 1) * self.count - len(chosen)
        return chosen + [0.0] * missing + [len(chosen) / self.count]

    def names(self, given):
        return given


class Choices:
    """How a number from 0 on becomes an action; of several parts each combination has one, the last part fastest."""

    continuous, turns, form = False, 1, struct.Struct("=i")

    def __init__(self, whole, kind):
        self.whole, self.counts = whole, whole.counts
        self.count = count_of(self.counts)
        self.is_one = isinstance(whole, Whole)
        extents = " x ".join(map(str, self.counts[:SHOWN])) + (" x ..." if len(self.counts) > SHOWN else "")
        if self.count < 1 or not self.counts:
            raise Amiss("no action: action_space has none")
        if self.count > MOST_ACTIONS:
            text = "%s actions; at most %d are possible: wrap it so that there are fewer" % (self.count, MOST_ACTIONS)
            raise Amiss(text if self.is_one else "%s of %s, " % (kind, extents) + text)
        if not self.is_one:
            text = "its actions, %s of %s, are read as %d numbers, one for each combination, the last part fastest"
            tell(INFO, text % (kind, extents, self.count))

    def value(self, numbers):
        number, digits = numbers[0], []
        for count in reversed(self.counts):
            number, digit = divmod(number, count)
            digits.append(digit)
        return self.whole.value(reversed(digits))

    def extra(self, chosen):
        return []

    def number_of(self, action):
        """Of an action in legal_actions, which of several parts may be its number, too."""
        whole = Whole(self.count) if is_number(action) and not self.is_one else self.whole
        number = 0
        for digit, count, start in zip(whole.digits(action), whole.counts, whole.starts):
            if not 0 <= digit < count:
                text = "legal_actions with %d; they are from %d to %d"
                raise Amiss(text % (start + digit, start, start + count - 1))
            number = number * count + digit
        return number

    def mask_of(self, mask):
        """A flag for each number, of flags for each part or for each number."""
        if self.is_one or self.is_product(mask):
            return bytes(flags_of(mask))
        flags = b"\1"
        for row in self.whole.flags(mask):
            one, none = bytes(row), bytes(len(row))
            flags = b"".join([one if flag else none for flag in flags])
        return flags

    def is_product(self, mask):
        if mask is None or isinstance(mask, dict):
            return False
        count = len(listed(mask, "a mask"))
        return count == self.count and count != sum(self.counts)

    def names(self, given):
        """Names of all numbers: those of the environment, or of several parts what each of them is, "2/0/1"."""
        if given or self.is_one or self.count > MOST_NAMES:
            return given
        parts = [[str(start + k) for k in range(count)] for count, start in zip(self.counts, self.whole.starts)]
        for between in ("/", ""):
            names = [between.join(name) for name in itertools.product(*parts)]
            if len(set(names)) == len(names) and max(map(len, names)) <= NAME:
                return names
        return []


def actions_of(env):
    space = find(env, "action_space")
    if kind_of(space) == "Box":
        return Numbers(space)
    if space is not None:
        return Choices(part_of_space(space), kind_of(space))
    given = find(env, "actions")
    count = 0 if given is None else whole_number(given, "actions")
    if count == 0:
        raise Amiss("neither action_space nor actions, the number of actions")
    return Choices(Whole(count), "actions")


def are_flags(numbers, count):
    """[False, True, True], or [0, 1, 1]: a 0 or 1 for each action which as numbers of actions would come twice."""
    if any(type(number).__name__ in ("bool", "bool_") for number in numbers):
        return True
    return len(numbers) == count and set(numbers) <= {0, 1} and len(set(numbers)) < count


def looks_like_mask(name):
    """legal_moves, valid_action_mask, ..."""
    name = str(name).lower()
    is_of_actions = "action" in name or "move" in name
    says_which = any(word in name for word in ("mask", "legal", "valid", "avail", "possible"))
    return is_of_actions and says_which and not name.startswith("_") and "illegal" not in name and "invalid" not in name


class Masks:
    """Where the mask of legal actions is found: a part action_mask of observations, with a number for each action; then
    action_mask in info; then action_masks, flags; then legal_actions, numbers of actions or flags. `part` is the name
    of that part, None: there is none; `are_there`: whether there is a mask at all."""

    def __init__(self, env, actions, value, info):
        self.actions, self.count = actions, actions.count
        self.part = self.method = None
        self.in_info = "action_mask" in info
        self.are_there = False
        if actions.continuous:
            return
        if isinstance(value, dict) and "action_mask" in value:
            self.part = "action_mask"
            tell(INFO, "action_mask of its observations is read as the mask of legal actions, and is no input")
        elif not self.in_info:
            names = ("action_masks", "legal_actions")
            self.method = next((name for name in names if find(env, name) is not None), None)
        self.are_there = bool(self.part or self.in_info or self.method)
        if not self.are_there:
            self.tell_unread([*(value if isinstance(value, dict) else ()), *info, *(n for e in layers(env) for n in dir(e))])
        if self.method == "legal_actions":
            self.has_flags = are_flags(self.legal_of(env), self.count)

    def legal_of(self, env):
        legal = called(find(env, "legal_actions"))
        if self.actions.is_one or is_number(legal) or is_flat(legal):
            return listed(legal, "legal_actions")
        return [self.actions.number_of(action) for action in legal]

    def tell_unread(self, names):
        text = "its %s is not read: where not all actions are legal, call the mask action_mask, in its observation or info"
        for name in [name for name in names if looks_like_mask(name)][:1]:
            tell(INFO, text % name + ", or give it a method action_masks()")

    def from_legal(self, numbers):
        if not self.has_flags and are_flags(numbers, self.count):
            text = "legal_actions of %s, flags, where those of reset(seed=0) were numbers of actions; give bools"
            raise Amiss(text % numbers)
        if not self.has_flags and self.count == 2 and numbers == [1, 0]:
            raise Amiss("legal_actions of [1, 0], numbers or flags; give bools, or numbers in their order")
        if self.has_flags:
            return bytes(flags_of(numbers))
        legal = {self.actions.number_of(number) for number in numbers}
        return bytes([number in legal for number in range(self.count)])

    def found(self, env, value, info):
        if self.method == "legal_actions":
            return self.from_legal(self.legal_of(env))
        if self.method:
            return self.actions.mask_of(called(find(env, self.method)))
        where, name = (value, "its observation") if self.part else (info, "info")
        if "action_mask" not in where:
            raise Amiss("no action_mask in %s, where that of reset(seed=0) had one" % name)
        return self.actions.mask_of(where["action_mask"])

    def read(self, env, value, info):
        """bytes[actions] of 0 and 1, at least one of them 1."""
        mask = self.found(env, value, info)
        if len(mask) != self.count:
            raise Amiss("a mask of %d actions, not %d" % (len(mask), self.count))
        if 1 not in mask:
            raise Amiss("no legal action, but the episode has not ended")
        return mask
