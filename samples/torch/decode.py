#!/usr/bin/env python3
"""LLM decoding by transformers' generate(): a Llama of 1.1 billion parameters with random weights.

    miniprof run --stacks python -o decode.mpt -- python3 samples/torch/decode.py
    python3 samples/torch/decode.py --fused-norms

Only generate() lies between torch.cuda.profiler.start() and stop(); it runs eagerly, a token at a
time. docs/stacks.md reads its trace, and says why --fused-norms is worth it.
"""
import argparse
import sys
import time

import torch
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.models.llama import modeling_llama

PROMPT = 32


def fused_norm(self, x):
    """What LlamaRMSNorm.forward computes, in one kernel."""
    return torch.nn.functional.rms_norm(x, self.weight.shape, self.weight, self.variance_epsilon)


def use_fused_norms(wanted):
    norm = modeling_llama.LlamaRMSNorm
    if not hasattr(norm, "original"):
        norm.original = norm.forward
    norm.forward = fused_norm if wanted else norm.original


class Decoder:
    def __init__(self):
        torch.manual_seed(1)
        config = LlamaConfig(vocab_size=32000, hidden_size=2048, intermediate_size=5632,
                             num_hidden_layers=22, num_attention_heads=32, num_key_value_heads=4,
                             pad_token_id=0, bos_token_id=1, eos_token_id=2)
        self.model = LlamaForCausalLM(config).to("cuda", torch.bfloat16).eval()
        self.prompt = torch.randint(3, config.vocab_size, (1, PROMPT), device="cuda")

    def generate(self, tokens):
        """The tokens, and milliseconds for each."""
        torch.cuda.synchronize()
        begin = time.perf_counter()
        with torch.no_grad():
            text = self.model.generate(self.prompt, attention_mask=torch.ones_like(self.prompt),
                                       do_sample=False, min_new_tokens=tokens,
                                       max_new_tokens=tokens)
        torch.cuda.synchronize()
        return text, (time.perf_counter() - begin) * 1e3 / tokens


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--fused-norms", action="store_true",
                        help="RMSNorm by torch.nn.functional.rms_norm")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("decode.py: PyTorch finds no CUDA device")
    use_fused_norms(arguments.fused_norms)
    decoder = Decoder()
    decoder.generate(arguments.tokens)  # each length of the cache is new once
    torch.cuda.profiler.start()
    _, taken = decoder.generate(arguments.tokens)
    torch.cuda.profiler.stop()
    print(f"decode: {arguments.tokens} tokens, {taken:.2f} ms a token")


if __name__ == "__main__":
    main()
