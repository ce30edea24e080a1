#!/usr/bin/env python3
"""A transformer encoder of BERT-base's size: 12 layers of 768, 12 heads, 110 million parameters.

Plain torch.nn with random weights, nothing is downloaded: token and position embeddings, encoder
layers with the norm after each half, a tanh over the first token, two classes. What one layer does
stands in a leaf module each, so that each has its NVTX range.

    CUDA_INJECTION64_PATH=libminiprof.so python3 samples/torch/bert.py --mode eager
    python3 samples/torch/bert.py --mode graph --torch-profiler loop.json   # the peer

loop.py says what is between cudaProfilerStart and Stop, and which NVTX ranges there are.
"""
import torch
from torch import nn

import loop

WORDS, POSITIONS = 30522, 512
LAYERS, WIDTH, HEADS, INNER = 12, 768, 12, 3072
CLASSES = 2


class Embeddings(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.positions = nn.Embedding(POSITIONS, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)

    def forward(self, tokens):
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        return self.norm(self.words(tokens) + self.positions(positions))


class Attention(nn.Module):
    """Scaled dot products of all heads; no parameters, and so a leaf."""

    def forward(self, query, key, value):
        batch, tokens, _ = query.shape
        heads = [x.view(batch, tokens, HEADS, WIDTH // HEADS).transpose(1, 2)
                 for x in (query, key, value)]
        mixed = nn.functional.scaled_dot_product_attention(*heads)
        return mixed.transpose(1, 2).reshape(batch, tokens, WIDTH)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = nn.Linear(WIDTH, WIDTH)
        self.key = nn.Linear(WIDTH, WIDTH)
        self.value = nn.Linear(WIDTH, WIDTH)
        self.attention = Attention()
        self.output = nn.Linear(WIDTH, WIDTH)
        self.attention_norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.inner = nn.Linear(WIDTH, INNER)
        self.activation = nn.GELU()
        self.outer = nn.Linear(INNER, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)

    def forward(self, x):
        mixed = self.attention(self.query(x), self.key(x), self.value(x))
        x = self.attention_norm(x + self.output(mixed))
        return self.norm(x + self.outer(self.activation(self.inner(x))))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embeddings = Embeddings()
        self.layers = nn.Sequential(*(Layer() for _ in range(LAYERS)))
        self.pooler = nn.Linear(WIDTH, WIDTH)
        self.activation = nn.Tanh()
        self.classifier = nn.Linear(WIDTH, CLASSES)

    def forward(self, tokens):
        x = self.layers(self.embeddings(tokens))
        return self.classifier(self.activation(self.pooler(x[:, 0])))


def make_input(arguments):
    return torch.randint(WORDS, (arguments.batch, arguments.tokens))


def make_inference(arguments):
    return loop.Inference(arguments, Encoder, make_input, CLASSES)


def length(text):
    if not 1 <= int(text) <= POSITIONS:
        raise ValueError
    return int(text)


def make_parser():
    parser = loop.make_parser(__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=length, default=128,
                        help=f"length of the sequences, at most {POSITIONS} (128)")
    return parser


if __name__ == "__main__":
    loop.run("bert", make_parser().parse_args(), make_inference)
