"""Functions that are made, called and freed, so that the next one gets their addresses: of one name
and file, with the call in another line.
"""
import gc
import sys

import truth
from truth import launch


def main(rounds):
    truth.start()
    files = ["same.py", "<string>"]
    # The texts stay, so that nothing but the line table tells the functions apart.
    sources = ["def f(a):\n    x = 1\n" + "    y = 2\n" * before + "    launch()\n" +
               "    y = 2\n" * (9 - before) for before in range(10)]
    gaps = ["def f(a):\n    x = 1\n" + "\n" * before + "    launch()\n" + "\n" * (9 - before) +
            "    return 1\n" for before in range(10)]
    functions = {}
    reused = 0
    for number in range(rounds):
        for file in files:
            for source in (sources[number % 10], gaps[number * 7 % 10]):
                scope = {"launch": launch}
                exec(compile(source, file, "exec"), scope)
                scope["f"](1)
                address = id(scope["f"].__code__)
                reused += functions.setdefault(address, source) != source
                functions[address] = source
                del scope
        if number % 50 == 0:
            gc.collect()
    print("reused" if reused else "not reused")


main(int(sys.argv[1]))
