"""Hugging Face's Trainer as its course shows it: every text is padded to the longest that the model takes when it is tokenized."""

import random

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast, Trainer, TrainingArguments

WORDS = [f"w{number}" for number in range(2000)]


def main():
    torch.set_num_threads(1)
    vocabulary = {word: number for number, word in enumerate(["[PAD]", "[UNK]", *WORDS])}
    words = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="[PAD]", unk_token="[UNK]", model_max_length=256
    )
    texts = [" ".join(random.choices(WORDS, k=random.randint(8, 60))) for _ in range(160)]
    data = Dataset.from_dict({"text": texts, "label": [number % 2 for number in range(160)]})
    data = data.map(lambda rows: tokenizer(rows["text"], padding="max_length", truncation=True), batched=True)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
    )
    args = TrainingArguments(
        output_dir="out",
        per_device_train_batch_size=4,
        report_to="none",
        save_strategy="no",
        max_steps=40,
        use_cpu=True,
    )
    Trainer(model=BertForSequenceClassification(config), args=args, train_dataset=data).train()


if __name__ == "__main__":
    main()
