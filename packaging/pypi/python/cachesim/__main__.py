"""`python -m cachesim` runs the program, with its arguments, streams and exit code."""

import os
import subprocess
import sys

from ._program import program

if __name__ == "__main__":
    command = [program(), *sys.argv[1:]]
    if os.name == "posix":
        # The program takes the place of Python, so signals reach it and its exit is this one's.
        os.execv(command[0], command)
    sys.exit(subprocess.run(command).returncode)
