"""GPCN where you have a PyTorch Geometric `Data`: it takes `x` and `edge_index` like any model of theirs."""

import torch
import torch.nn.functional as F

import gpcn
from gpcn.nn import GPCN

data = gpcn.to_pyg(gpcn.synthesize(nodes=1000, classes=4, homophily=0.1, mixing="ring", splits=1))  # your own Data here

torch.manual_seed(0)
model = GPCN(data.num_features, 64, int(data.y.max()) + 1, layers=2, gamma=0.5, dropout=0.3)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=1e-3)

for _ in range(100):
    model.train()
    optimizer.zero_grad()
    logits = model(data.x, data.edge_index)
    F.cross_entropy(logits[data.train_mask], data.y[data.train_mask]).backward()
    optimizer.step()

model.eval()
predicted = model(data.x, data.edge_index).argmax(dim=1)
accuracy = (predicted == data.y)[data.test_mask].float().mean().item()
print(f"test accuracy {accuracy:.3f}")
