"""Calls from functions that C code calls: a C extension (extension.c), alone and nested, and the
interpreter itself, for metaclasses, descriptors, operators, signals, and tracing.
"""
import concurrent.futures
import signal
import sys
import weakref

import extension
import truth
from truth import fill, held, launch


def both():
    launch()
    launch(held)


def generator():
    try:
        launch()
        yield 1
        launch()
    finally:
        fill()


def callbacks():
    extension.call(both)
    extension.call_without(both)
    extension.call(lambda: extension.call_without(lambda: extension.call(both)))
    extension.call_without(lambda: list(generator()))
    sorted([2, 1], key=lambda x: extension.call(both) or x)


def left_early():
    one = generator()
    next(one)
    one.close()
    one = generator()
    next(one)
    try:
        one.throw(ValueError)
    except ValueError:
        launch()
    one = generator()
    next(one)
    del one


def traced():
    def local(*_):
        return local
    for trace in (lambda *_: None, local):
        sys.settrace(trace)
        extension.call(both)
        list(generator())
        sys.settrace(None)
    sys.setprofile(lambda *_: None)
    extension.call(both)
    sys.setprofile(None)


class Meta(type):
    def __new__(cls, *rest):
        launch()
        return super().__new__(cls, *rest)

    def __call__(cls, *rest):
        launch()
        return super().__call__(*rest)


class Descriptor:
    def __set_name__(self, owner, name):
        launch()

    def __get__(self, owner, kind):
        launch()
        return 1


def slots():
    class Base(metaclass=Meta):
        value = Descriptor()

        def __init_subclass__(cls):
            launch()

        def __add__(self, other):
            launch()
            return self

        def __getitem__(self, index):
            launch()
            return 1

        def __bool__(self):
            launch()
            return True

    class Derived(Base):
        pass
    one = Derived()
    for _ in range(100):     # until the interpreter has specialised them
        one.value, one + one, one[1], bool(one)
    weakref.finalize(one, launch)
    del one


def handlers():
    signal.signal(signal.SIGUSR1, lambda *_: launch())
    signal.raise_signal(signal.SIGUSR1)


def pool():
    def job(number):
        truth.gpu.bind()
        extension.call(both)
        extension.call_without(both)
        return number
    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        list(threads.map(job, range(20)))


truth.start()
for part in (callbacks, left_early, traced, slots, handlers, pool):
    part()
