#!/usr/bin/env python3
"""ResNet-50 inference: the PyTorch program that miniprof is tried on.

    CUDA_INJECTION64_PATH=libminiprof.so python3 samples/torch/resnet50.py --mode eager
    python3 samples/torch/resnet50.py --mode graph --torch-profiler loop.json   # the peer
    python3 samples/torch/resnet50.py --fold    # batch normalisation folded into convolutions

loop.py says what is between cudaProfilerStart and Stop, and which NVTX ranges there are.
"""
import torch
import torchvision
from torch.nn.utils.fusion import fuse_conv_bn_eval
from torchvision.models.resnet import Bottleneck

import loop


def make_input(arguments):
    return torch.randn(arguments.batch, 3, 224, 224)


def fold_norms(model):
    """Each convolution does the work of the batch normalisation behind it."""
    def fold(block, conv, norm):
        folded = fuse_conv_bn_eval(block.get_submodule(conv), block.get_submodule(norm))
        block.set_submodule(conv, folded)
        block.set_submodule(norm, torch.nn.Identity())

    fold(model, "conv1", "bn1")
    for block in model.modules():
        if isinstance(block, Bottleneck):
            for number in "123":
                fold(block, "conv" + number, "bn" + number)
            if block.downsample:
                fold(block, "downsample.0", "downsample.1")


def make_model(arguments):
    model = torchvision.models.resnet50(weights=None).eval()
    if arguments.fold:
        fold_norms(model)
    return model


def make_inference(arguments):
    return loop.Inference(arguments, lambda: make_model(arguments), make_input, 1000)


def make_parser():
    parser = loop.make_parser(__doc__.splitlines()[0])
    parser.add_argument("--fold", action="store_true",
                        help="fold batch normalisation into the convolutions")
    return parser


if __name__ == "__main__":
    loop.run("resnet50", make_parser().parse_args(), make_inference)
