"""The command `followthrough`, also as `python -m followthrough`."""

import os
import sys

from ._followthrough import command


def main() -> int:
    words = list(sys.argv)
    if os.path.basename(words[0]) == "__main__.py":
        # hints can be pasted
        words[0] = "followthrough"
    return command(words)


if __name__ == "__main__":
    sys.exit(main())
