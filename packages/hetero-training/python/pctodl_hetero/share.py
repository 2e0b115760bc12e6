"""Which samples of each global batch are this process's, and how much its loss counts."""

import os
from dataclasses import dataclass


class ShareError(ValueError):
    """A share that is none: the message names what, its value and what was expected."""


@dataclass(frozen=True)
class Share:
    """Samples `begin` to `end` (exclusive) of each shuffled global batch of `global_batch`, trained by process `rank` of `world`."""

    global_batch: int
    begin: int
    end: int
    rank: int
    world: int
    micro_batches: int = 1

    def __post_init__(self):
        if not 0 <= self.begin < self.end <= self.global_batch:
            raise ShareError(
                f"share: got samples {self.begin} to {self.end} of a global batch of {self.global_batch}; expected at least one, within the batch"
            )
        if not 0 <= self.rank < self.world:
            raise ShareError(f"rank: got {self.rank} of {self.world} processes; expected 0 to {self.world - 1}")

        if not 1 <= self.micro_batches <= self.end - self.begin:
            raise ShareError(
                f"micro_batches: got {self.micro_batches} for {self.end - self.begin} samples; expected at least one, and one sample in each"
            )

    @classmethod
    def from_environment(cls, environment=os.environ):
        """
        The share of this rank: RANK and WORLD_SIZE as torchrun sets them, PCTODL_SHARES and PCTODL_MICRO_BATCHES as `pctodl hetero launch` does.
        Raises ShareError naming the variable that is missing or wrong.
        """

        def numbers(name):
            value = environment.get(name)
            if value is None:
                raise ShareError(f"{name}: not set; start torchrun with pctodl hetero launch, or make an even Share with Share.even()")
            words = value.split(",")
            if not all(word.isascii() and word.isdigit() for word in words):
                raise ShareError(f"{name}: got '{value}'; expected integers of at least 0, separated by commas")
            return [int(word) for word in words]

        rank, world = numbers("RANK")[0], numbers("WORLD_SIZE")[0]
        shares, micro_batches = numbers("PCTODL_SHARES"), numbers("PCTODL_MICRO_BATCHES")
        if not (len(shares) == len(micro_batches) == world and rank < world):
            raise ShareError(f"PCTODL_SHARES: got {len(shares)} shares for rank {rank} of {world}; expected one for each process")
        begin = sum(shares[:rank])
        return cls(sum(shares), begin, begin + shares[rank], rank, world, micro_batches[rank])

    @classmethod
    def even(cls, global_batch, rank, world):
        """As even a split as there is: the first processes take one sample more where the batch does not divide."""
        if world < 1:
            raise ShareError(f"world: got {world}; expected at least one process")
        small, more = divmod(global_batch, world)
        begin = rank * small + min(rank, more)
        return cls(global_batch, begin, begin + small + (1 if rank < more else 0), rank, world)

    @property
    def size(self):
        """Samples of this process in each step."""
        return self.end - self.begin

    @property
    def loss_scale(self):
        """
        What the mean loss of this process is multiplied by. Data-parallel training averages the gradients of all processes alike; the gradient
        of the whole batch is the sum of (size / global batch) * gradient, so that each loss counts world * size / global batch.
        """
        return self.world * self.size / self.global_batch

    def parts(self):
        """Slices of this process's batch, one for each micro-batch, as even as there are. Only the last needs to exchange gradients."""
        small, more = divmod(self.size, self.micro_batches)
        begin = 0
        for part in range(self.micro_batches):
            end = begin + small + (1 if part < more else 0)
            yield slice(begin, end)
            begin = end

    def scale_loss(self, mean_loss, samples=None):
        """
        The loss to call backward() on, of the mean over the samples of this process (or over so many of them, in a micro-batch): gradients,
        added up over the micro-batches, are then those of the even split.
        """
        return mean_loss * (self.loss_scale if samples is None else self.world * samples / self.global_batch)

    def global_loss(self, mean_loss):
        """The mean loss of the whole batch as a number, the same on all processes. All of them must call it: it is an all-reduce."""
        import torch.distributed as distributed

        total = mean_loss.detach().clone() * (self.size / self.global_batch)
        if self.world > 1:
            distributed.all_reduce(total)
        return total.item()
