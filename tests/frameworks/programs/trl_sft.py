"""trl: SFT on a tiny Llama with random weights; a checkpoint every 10 steps."""

import tempfile

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import SFTConfig, SFTTrainer

WORDS = ["step", "batch", "loss", "graph", "layer", "input", "wait", "copy"]


def tokenizer():
    vocabulary = {word: number for number, word in enumerate(["<pad>", "<eos>", "<unk>", *WORDS])}
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>")


def main():
    torch.set_num_threads(1)
    texts = [" ".join(WORDS[(row * place) % 8] for place in range(4 + row % 24)) for row in range(640)]
    config = LlamaConfig(
        vocab_size=6000,
        hidden_size=256,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=2,
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=1,
    )
    with tempfile.TemporaryDirectory() as folder:
        arguments = SFTConfig(
            output_dir=folder,
            per_device_train_batch_size=4,
            max_steps=60,
            save_steps=10,
            save_total_limit=2,
            report_to=[],
            logging_steps=10,
            use_cpu=True,
            bf16=False,
            disable_tqdm=True,
            max_length=32,
            gradient_checkpointing=False,
        )
        trainer = SFTTrainer(
            model=LlamaForCausalLM(config),
            args=arguments,
            train_dataset=Dataset.from_dict({"text": texts}),
            processing_class=tokenizer(),
        )
        trainer.train()


if __name__ == "__main__":
    main()
