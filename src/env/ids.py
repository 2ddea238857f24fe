"""Environments that are registered by an id, "CartPole-v1". cumind puts this text between actions.py and frames.py."""
import difflib
import importlib.metadata
import json
import warnings

SOME = 5  # ids that a line names


def is_of_gym(id):
    """Whether a package that was imported for it has registered it in gym, which came before Gymnasium."""
    registry = getattr(getattr(sys.modules.get("gym"), "envs", None), "registry", {})
    return id in getattr(registry, "env_specs", registry)


def registers(id):
    """Whether an installed package says that it registers what is in the namespace of the id, and has done so now, as
    Gymnasium saw to before 1.0."""
    namespace, is_in_one, _ = id.partition("/")
    if not is_in_one or ":" in namespace:
        return False
    found = importlib.metadata.entry_points()
    found = found.select(group="gymnasium.envs") if hasattr(found, "select") else ()  # Python 3.9 has Gymnasium 0.29
    plugins = [plugin for plugin in found if plugin.name == namespace]
    for plugin in plugins:
        called(plugin.load())
    return bool(plugins)


def said_of(package, id, known):
    """What a package has registered in place of an id."""
    if not known:
        return "%s registers nothing in Gymnasium: name a file of your own with make(), which returns one" % package
    near = difflib.get_close_matches(id, known, SOME, 0.0)
    rest = len(known) - len(near)
    return "%s registers %s%s" % (package, ", ".join(near), " and %d more" % rest if rest else "")


def newest_of(id, gymnasium):
    """The id of the same name that has the highest version; None if there is none."""
    stem = id.rpartition("-v")[0]
    known = [other.rpartition("-v") for other in getattr(gymnasium, "registry", ())]
    versions = [int(version) for name, _, version in known if name == stem and version.isdigit()]
    return "%s-v%d" % (stem, max(versions)) if stem and versions else None


def make_of_id(name, options):
    import gymnasium

    before = set(getattr(gymnasium, "registry", ()))
    warnings.filterwarnings("ignore", ".*The environment .* is out of date")  # its version says so, or the line of the error
    try:
        return gymnasium.make(name, **options)
    except Exception as error:
        package, _, id = name.rpartition(":")
        if registers(name):
            return gymnasium.make(name, **options)
        if is_of_gym(id):
            text = "it is registered in gym, the predecessor of Gymnasium; name a file of your own that has: import gym, %s; "
            text += "make = lambda: gym.make('%s', disable_env_checker=True)"
            raise Amiss(text % (package, id)) from None
        other = newest_of(id, gymnasium)
        if other and type(error).__name__ in ("DeprecatedEnv", "VersionNotFound"):
            text = "Gymnasium has %s, not %s: cumind train gymnasium:%s"
            raise Amiss(text % (other, id, package + ":" * bool(package) + other)) from None
        if not package or isinstance(error, ImportError) or "NotFound" not in type(error).__name__:
            raise
        known = set(getattr(gymnasium, "registry", ())) - before
        raise Amiss("%s: %s; %s" % (type(error).__name__, error, said_of(package, id, known))) from None


def argument_of(text):
    """A number, true, false or null, also as Python writes them, or else the text as it is."""
    words = {"True": True, "False": False, "None": None}
    try:
        value = words[text] if text in words else json.loads(text)
    except ValueError:
        return text
    return text if isinstance(value, (str, list, dict)) else value


def arguments_of(given):
    """What make is called with, of "KEY=VALUE" each."""
    pairs = [text.partition("=") for text in given]
    for key, equals, _ in pairs:
        if not equals or not key.isidentifier():
            raise Amiss("arguments are written ID,KEY=VALUE,KEY=VALUE; '%.40s' is none" % key)
    return {key: argument_of(value) for key, _, value in pairs}


class MakerOfId:
    """Makes an environment by its id and the options of make."""

    def __init__(self, id, options, modes):
        self.id, self.options, self.modes = id, options, modes

    def __call__(self):
        return make_of_id(self.id, self.options)

    def with_mode(self, mode):
        """The same, drawn in another way, if it can be."""
        return MakerOfId(self.id, {**self.options, "render_mode": mode}, self.modes) if mode in self.modes else self


def maker_of_id(name):
    id, *given = name.split(",")
    options = {"disable_env_checker": True, **arguments_of(given)}
    env = make_of_id(id, options)
    modes = (find(env, "metadata") or {}).get("render_modes", [])
    if "ansi" in modes:
        options.setdefault("render_mode", "ansi")
    close(env)
    return MakerOfId(id, options, modes)
