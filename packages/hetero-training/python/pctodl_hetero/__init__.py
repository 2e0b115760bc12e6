"""Uneven data-parallel training: what a process under `pctodl hetero launch` needs to train on its share of each batch."""

from .sampler import UnevenBatchSampler
from .share import Share, ShareError
from .step_reports import report_step

__all__ = ["Share", "ShareError", "UnevenBatchSampler", "report_step"]
