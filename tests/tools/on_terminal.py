#!/usr/bin/env python3
"""Runs a command on a pseudo-terminal and prints what a person would see of it.

usage: on_terminal.py [-s COLUMNSxLINES] [-k] COMMAND [argument...]

    -s  size of the terminal; 80x24. With 0x0 it does not know its size, as serial lines do not
    -k  keep carriage returns and escape sequences; without it each line is what it shows at last

stdin, stdout and stderr of the command are the terminal. The exit code is the command's.
"""
import fcntl
import os
import pty
import re
import struct
import sys
import termios


def run(arguments, columns, lines):
    """The bytes that the command writes to its terminal, and its exit code."""
    pid, terminal = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        try:
            os.execvp(arguments[0], arguments)
        except OSError as error:
            print(f"{arguments[0]}: {error}")
        os._exit(127)
    output = bytearray()
    while True:
        try:
            data = os.read(terminal, 65536)
        except OSError: # EIO: the last one has closed the terminal
            break
        if not data:
            break
        output += data
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    return bytes(output), code if code >= 0 else 128 - code


def overwritten(line):
    """What a line shows: a carriage return puts the cursor back, and what follows overwrites."""
    seen = b""
    for part in line.split(b"\r"):
        rest = seen[len(part):]
        seen = part + rest if rest.strip() else part
    return seen


def plain(output):
    """The same without escape sequences, each line as it stands at last: without progress."""
    text = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", output).replace(b"\r\n", b"\n")
    return b"\n".join(overwritten(line) for line in text.split(b"\n"))


def main():
    arguments = sys.argv[1:]
    size = "80x24"
    keep = False
    while arguments and arguments[0].startswith("-"):
        option = arguments.pop(0)
        if option == "-s":
            size = arguments.pop(0)
        elif option == "-k":
            keep = True
        else:
            sys.exit(__doc__)
    columns, lines = (int(number) for number in size.split("x"))
    output, code = run(arguments, columns, lines)
    sys.stdout.buffer.write(output if keep else plain(output))
    sys.stdout.flush()
    sys.exit(code)


if __name__ == "__main__":
    main()
