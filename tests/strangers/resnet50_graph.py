#!/usr/bin/env python3
"""ResNet-50 for one image as a CUDA graph, with random weights; one launch and one synchronisation
an iteration, which have no names.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../zoo"))

import zoo  # pylint: disable=wrong-import-position

ITERATIONS = 200
torch = zoo.need_torch()


def layer(before, after, size, stride=1):
    return torch.nn.Sequential(
        torch.nn.Conv2d(before, after, size, stride, size // 2, bias=False),
        torch.nn.BatchNorm2d(after))


class Bottleneck(torch.nn.Module):
    def __init__(self, before, width, stride):
        super().__init__()
        relu = torch.nn.ReLU(inplace=True)
        self.way = torch.nn.Sequential(layer(before, width, 1), relu,
                                       layer(width, width, 3, stride), relu,
                                       layer(width, 4 * width, 1))
        self.skip = torch.nn.Identity() if before == 4 * width and stride == 1 else \
            layer(before, 4 * width, 1, stride)

    def forward(self, image):
        return torch.relu_(self.way(image) + self.skip(image))


def resnet50():
    parts = [layer(3, 64, 7, 2), torch.nn.ReLU(inplace=True), torch.nn.MaxPool2d(3, 2, 1)]
    channels = 64
    for width, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for number in range(blocks):
            stride = 2 if number == 0 and width > 64 else 1
            parts.append(Bottleneck(channels, width, stride))
            channels = 4 * width
    return torch.nn.Sequential(*parts, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
                               torch.nn.Linear(channels, 1000))


def main():
    model = resnet50().cuda().half().eval()
    image = torch.randn(1, 3, 224, 224, device="cuda", dtype=torch.half)
    result = torch.empty(1, 1000, device="cuda", dtype=torch.half)
    with torch.no_grad():
        graph = zoo.captured(torch, lambda: result.copy_(model(image)))

    def step():
        graph.replay()
        torch.cuda.synchronize()

    zoo.timed(20, step)
    with zoo.torch_profiler():
        seconds = zoo.timed(ITERATIONS, step)
    assert bool(torch.isfinite(result).all())
    zoo.say_truth(seconds)


if __name__ == "__main__":
    main()
