"""What `pctodl hetero collect` and `launch` read of a training process."""

import os


def report_step(step, steps=None, loss=None):
    """Print the line that ends a step, at once and by rank 0 alone: `step 17/100 loss 0.25`. Steps count from 1."""
    if os.environ.get("RANK", "0") != "0":
        return
    of = "" if steps is None else f"/{steps}"
    tail = "" if loss is None else f" loss {loss:.10g}"
    print(f"step {step}{of}{tail}", flush=True)
