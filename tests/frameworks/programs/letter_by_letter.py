"""A model of letters as tutorials write it: nn.LSTM is called for one letter at a time, and hands its state on."""

import random
import string

import torch
from torch import nn

torch.set_num_threads(1)

LETTERS = string.printable
SIZE, LENGTH, CHUNKS = 64, 50, 16


class CharRNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Embedding(len(LETTERS), SIZE)
        self.rnn = nn.LSTM(SIZE, SIZE, 2)
        self.decoder = nn.Linear(SIZE, len(LETTERS))

    def forward(self, letters, hidden):
        batch = letters.size(0)
        output, hidden = self.rnn(self.encoder(letters).view(1, batch, -1), hidden)
        return self.decoder(output.view(batch, -1)), hidden


def chunks(text):
    starts = [random.randint(0, len(text) - LENGTH - 2) for _ in range(CHUNKS)]
    numbers = torch.tensor([[LETTERS.index(letter) for letter in text[at : at + LENGTH + 1]] for at in starts])
    return numbers[:, :-1], numbers[:, 1:]


def main():
    random.seed(0)
    text = "".join(random.choices(LETTERS, k=20_000))
    model, criterion = CharRNN(), nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(30):
        letters, following = chunks(text)
        hidden = (torch.zeros(2, CHUNKS, SIZE), torch.zeros(2, CHUNKS, SIZE))
        model.zero_grad()
        loss = 0
        for place in range(LENGTH):
            output, hidden = model(letters[:, place], hidden)
            loss += criterion(output, following[:, place])
        loss.backward()
        optimizer.step()
        print(step, loss.item() / LENGTH)


if __name__ == "__main__":
    main()
