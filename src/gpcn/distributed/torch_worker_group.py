"""`TorchWorkerGroup`: what the processes of one training tell each other, over `torch.distributed`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
import torch.distributed as dist
from torch import Tensor


class TorchWorkerGroup:
    """All processes of the default process group; each calls the same methods in the same order."""

    def __init__(self) -> None:
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self.bytes_sent = 0

    def total(self, amount: float) -> float:
        """The sum of what every worker has."""
        summed = torch.tensor(amount, dtype=torch.float64)
        self._all_reduce(summed)
        return float(summed)

    def gather(self, rows: Tensor) -> Tensor:
        """The rows of all workers, in the order of their ranks."""
        sizes = self.gather_integers([rows.shape[0]])[:, 0]
        longest = int(sizes.max())
        padded = rows.new_zeros(longest, *rows.shape[1:])
        padded[: rows.shape[0]] = rows.detach()
        parts = [torch.empty_like(padded) for _ in range(self.size)]
        dist.all_gather(parts, padded)
        self.bytes_sent += padded.nbytes * (self.size - 1)
        return torch.cat([part[:size] for part, size in zip(parts, sizes.tolist(), strict=True)])

    def gather_integers(self, numbers: Sequence[int]) -> Tensor:
        """Equally many numbers of every worker, `[workers, count]`."""
        values = torch.tensor(list(numbers), dtype=torch.int64)
        parts = [torch.empty_like(values) for _ in range(self.size)]
        dist.all_gather(parts, values)
        return torch.stack(parts)

    def agree(self, numbers: Sequence[int]) -> bool:
        """Whether all workers have the same numbers."""
        lengths = self.gather_integers([len(numbers)])
        return bool((lengths == len(numbers)).all()) and bool(
            (self.gather_integers(numbers) == torch.tensor(numbers)).all()
        )

    def wait_for_all(self) -> None:
        """Go on when all workers are here."""
        self.total(0.0)

    def sum_gradients(self, parameters: Iterable[torch.nn.Parameter]) -> None:
        """Replace every gradient by its sum over all workers, in one message."""
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        if not gradients:
            return
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        self._all_reduce(flat)
        for gradient, summed in zip(
            gradients, torch.split(flat, [gradient.numel() for gradient in gradients]), strict=True
        ):
            gradient.copy_(summed.view_as(gradient))

    def begin_exchange(self, outgoing: Sequence[Tensor], incoming: Sequence[Tensor]) -> list[dist.Work]:
        """Send `outgoing[q]` to worker `q` and receive `incoming[q]` from it; wait for what is returned."""
        messages = []
        for other in range(self.size):
            if other == self.rank:
                continue
            if outgoing[other].numel():
                messages.append(dist.P2POp(dist.isend, outgoing[other], other))
                self.bytes_sent += outgoing[other].nbytes
            if incoming[other].numel():
                messages.append(dist.P2POp(dist.irecv, incoming[other], other))
        return list(dist.batch_isend_irecv(messages)) if messages else []

    def _all_reduce(self, tensor: Tensor) -> None:
        dist.all_reduce(tensor)
        self.bytes_sent += 2 * tensor.nbytes * (self.size - 1) // self.size
