"""The samples of one process, batch after batch."""

import random

from .share import ShareError


class UnevenBatchSampler:
    """
    Indices of this process's part of each global batch, for `DataLoader(dataset, batch_sampler=...)`. All processes shuffle alike (by seed
    and epoch), so that together they see each sample once an epoch, and the same samples in each step however the batch is split. What is
    left after the last whole global batch waits for another epoch, in which the order is another.
    """

    def __init__(self, samples, share, seed=0, shuffle=True):
        """`samples`: how many the data set has; at least one global batch."""
        if samples < share.global_batch:
            raise ShareError(f"samples: got {samples}; expected at least a global batch of {share.global_batch}")
        self.samples = samples
        self.share = share
        self.seed = seed
        self.shuffle = shuffle
        self.epoch = 0

    def set_epoch(self, epoch):
        """Call before each epoch, on all processes, for another order."""
        self.epoch = epoch

    def __len__(self):
        return self.samples // self.share.global_batch

    def __iter__(self):
        order = list(range(self.samples))
        if self.shuffle:
            random.Random(f"{self.seed} {self.epoch}").shuffle(order)
        for batch in range(len(self)):
            first = batch * self.share.global_batch
            yield order[first + self.share.begin : first + self.share.end]
