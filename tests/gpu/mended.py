#!/usr/bin/env python3
"""The gains of docs/stacks.md: programs of samples/torch as they are and mended, in turn.

    mended.py [ROUNDS]      PROGRAM|SIDE|MS lines: ms a token, ms an iteration, of each round
"""
import pathlib
import statistics
import sys

import torch

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "samples/torch"))
import decode  # pylint: disable=wrong-import-position
import loop  # pylint: disable=wrong-import-position
import resnet50  # pylint: disable=wrong-import-position


def decoding(rounds):
    decoder = decode.Decoder()
    texts = {}
    for number in range(-1, rounds):  # the first round warms up
        for side, fused in (("as it is", False), ("fused norms", True)):
            decode.use_fused_norms(fused)
            texts[side], taken = decoder.generate(64)
            if number >= 0:
                print("decode", side, f"{taken:.3f}", sep="|", flush=True)
    same = (texts["as it is"] == texts["fused norms"]).sum().item()
    print(f"{same} of {texts['as it is'].numel()} tokens are the same")


def resnet(rounds):
    sides = {}
    for side, arguments in (("as it is", []), ("folded", ["--fold"])):
        sides[side] = resnet50.make_inference(resnet50.make_parser().parse_args(arguments))
    for inference in sides.values():
        loop.run_loop(inference, 20)
    for _ in range(rounds):
        for side, inference in sides.items():
            taken = statistics.median(loop.run_loop(inference, 100)) * 1e3
            print("resnet50", side, f"{taken:.3f}", sep="|", flush=True)
    # Both have the weights of one seed, and the same input.
    one, other = (inference.scores for inference in sides.values())
    print(f"scores differ by {((one - other).norm() / one.norm()).item():.1e}")


if __name__ == "__main__":
    with torch.no_grad():
        decoding(int(sys.argv[1]) if sys.argv[1:] else 10)
        resnet(int(sys.argv[1]) if sys.argv[1:] else 10)
