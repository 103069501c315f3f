"""trl: a reward model on pairs of texts, evaluated every 5 steps; its collator pads to the longest of each batch."""

import random
import tempfile

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForSequenceClassification, PreTrainedTokenizerFast
from trl import RewardConfig, RewardTrainer

WORDS = ["step", "batch", "loss", "graph", "layer", "input", "wait", "copy"]


def tokenizer():
    vocabulary = {word: number for number, word in enumerate(["<pad>", "<eos>", "<unk>", *WORDS])}
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>")


def texts(rows):
    drawn = random.Random(rows)
    return [" ".join(drawn.choices(WORDS, k=drawn.randint(4, 48))) for _ in range(rows)]


def main():
    torch.set_num_threads(1)
    sizes = {"hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = LlamaConfig(vocab_size=64, num_labels=1, pad_token_id=0, eos_token_id=1, bos_token_id=1, **sizes)
    with tempfile.TemporaryDirectory() as folder:
        arguments = RewardConfig(
            output_dir=folder,
            per_device_train_batch_size=4,
            max_steps=60,
            eval_strategy="steps",
            eval_steps=5,
            save_strategy="no",
            report_to=[],
            use_cpu=True,
            bf16=False,
            disable_tqdm=True,
            gradient_checkpointing=False,
        )
        trainer = RewardTrainer(
            model=LlamaForSequenceClassification(config),
            args=arguments,
            train_dataset=Dataset.from_dict({"chosen": texts(240), "rejected": texts(241)[:240]}),
            eval_dataset=Dataset.from_dict({"chosen": texts(64), "rejected": texts(65)[:64]}),
            processing_class=tokenizer(),
        )
        trainer.train()


if __name__ == "__main__":
    main()
