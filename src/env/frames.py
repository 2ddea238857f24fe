"""Pictures of episodes, as environments draw them. cumind puts this text between ids.py and serve.py."""
import os

FRAME_SIDE = 1024  # pixels of a side at most
# Pygame draws into memory, and looks for neither a screen nor loudspeakers.
WITHOUT_SCREEN = {"PYGAME_HIDE_SUPPORT_PROMPT": "1", "SDL_VIDEODRIVER": "dummy", "SDL_AUDIODRIVER": "dummy"}
FRAME_HEAD = struct.Struct("=ii")


def viewer_of(host):
    """What makes an environment that draws pixels: of an id one with render_mode="rgb_array", of a file what it makes,
    with that if it takes it."""
    make = host.make
    if isinstance(make, MakerOfId):
        return make.with_mode("rgb_array")
    try:
        takes_mode = "render_mode" in inspect.signature(make).parameters
    except (TypeError, ValueError):
        takes_mode = False
    return (lambda: make(render_mode="rgb_array")) if takes_mode else make


def pixels_of(frame):
    """(height, width, bytes of red, green and blue) of what render has returned, or None."""
    shape = getattr(frame, "shape", ())
    if not numpy or len(shape) != 3 or shape[2] not in (3, 4) or min(shape) < 1:
        return None
    step = -(-max(shape[:2]) // FRAME_SIDE)
    frame = numpy.ascontiguousarray(frame[::step, ::step, :3], dtype=numpy.uint8)
    return frame.shape[0], frame.shape[1], frame.tobytes()


class Viewer:
    """An environment that only draws: it plays episodes again, apart from those that are played, of which drawing then
    changes nothing. The one that it stands in is known by its seed and the actions that it has taken."""

    def __init__(self, host):
        for name, value in WITHOUT_SCREEN.items():
            os.environ.setdefault(name, value)
        self.host, self.make = host, viewer_of(host)
        self.instance, self.seed, self.data = None, None, b""

    def restart(self, seed):
        if self.instance and (self.host.is_fresh or not self.host.reusable):
            self.instance.close()
            self.instance = None
        self.instance = self.instance or Instance(self.make, seed)
        self.host.doing, self.data = "reset", b""
        self.host.reply(self.instance, *self.instance.reset(seed))

    def go_to(self, seed, data):
        is_on_the_way, self.seed = self.seed == seed and data.startswith(self.data), None
        if not is_on_the_way:
            self.restart(seed)
        for action in self.host.actions.form.iter_unpack(data[len(self.data) :]):
            self.host.step(self.instance, action)
            self.host.alive()
        self.seed, self.data = seed, data

    def draw(self, seed, data):
        """A height and a width, and as many pixels; b"" where nothing is drawn."""
        self.instance = self.instance or Instance(self.make, seed)
        if not hasattr(self.instance.env, "render"):
            return b""
        self.go_to(seed, data)
        self.host.doing = "render"
        drawn = pixels_of(self.instance.env.render())
        return FRAME_HEAD.pack(*drawn[:2]) + drawn[2] if drawn else b""
