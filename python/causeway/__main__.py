"""The program: `causeway`, which pip installs as a command, and `python -m causeway`."""

import os
import sys
from pathlib import Path


def _program() -> Path:
    """The executable, in the wheel or in the build folder above the package."""
    package = Path(__file__).parent
    places = [package / "bin" / "causeway", package.parent.parent / "causeway"]
    for place in places:
        if place.is_file() and os.access(place, os.X_OK):
            return place
    looked = " or ".join(map(str, places))
    sys.exit(f"causeway: the executable is missing: no {looked}; reinstall the wheel, or build the "
             "target causeway")


def main() -> None:
    program = _program()
    wheels = [os.path.join(entry, "nvidia") for entry in sys.path]
    found = [folder for folder in wheels if os.path.isdir(folder)]
    if found:
        os.environ.setdefault("CAUSEWAY_WHEELS", ":".join(found))
    os.execv(program, ["causeway", *sys.argv[1:]])


if __name__ == "__main__":
    main()
