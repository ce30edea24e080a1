#!/usr/bin/env python3
"""ResNet-50 inference: the PyTorch program that miniprof is tried on.

    CUDA_INJECTION64_PATH=libminiprof.so python3 samples/torch/resnet50.py --mode eager
    python3 samples/torch/resnet50.py --mode graph --torch-profiler loop.json   # the peer

loop.py says what is between cudaProfilerStart and Stop, and which NVTX ranges there are.
"""
import torch
import torchvision

import loop


def make_input(arguments):
    return torch.randn(arguments.batch, 3, 224, 224)


def make_inference(arguments):
    return loop.Inference(arguments, lambda: torchvision.models.resnet50(weights=None), make_input,
                          1000)


if __name__ == "__main__":
    loop.run("resnet50", loop.make_parser(__doc__.splitlines()[0]).parse_args(), make_inference)
