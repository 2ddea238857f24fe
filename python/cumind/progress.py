"""One line that shows how far a training is: tqdm's where that is installed, else one that is written again and again."""

from __future__ import annotations

import math
import sys
import time
from typing import Any

_EVERY = 0.1  # seconds


def _is_notebook() -> bool:
    shell = sys.modules.get("IPython")
    return shell is not None and getattr(shell.get_ipython(), "kernel", None) is not None


def _count(value: float) -> str:
    for unit in ("", "k", "M"):
        if abs(value) < 1000:
            return f"{value:.3g}{unit}" if unit else f"{value:g}"
        value /= 1000
    return f"{value:.3g}G"


def text_of(now: Any, evaluation: float) -> str:
    """"12.3k steps (1.2k/s)  return 143.2  evaluated 201"."""
    parts = [f"{_count(now.env_steps)} steps"]
    if math.isfinite(now.env_steps_per_second):
        parts[0] += f" ({_count(round(now.env_steps_per_second))}/s)"
    if math.isfinite(now.mean_return):
        parts.append(f"return {now.mean_return:.1f}")
    if math.isfinite(evaluation):
        parts.append(f"evaluated {evaluation:.1f}")
    return "  ".join(parts)


class Progress:
    """On stderr, where that is a terminal or a notebook; nothing elsewhere."""

    def __init__(self, wanted: bool) -> None:
        self._wanted = wanted and (_is_notebook() or sys.stderr.isatty())
        self._bar: Any = None
        self._shown = 0.0
        self._width = 0
        self._evaluation = math.nan

    def __enter__(self) -> Progress:
        if self._wanted:
            try:
                from tqdm.auto import tqdm  # type: ignore[import-untyped,unused-ignore]

                self._bar = tqdm(total=100, unit="%", bar_format="{percentage:3.0f} %|{bar}| {elapsed}<{remaining}  {desc}")
            except ImportError:
                pass
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.close()
        elif self._width:
            print(file=sys.stderr, flush=True)

    def show(self, now: Any) -> None:
        if math.isfinite(now.eval_return):
            self._evaluation = now.eval_return
        clock = time.monotonic()
        if not self._wanted or (clock - self._shown < _EVERY and now.share < 1):
            return
        self._shown = clock
        text = text_of(now, self._evaluation)
        if self._bar is not None:
            self._bar.set_description_str(text, refresh=False)
            self._bar.update(100 * now.share - self._bar.n)
            return
        rest = now.seconds * (1 - now.share) / now.share if now.share > 0 else math.nan
        line = f"{100 * now.share:3.0f} %  {text}" + (f"  {rest:.0f} s to go" if math.isfinite(rest) else "")
        print("\r" + line.ljust(self._width), end="", file=sys.stderr, flush=True)
        self._width = len(line)
