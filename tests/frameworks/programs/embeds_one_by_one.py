"""Embeddings of 3,000 short texts for a search index: one text a call of the model."""

import torch
from torch import nn

torch.set_num_threads(1)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(5000, 96)
        layer = nn.TransformerEncoderLayer(96, 4, 192, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 3)

    def forward(self, ids):
        return self.layers(self.words(ids)).mean(1)


def tokens(text):
    return [hash(word) % 5000 for word in text.split()]


@torch.inference_mode()
def main():
    model = Encoder().eval()
    texts = [" ".join(f"word{(i * 7 + j) % 911}" for j in range(12)) for i in range(3000)]
    index = []
    for text in texts:
        ids = torch.tensor([tokens(text)])
        index.append(model(ids)[0])
    print(torch.stack(index).shape)


if __name__ == "__main__":
    main()
