#!/usr/bin/env python3
"""generate() of an encoder-decoder, a small T5 with random weights, in eager mode. An iteration is
one answer of 24 tokens; iterations have no names.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../zoo"))

import zoo  # pylint: disable=wrong-import-position

ANSWERS, TOKENS, PROMPT = 10, 24, 48
torch = zoo.need_torch()
try:
    from transformers import T5Config, T5ForConditionalGeneration
except ImportError as error:
    zoo.skip(error)


def main():
    config = T5Config(vocab_size=1024, d_model=256, d_kv=64, d_ff=512, num_layers=4, num_heads=4,
                      decoder_start_token_id=0, pad_token_id=0, eos_token_id=1)
    model = T5ForConditionalGeneration(config).cuda().eval()
    prompt = torch.randint(3, 1024, (4, PROMPT), device="cuda")
    answers = []

    def step():
        answers[:] = [model.generate(prompt, attention_mask=torch.ones_like(prompt),
                                     do_sample=False, min_new_tokens=TOKENS,
                                     max_new_tokens=TOKENS)]
        torch.cuda.synchronize()

    with torch.no_grad():
        zoo.timed(2, step)
        with zoo.torch_profiler():
            seconds = zoo.timed(ANSWERS, step)
    assert answers[0].shape == (4, TOKENS + 1)
    zoo.say_truth(seconds)


if __name__ == "__main__":
    main()
