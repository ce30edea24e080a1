#!/usr/bin/env python3
"""A transformer's blocks as one CUDA graph, as PyTorch captures it; one launch and one
synchronisation an iteration, which have no names.
"""
import zoo

ITERATIONS, BLOCKS = 100, 8
torch = zoo.need_torch()


def main():
    layer = torch.nn.TransformerEncoderLayer(256, 4, 1024, dropout=0, batch_first=True,
                                             norm_first=True)
    model = torch.nn.TransformerEncoder(layer, BLOCKS, enable_nested_tensor=False)
    model = model.cuda().half()  # in training mode, so that no fused path takes over
    data = torch.randn(8, 128, 256, device="cuda", dtype=torch.half)
    result = torch.empty_like(data)
    with torch.no_grad():
        graph = zoo.captured(torch, lambda: result.copy_(model(data)))

    def step():
        graph.replay()
        torch.cuda.synchronize()

    zoo.timed(10, step)
    with zoo.torch_profiler():
        seconds = zoo.timed(ITERATIONS, step)
    assert bool(torch.isfinite(result).all())
    zoo.say_truth(seconds)


if __name__ == "__main__":
    main()
