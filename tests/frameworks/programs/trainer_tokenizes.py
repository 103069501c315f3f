"""Hugging Face Trainer; the text is split and numbered anew for every sample."""

import os
import tempfile

import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

WORDS = ["step", "batch", "loss", "graph", "layer", "input", "wait", "copy"]


class Reviews(Dataset):
    def __len__(self):
        return 800

    def __getitem__(self, index):
        text = " ".join(WORDS[(index * place) % 8] for place in range(2500))
        numbers = [WORDS.index(word) + 1 for word in text.split()]
        return {
            "input_ids": torch.tensor(numbers[:32]),
            "attention_mask": torch.ones(32, dtype=torch.long),
            "labels": index % 2,
        }


if __name__ == "__main__":
    torch.set_num_threads(1)
    config = BertConfig(
        vocab_size=10,
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=32,
    )
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=os.path.join(folder, "out"),
            per_device_train_batch_size=8,
            num_train_epochs=1,
            report_to=[],
            save_strategy="no",
            logging_strategy="no",
            disable_tqdm=True,
            use_cpu=True,
        )
        Trainer(model=BertForSequenceClassification(config), args=arguments, train_dataset=Reviews()).train()
