"""Launches 20,000 times from 30 deep, from 50 lines in turn, as a model's layers would."""
import sys

sys.path.insert(0, sys.argv[1])
import truth

truth.start()
size = (1,) * 6 + (0, None, None, None)


def launch():
    truth.check(truth.cuda.cuLaunchKernel(truth.gpu.function, *size))


exec("".join("def layer%d():\n    launch()\n    launch()\n" % i for i in range(25)))
layers = [globals()["layer%d" % i] for i in range(25)]


def deeper(depth):
    if depth:
        deeper(depth - 1)
        return
    for _ in range(400):
        for layer in layers:
            layer()


deeper(27)
truth.check(truth.cuda.cuCtxSynchronize())
