"""Train GPCN-LINK with nothing but PyTorch: the loop is yours."""

import torch
import torch.nn.functional as F

import gpcn
from gpcn.nn import GPCNLink, inputs_of

graph = gpcn.synthesize(nodes=1000, classes=4, homophily=0.1, mixing="ring", splits=1)  # or gpcn.load("texas")
x, links = inputs_of(graph)
labels = torch.tensor(graph.labels)
train, val, test = (torch.tensor(getattr(graph.splits[0], part)) for part in ("train", "val", "test"))

torch.manual_seed(0)
model = GPCNLink(graph.num_features, 64, graph.num_classes, layers=2, dropout=0.3, num_nodes=graph.num_nodes)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=1e-3, fused=True)

best, kept = float("inf"), {}
for _ in range(100):
    model.train()
    optimizer.zero_grad()
    F.cross_entropy(model(x, links)[train], labels[train]).backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        loss = F.cross_entropy(model(x, links)[val], labels[val]).item()
    if loss < best:
        best, kept = loss, {name: value.clone() for name, value in model.state_dict().items()}

model.load_state_dict(kept)
accuracy = (model(x, links)[test].argmax(1) == labels[test]).float().mean().item()
hops = ", ".join(f"{value:.2f}" for value in model.coefficients())
print(f"test accuracy {accuracy:.3f}; weight of each hop {hops}; share of convolution {model.mix():.2f}")
