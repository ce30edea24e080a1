"""Calls from all structures that a Python program has: recursion, generators, coroutines,
decorators, comprehensions, callbacks of C functions, threads, methods, lambdas, exec, exceptions.
"""
import asyncio
import contextlib
import ctypes
import functools
import itertools
import sys
import threading

import truth
from truth import copy, fill, held, launch, wait


def recursion(depth):
    if depth:
        return recursion(depth - 1)
    launch()
    launch(held)
    return depth


def generator(count):
    for _ in range(count):
        launch()
        yield from inner()
        copy()


def inner():
    fill()
    yield 1


async def coroutine(depth):
    launch()
    if depth:
        await coroutine(depth - 1)
    await asyncio.sleep(0)
    copy()


async def many():
    await asyncio.gather(coroutine(1), coroutine(2))
    async for _ in stream():
        wait()


async def stream():
    yield fill()
    yield 2


def traced(function):
    @functools.wraps(function)
    def wrapper(*arguments, **options):
        launch()
        return function(*arguments, **options)
    return wrapper


@traced
@traced
def decorated(a, *, b):
    launch()


class Model:
    def __init__(self):
        launch()

    def __call__(self, x):
        return self.forward(x)

    def forward(self, x):
        fill()
        return x

    @property
    def weight(self):
        copy()
        return 1

    @classmethod
    def make(cls):
        launch()
        return cls()

    @staticmethod
    def help():
        wait()

    def __lt__(self, other):
        launch()
        return id(self) < id(other)

    def __enter__(self):
        launch()
        return self

    def __exit__(self, *_):
        wait()

    def __getattr__(self, name):
        launch()
        raise AttributeError(name)

    class Inner:
        def run(self):
            launch()


@contextlib.contextmanager
def context():
    launch()
    yield
    wait()


def comprehensions():
    [launch() for _ in range(2)]
    {launch() for _ in range(1)}
    {i: fill() for i in range(1)}
    list(launch() for _ in range(2))
    [[copy() for _ in range(1)] for _ in range(2)]


def builtins():
    list(map(lambda _: launch(), range(2)))
    sorted([3, 1, 2], key=lambda x: launch() or x)
    sorted([Model(), Model(), Model()])
    functools.reduce(lambda a, b: launch(), [1, 2, 3])
    max([1, 2], key=lambda x: fill() or x)
    list(filter(lambda x: launch(), [1]))
    list(itertools.starmap(lambda a, b: launch(), [(1, 2)]))
    functools.partial(decorated, 1, b=2)()
    exec("launch()\n\n\nlaunch()", {"launch": launch})
    eval("launch()", {"launch": launch})


def callbacks():
    """qsort of libc calls back into Python."""
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int),
                               ctypes.POINTER(ctypes.c_int))

    def order(a, b):
        launch()
        return a[0] - b[0]
    values = (ctypes.c_int * 4)(4, 2, 3, 1)
    ctypes.CDLL(None).qsort(values, 4, ctypes.sizeof(ctypes.c_int), compare(order))


def lines():
    launch(
    )
    (launch(),
     fill(),
     copy())
    for _ in range(2): launch(); launch()
    try:
        launch(); raise ValueError
    except ValueError:
        launch()
    finally:
        wait()
    if False:
        pass
    elif launch() or True:
        launch()
    while True:
        launch()
        break
    return launch()


def several_threads():
    def work(depth):
        truth.gpu.bind()
        for _ in range(5):
            recursion(depth)
            list(generator(1))
    threads = [threading.Thread(target=work, args=(depth,)) for depth in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Dying:
    def __del__(self):
        launch()


def finalizers():
    Dying()
    cycle = [Dying()]
    cycle.append(cycle)
    del cycle
    import gc
    gc.collect()


def names():
    scope = {"launch": launch}
    exec(compile("def größe():\n    launch()\n", "<büro>", "exec"), scope)
    scope["größe"]()
    exec(compile("def 関数():\n    launch()\n", "/tmp/関数.py", "exec"), scope)
    scope["関数"]()
    exec(compile("def %s():\n    launch()\n" % ("a" * 900), "f" * 1000, "exec"), scope)
    scope["a" * 900]()


def longest():
    """Lines far from the first one, and by more than 127."""
    source = "def far():\n" + "\n" * 300 + "    launch()\n" + "\n" * 40000 + "    launch()\n"
    source += "    x = 1; y = 2\n" * 3000 + "    launch()\n"
    scope = {"launch": launch}
    exec(compile(source, "far.py", "exec"), scope)
    scope["far"]()


def main():
    truth.start()
    for depth in (0, 1, 30, 200):
        recursion(depth)
    list(generator(2))
    asyncio.run(many())
    decorated(1, b=2)
    model = Model.make()
    model(1), model.weight, model.help(), model.Inner().run(), hasattr(model, "nothing")
    with model, context():
        launch()
    comprehensions()
    builtins()
    callbacks()
    lines()
    several_threads()
    finalizers()
    names()
    longest()
    sys.setrecursionlimit(3000)
    recursion(505)
    recursion(700)


if __name__ == "__main__":
    main()
