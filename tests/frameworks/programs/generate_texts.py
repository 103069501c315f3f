"""Transformers' generate() with random weights, one prompt after the other."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel


def main():
    torch.set_num_threads(1)
    config = GPT2Config(
        vocab_size=300, n_positions=128, n_embd=64, n_layer=2, n_head=2, bos_token_id=298, eos_token_id=299
    )
    model = GPT2LMHeadModel(config).eval()
    for _prompt in range(60):
        tokens = torch.randint(0, 290, (1, 8))
        model.generate(
            tokens,
            attention_mask=torch.ones_like(tokens),
            max_new_tokens=16,
            min_new_tokens=16,
            do_sample=False,
            pad_token_id=299,
        )


if __name__ == "__main__":
    main()
