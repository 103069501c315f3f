"""PEFT: LoRA on a small GPT-2 with random weights, tokens in memory; the model is the step."""

import torch
from peft import LoraConfig, get_peft_model
from torch.utils.data import DataLoader, TensorDataset
from transformers import GPT2Config, GPT2LMHeadModel


def main():
    torch.set_num_threads(1)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=500, n_positions=128, n_embd=128, n_layer=3, n_head=4))
    model = get_peft_model(model, LoraConfig(r=4, target_modules=["c_attn"], fan_in_fan_out=True))
    tokens = torch.randint(0, 500, (8 * 60, 128))
    optimizer = torch.optim.AdamW([weight for weight in model.parameters() if weight.requires_grad], 1e-3)
    for (batch,) in DataLoader(TensorDataset(tokens), batch_size=8):
        optimizer.zero_grad()
        model(input_ids=batch, labels=batch).loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
