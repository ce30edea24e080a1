#!/usr/bin/env python3
"""generate() of transformers: a small Llama with random weights decodes token by token in eager
mode. What is measured begins with the first token after the prompt. Iterations are the passes of
the model, have no names, and grow with the cache.
"""
import contextlib
import time

import zoo

TOKENS, PROMPT = 64, 32
torch = zoo.need_torch()
try:
    from transformers import LlamaConfig, LlamaForCausalLM
except ImportError as error:
    zoo.skip(error)


def main():
    config = LlamaConfig(vocab_size=1024, hidden_size=256, intermediate_size=512,
                         num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=4,
                         max_position_embeddings=512, pad_token_id=0, bos_token_id=1,
                         eos_token_id=2)
    model = LlamaForCausalLM(config).to("cuda", torch.bfloat16).eval()
    prompt = torch.randint(3, 1024, (4, PROMPT), device="cuda")
    stamps, measuring = [], contextlib.ExitStack()

    def generate(tokens):
        with torch.no_grad():
            return model.generate(prompt, attention_mask=torch.ones_like(prompt), do_sample=False,
                                  min_new_tokens=tokens, max_new_tokens=tokens)

    def before_pass(*_):
        if len(stamps) == 1:
            measuring.enter_context(zoo.torch_profiler())
        stamps.append(time.perf_counter())

    generate(8)
    model.model.register_forward_pre_hook(before_pass)
    with measuring:
        result = generate(TOKENS + 1)
        stamps.append(time.perf_counter())
    assert result.shape[1] == PROMPT + TOKENS + 1 and len(stamps) == TOKENS + 2
    zoo.say_truth(zoo.between(stamps[1:]), clock="step")


if __name__ == "__main__":
    main()
