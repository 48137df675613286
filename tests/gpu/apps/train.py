"""train.py STEPS: trains two layers, the first on GPU 0 and the second on GPU 1.

Every other column of what the first layer makes crosses: between GPUs that reach each other, PyTorch's copy kernel
writes such a view straight into the other GPU's memory. The gradient comes back as one copy.
"""

import sys

import torch
from torch import nn

ROWS, COLUMNS = 1024, 1024


def main() -> int:
    steps = int(sys.argv[1])
    torch.manual_seed(1)
    first = nn.Linear(64, COLUMNS, device="cuda:0")
    second = nn.Linear(COLUMNS // 2, 1, device="cuda:1")
    optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.01)
    values = torch.randn(ROWS, 64, device="cuda:0")
    losses = []
    for _ in range(steps):
        hidden = torch.relu(first(values))
        moved = hidden[:, ::2].to("cuda:1")
        loss = (second(moved) - 1).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print("losses fall" if losses == sorted(losses, reverse=True) else f"losses {losses}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
