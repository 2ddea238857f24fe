"""The program: `cumind train` is what is in the wheel, or in build/ of a checkout."""

from __future__ import annotations

import os
import sys


def main() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    for place in ("lib/cumind", "../../build/cumind"):
        program = os.path.join(here, place)
        if os.path.isfile(program):
            # Environments in Python are played by the python3 of PATH: by this one.
            own = os.path.dirname(sys.executable)
            os.environ["PATH"] = own + os.pathsep + os.environ.get("PATH", os.defpath)
            os.execv(program, ["cumind", *sys.argv[1:]])
    sys.exit("cumind: the program is neither in this package nor in build/: build it with `make`")


if __name__ == "__main__":
    main()
