"""Run as a script: becomes the account of the user and group id in its first two arguments, and then the program.

A child that Python itself moves to another account is a whole fork of this process, in which a library that prepares
for forks (gRPC) starts threads; they fail when the child closes its files, and end it before it is the program. A
child that only becomes another program is none. It imports nothing of ours, so that the program is soon there.
"""

import os
import sys

if __name__ == "__main__":
    user, group, *command = sys.argv[1:]
    os.setgroups([])
    os.setgid(int(group))
    os.setuid(int(user))
    try:
        os.execvp(command[0], command)  # noqa: S606  the program is one of a test server's own
    except OSError as error:
        sys.exit(f"{command[0]}: {error.strerror}")
