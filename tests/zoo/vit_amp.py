#!/usr/bin/env python3
"""A small vision transformer that trains with automatic mixed precision: autocast, GradScaler,
fused AdamW. Each step is an NVTX range of that name.
"""
import zoo

STEPS, DEPTH, SIZE, PATCH, CLASSES = 30, 4, 192, 16, 100
torch = zoo.need_torch()
nn = torch.nn


class ViT(nn.Module):
    """Patches of 224x224 images, an encoder, and a head on the mean of all patches."""

    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, SIZE, PATCH, PATCH)
        self.place = nn.Parameter(torch.zeros(1, (224 // PATCH) ** 2, SIZE))
        layer = nn.TransformerEncoderLayer(SIZE, 3, 4 * SIZE, dropout=0, activation="gelu",
                                           batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, DEPTH, enable_nested_tensor=False)
        self.head = nn.Linear(SIZE, CLASSES)

    def forward(self, images):
        tokens = self.patches(images).flatten(2).transpose(1, 2) + self.place
        return self.head(self.encoder(tokens).mean(1))


def main():
    model = ViT().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, fused=True)
    scaler = torch.amp.GradScaler("cuda")
    images = torch.randn(32, 3, 224, 224, device="cuda")
    labels = torch.randint(CLASSES, (32,), device="cuda")

    def step():
        with torch.cuda.nvtx.range("step"):
            optimizer.zero_grad()
            with torch.autocast("cuda", torch.float16):
                loss = nn.functional.cross_entropy(model(images), labels)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            torch.cuda.synchronize()

    zoo.timed(5, step)
    with zoo.torch_profiler():
        seconds = zoo.timed(STEPS, step)
    zoo.say_truth(seconds, name="step")


if __name__ == "__main__":
    main()
