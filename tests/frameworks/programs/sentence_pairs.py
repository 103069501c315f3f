"""sentence-transformers: its trainer on pairs of sentences, a small encoder with random weights."""

import tempfile

import torch
from datasets import Dataset
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
    losses,
    models,
)


class Encoder(torch.nn.Module):
    """Letters to embeddings: what stands where a downloaded encoder would."""

    def __init__(self):
        super().__init__()
        self.letters = torch.nn.Embedding(256, 48)
        self.mix = torch.nn.TransformerEncoderLayer(48, 2, 96, batch_first=True)

    def tokenize(self, texts, **kwargs):
        numbers = [list(str(text).encode()[:40].ljust(40)) for text in texts]
        return {"input_ids": torch.tensor(numbers), "attention_mask": torch.ones(len(numbers), 40)}

    preprocess = tokenize

    def forward(self, features, **kwargs):
        features["token_embeddings"] = self.mix(self.letters(features["input_ids"]))
        return features

    def get_config_dict(self):
        return {}

    def save(self, *args, **kwargs):
        return None


def main():
    torch.set_num_threads(1)
    model = SentenceTransformer(modules=[Encoder(), models.Pooling(48)], device="cpu")
    data = Dataset.from_dict(
        {"anchor": [f"question {n}" for n in range(640)], "positive": [f"answer {n}" for n in range(640)]}
    )
    with tempfile.TemporaryDirectory() as folder:
        arguments = SentenceTransformerTrainingArguments(
            output_dir=folder, per_device_train_batch_size=8, num_train_epochs=1, report_to=[], save_strategy="no",
            logging_strategy="no", disable_tqdm=True, use_cpu=True,
        )  # fmt: skip
        SentenceTransformerTrainer(
            model, arguments, train_dataset=data, loss=losses.MultipleNegativesRankingLoss(model)
        ).train()


if __name__ == "__main__":
    main()
