"""What observations of an environment are as numbers. cumind puts this text in front of actions.py, ids.py, frames.py and serve.py.

An observation is float32, or bytes that each stand for `unit`, of up to three dimensions: [numbers], or
[height, width, channels] of a picture.
"""
import sys

while "" in sys.path:
    sys.path.remove("")  # the folder that cumind was started in: nothing there is imported

import array
import collections
import math

try:
    import numpy
except ImportError:
    numpy = None  # environments of plain lists need none

MERGED = 1 << 24  # from here on float32 does not tell whole numbers apart
BOUNDED = 65535  # bounds beyond this are those of a type, not of numbers
PICTURE_SIDE, PLANES = 10, 32  # least height and width of a picture, most numbers besides it that become its channels
MOST_LISTED = 65536  # numbers that are no picture
INFO, WARNING = 3, 4
told, notes = set(), []  # texts that were said, (level, text) to be said with the next answer


def tell(level, text):
    """Says something of the environment, once."""
    if text not in told:
        told.add(text)
        notes.append((level, text))


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
    """The name of a space's class, or of the one of these that it is derived from, or that has what it has."""
    names = [c.__name__ for c in type(space).__mro__]
    known = ("Discrete", "MultiDiscrete", "MultiBinary", "Box", "Dict", "Tuple")
    alike = (("nvec", "MultiDiscrete"), ("spaces", "Dict"), ("n", "Discrete"), ("high", "Box"))
    like = next((name for has, name in alike if hasattr(space, has) and names[0].endswith("Space")), names[0])
    return next((name for name in names if name in known), like)


Discrete = collections.namedtuple("Discrete", "n start")  # a part of MultiDiscrete


def bounds_of(space, first):
    """(type, least, most) of whole numbers with bounds, each an array or a number; None where they are others."""
    try:
        kind = numpy.dtype(getattr(first if space is None else space, "dtype", None))
    except (AttributeError, TypeError):
        return None  # there is no numpy, or it does not know the type
    if kind.kind == "b" or kind_of(space) == "MultiBinary":
        return numpy.dtype(numpy.uint8), 0, 1
    if kind.kind not in "iu":
        return None
    low, high = getattr(space, "low", None), getattr(space, "high", None)
    if low is None or high is None:
        return (kind, 0, 255) if kind == numpy.uint8 else None
    return kind, numpy.asarray(low, dtype=float), numpy.asarray(high, dtype=float)


def single(value):
    """A number of Python's, of an array or a tensor of one."""
    return value.item() if hasattr(value, "item") and getattr(value, "size", 1) == 1 else value


def shown(value):
    """Of what is not what it should be; what can be called says where it lies in memory."""
    return "the kind " + type(value).__name__ if callable(value) else "%.40r" % (value,)


def whole_number(value, what):
    try:
        number = single(value)
        if int(number) == number:
            return int(number)
    except (TypeError, ValueError, OverflowError):
        pass
    raise Amiss("%s of %s; must be a whole number" % (what, shown(value)))


def plain(value):
    """Lists of Python's, of arrays too."""
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return value.tolist() if hasattr(value, "tolist") else value


def listed(numbers, what):
    """A list of numbers or flags, one behind another; NumPy's become Python's."""
    result = []
    try:
        flatten(plain(numbers if hasattr(numbers, "tolist") else list(numbers)), result)
    except TypeError:
        raise Amiss("%s of the kind %s, which is no list" % (what, type(numbers).__name__)) from None
    return result


def part_of(value, key):
    """A part of an observation of several."""
    try:
        return value[key]
    except (TypeError, LookupError):
        raise Amiss("an observation without the part %r of its space" % (key,)) from None


def no_numbers(value):
    return Amiss("an observation that is no array of numbers, but of the kind " + type(value).__name__)


def shape_given(value):
    """The shape of an observation as it is given."""
    try:
        return [int(extent) for extent in (numpy.asarray(value).shape if numpy else shape_of(value))]
    except (TypeError, ValueError):
        raise no_numbers(value) from None


def whole(value):
    """An array of bytes, from one of bytes or of other numbers that are some."""
    numbers = numpy.asarray(value)
    if numbers.dtype == numpy.uint8:
        return numbers
    with numpy.errstate(invalid="ignore"):
        converted = numbers.astype(numpy.uint8)
    if not numpy.array_equal(converted, numbers):
        raise Amiss("an observation of other numbers than 0, 1 .. 255, which its space stands for")
    return converted


def check_large(numbers, result):
    """Numbers in order, some of which are 2^24 or more or none at all, as they were given and as float32."""
    for i, number in enumerate(result):
        if not math.isfinite(number):
            text = "an observation whose number %d is %g; must be finite: bound or replace it in the environment"
            raise Amiss(text % (i, numbers[i]))
        if abs(number) >= MERGED and str(getattr(numbers, "dtype", "")) not in ("float32", "float16"):
            tell(WARNING, "observations have numbers of 2^24 and more, where float32 merges whole ones: scale or split them")
            return


class Observations:
    """How an observation becomes numbers: Discrete as one number per value, 0 or 1; whole numbers with bounds divided by
    these; spaces of several parts one behind another, without texts and without the part `mask`, or where these are
    pictures of one size, and few numbers, as the channels of one picture. Where all of them are
    bytes they stay that, each `unit` of a number: 1 for Discrete and flags, 1 / 255 for most pictures; else `unit` is 0
    and numbers are float32, of which bytes of any value that are no picture are log2(1 + byte) / 8: most are small, and
    would be next to nothing against the others. `shape` is a list of 1 to 3 extents, `first` an observation."""

    def __init__(self, space, first, mask=None):
        if callable(space) or isinstance(space, (str, int, float)):
            raise Amiss("an observation_space of %s; must be a space" % shown(space))
        self.kind, self.parts, self.scale, self.given = kind_of(space), None, None, []
        self.is_picture_of_parts = False
        self.unit, self.has_channels_first, self.is_bent = 0.0, False, False
        spaces = getattr(space, "spaces", None)
        if space is None and isinstance(first, dict):
            self.kind, spaces = "Dict", dict.fromkeys(first)
        if self.kind == "Discrete":
            self.shape, self.start = [int(space.n)], int(getattr(space, "start", 0))
            self.unit = 1.0
        elif self.kind == "MultiDiscrete":
            starts = space.nvec * 0 + getattr(space, "start", 0)
            each = map(Discrete, space.nvec.reshape(-1), starts.reshape(-1))
            self.join([(i, Observations(one, 0)) for i, one in enumerate(each)])
        elif self.kind in ("Dict", "Tuple"):
            keys = spaces if self.kind == "Dict" else range(len(spaces))
            keys = [k for k in keys if k != mask and not isinstance(part_of(first, k), str)]
            self.join([(k, Observations(spaces[k], first[k])) for k in keys])
        elif isinstance(first, (str, dict)) or self.kind in ("Sequence", "Graph", "OneOf"):
            kind = type(first).__name__ if self.kind == "NoneType" else self.kind
            raise Amiss("observations of the kind %s; wrap the environment so that they are numbers" % kind)
        else:
            self.given = shape_given(first)
            self.shape = self.given or [1]
            self.measure(bounds_of(space, first))
        if count_of(self.shape) == 0:
            raise Amiss("observations without a number" + ("; its action_mask is none of them" if mask else ""))

    def join(self, parts):
        """One part keeps its shape, several are one row of numbers."""
        self.parts = parts
        self.shape = parts[0][1].shape if len(parts) == 1 else [sum(count_of(part.shape) for _, part in parts)]
        units = {part.unit for _, part in parts}
        self.unit = units.pop() if len(units) == 1 else 0.0
        for _, part in parts:
            part.is_bent = self.unit == 0.0 and part.is_any_byte()

    def is_any_byte(self):
        """Whether numbers are bytes without bounds of their own, and no picture."""
        return self.unit == 1.0 / 255.0 and self.parts is None and not self.is_picture()

    def measure(self, bounds):
        """What whole numbers are divided by."""
        if bounds is None:
            return
        kind, low, high = bounds
        most = numpy.maximum(numpy.abs(low), numpy.abs(high)).reshape(-1)
        most = numpy.where(most > 0, most, 1)
        if most.size not in (1, count_of(self.shape)):
            raise Amiss("an observation of %d numbers; its space has %d" % (count_of(self.shape), most.size))
        if most.max() > BOUNDED:
            return
        if kind.itemsize == 1 and numpy.min(low) >= 0 and most.min() == most.max():
            self.unit = 1.0 / float(most.max())
        else:
            self.scale = (1.0 / numpy.broadcast_to(most, count_of(self.shape))).astype(numpy.float32)

    def arrange(self, is_last):
        """Of a whole: a picture from [channels, height, width], if the first of these is the least and is_last, what its
        class says of its channels, is false; several that are parts, and few numbers next to them, become one."""
        if self.parts is None:
            if not is_last:
                self.put_channels_last()
        elif len(self.parts) == 1:
            self.parts[0][1].arrange(is_last)
            self.shape = self.parts[0][1].shape
        elif numpy:
            self.join_pictures(is_last)
        if len(self.shape) == 1 and self.shape[0] > MOST_LISTED:
            text = "observations of %d numbers; at most %d are possible where they are no picture: wrap it so that there "
            raise Amiss((text + "are fewer, or only a picture") % (self.shape[0], MOST_LISTED))

    def is_picture(self):
        return len(self.shape) in (2, 3) and sorted(self.shape)[-2] >= PICTURE_SIDE

    def join_pictures(self, is_last):
        pictures = [part for _, part in self.parts if part.is_picture()]
        numbers = sum(count_of(part.shape) for _, part in self.parts if not part.is_picture())
        for part in pictures:
            part.arrange(is_last)
        if len({tuple(part.shape[:2]) for part in pictures}) != 1 or numbers > PLANES:
            return
        channels = [part.shape[2] if len(part.shape) == 3 else 1 for part in pictures]
        self.is_picture_of_parts, self.shape = True, [*pictures[0].shape[:2], sum(channels) + numbers]
        text = "its observations, %s, are read as one picture of %d x %d x %d, with numbers as channels"
        tell(INFO, text % (" and ".join(str(key) for key, _ in self.parts), *self.shape))

    def pack_pictures(self, parts, as_bytes):
        channels = []
        for (_, part), given in zip(self.parts, parts):
            numbers = numpy.frombuffer(given, numpy.uint8 if as_bytes else numpy.float32)
            form = [*self.shape[:2], -1] if part.is_picture() else [1, 1, -1]
            numbers = numbers.reshape(form)
            channels.append(numpy.broadcast_to(numbers, [*self.shape[:2], numbers.shape[2]]))
        return numpy.concatenate(channels, axis=2).tobytes()

    def put_channels_last(self):
        if len(self.shape) == 3 and self.shape[0] < min(self.shape[1:]):
            before = self.shape
            self.has_channels_first, self.shape = True, before[1:] + before[:1]
            text = "its observations of %d x %d x %d are read as channels first, and turned to %d x %d x %d; "
            text += "channels_last = True in its class if they are not"
            tell(INFO, text % tuple(before + self.shape))

    def ordered(self, numbers):
        if not self.has_channels_first:
            return numbers
        if numpy:
            return numpy.moveaxis(numbers, 0, -1)
        return [list(zip(*rows)) for rows in zip(*numbers)]

    def pack_value(self, value, as_bytes):
        value = whole_number(value, "an observation")
        at, count = value - self.start, self.shape[0]
        if not 0 <= at < count:
            last = self.start + count - 1
            raise Amiss("an observation of %d; its space is from %d to %d" % (value, self.start, last))
        numbers = bytearray(count)
        numbers[at] = 1
        return bytes(numbers) if as_bytes else array.array("f", list(numbers)).tobytes()

    def check_shape(self, shape):
        """That of a later observation; where they are not as many numbers, that is said elsewhere."""
        first, now = ([extent for extent in s if extent != 1] for s in (self.given, shape))
        if len(first) > 1 and len(now) > 1 and first != now and count_of(first) == count_of(now):
            texts = (" x ".join(map(str, s)) for s in (shape, self.given))
            raise Amiss("an observation of %s, where that of reset(seed=0) was %s" % tuple(texts))

    def pack_array(self, value, as_bytes):
        self.check_shape(numpy.shape(value))
        if self.unit > 0.0:
            numbers = whole(value)
            if not as_bytes:
                numbers = numbers.astype(numpy.float32)
                numbers = numpy.log2(numbers + 1) / 8 if self.is_bent else numbers * numpy.float32(self.unit)
            return self.ordered(numbers).tobytes()
        numbers = numpy.asarray(value)
        if numbers.dtype.kind not in "biufO":
            raise no_numbers(numbers.flat[0])
        with numpy.errstate(over="ignore"):
            result = numbers.astype(numpy.float32)
        if not numpy.vdot(result, result) < MERGED * MERGED:  # some may be none or large
            check_large(numbers.reshape(-1), result.reshape(-1))
        if self.scale is not None and result.size == self.scale.size:
            result = result * self.scale.reshape(result.shape)
        return self.ordered(result).tobytes()

    def pack_list(self, value):
        numbers, result = [], array.array("f")
        flatten(self.ordered(value), numbers)
        result.extend(numbers)
        if not all(abs(number) < MERGED for number in result):
            check_large(numbers, result)
        return result.tobytes()

    def pack(self, value, as_bytes):
        """Bytes: uint8 in `unit`s, or float32."""
        if self.parts is not None:
            if self.kind == "MultiDiscrete":
                value = numpy.reshape(value, -1)
            parts = [part.pack(part_of(value, key), as_bytes) for key, part in self.parts]
            return self.pack_pictures(parts, as_bytes) if self.is_picture_of_parts else b"".join(parts)
        if self.kind == "Discrete":
            return self.pack_value(value, as_bytes)
        try:
            return self.pack_array(value, as_bytes) if numpy else self.pack_list(value)
        except (TypeError, ValueError):
            raise no_numbers(value) from None
