"""A small decoder with causal attention, in bfloat16 autocast with AdamW."""

import torch
from torch import Tensor, nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
width, depth, length, batch = (1024, 8, 1024, 8) if device.type == "cuda" else (64, 2, 32, 2)
WORDS = 8192 if device.type == "cuda" else 128


class Block(nn.Module):
    """Attention and a feed-forward layer."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.projections, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.layers = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, hidden: Tensor) -> Tensor:
        heads = width // 64
        query, key, value = (
            part.unflatten(-1, (heads, 64)).transpose(1, 2)
            for part in self.projections(self.first(hidden)).chunk(3, dim=-1)
        )
        attended = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        hidden = hidden + self.out(attended.transpose(1, 2).flatten(2))
        return hidden + self.layers(self.second(hidden))


def decoder() -> nn.Module:
    return nn.Sequential(
        nn.Embedding(WORDS, width), *(Block() for _ in range(depth)), nn.LayerNorm(width), nn.Linear(width, WORDS)
    )


def train(model: nn.Module, steps: int) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=device.type == "cuda")
    words = torch.randint(0, WORDS, (batch, length + 1), device=device)
    for _ in range(steps):
        with torch.autocast(device.type, dtype=torch.bfloat16):
            loss = nn.functional.cross_entropy(model(words[:, :-1]).flatten(0, 1), words[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()


def main() -> None:
    torch.manual_seed(0)
    train(decoder().to(device), 100)


if __name__ == "__main__":
    main()
