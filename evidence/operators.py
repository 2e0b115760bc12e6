"""Measures operators and passes of a language model on the GPU of this machine: time, board power and clocks.

    python3 operators.py FOLDER [SECONDS] [SEED]

Needs PyTorch and nvidia-ml-py; reads sensors only and changes no setting. Writes FOLDER/operators.csv and FOLDER/power.csv (all power
readings). Each row repeats one operator in a CUDA graph: half a second to let the board settle, then .8 s that is measured. Weights
are random normal, and copied so often that they exceed the L2 cache. `energy_w` is the slope of the energy counter, `instant_w` and
`average_w` are means of the two power readings.
"""

import csv
import math
import random
import sys
import threading
import time

import pynvml
import torch
import torch.nn.functional as functional

SETTLE_S, WINDOW_S, GRAPH_S = 0.5, 0.8, 0.03
CACHE_BYTES = 150e6
FIELDS = (
    "kind,dtype,m,n,k,batch,length,heads,kv_heads,head_dim,latency_ms,energy_w,instant_w,average_w,"
    "sm_clock_mhz,lowest_sm_clock_mhz,mem_clock_mhz,temperature_c,event_reasons"
).split(",")

# hidden, heads, key-value heads, head size, feed-forward, layers, vocabulary
LLAMA_8B = (4096, 32, 8, 128, 14336, 32, 128256)


class Sensors(threading.Thread):
    """Reads the board every 10 ms."""

    def __init__(self):
        super().__init__(daemon=True)
        pynvml.nvmlInit()
        self.board = pynvml.nvmlDeviceGetHandleByIndex(0)
        self.readings = []
        self.stopped = threading.Event()

    def read(self):
        board = self.board
        fields = pynvml.nvmlDeviceGetFieldValues(board, [pynvml.NVML_FI_DEV_POWER_INSTANT, pynvml.NVML_FI_DEV_POWER_AVERAGE])
        instant, average = (each.value.uiVal / 1000 if each.nvmlReturn == 0 else math.nan for each in fields)
        return (
            time.monotonic(),
            pynvml.nvmlDeviceGetTotalEnergyConsumption(board) / 1000,
            instant,
            average,
            pynvml.nvmlDeviceGetClockInfo(board, pynvml.NVML_CLOCK_SM),
            pynvml.nvmlDeviceGetClockInfo(board, pynvml.NVML_CLOCK_MEM),
            pynvml.nvmlDeviceGetTemperature(board, pynvml.NVML_TEMPERATURE_GPU),
            pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(board),
        )

    def run(self):
        while not self.stopped.wait(0.01):
            self.readings.append(self.read())

    def between(self, start, end):
        rows = [row for row in self.readings if start <= row[0] <= end]
        if not rows:
            raise RuntimeError("no reading within the window")
        # The counter moves in steps: its slope is that between two steps.
        steps = [b for a, b in zip(rows, rows[1:]) if b[1] != a[1]]
        slope = (steps[-1][1] - steps[0][1]) / (steps[-1][0] - steps[0][0]) if len(steps) > 1 else math.nan
        column = lambda i: [row[i] for row in rows]
        mean = lambda values: sum(values) / len(values)
        middle = lambda values: sorted(values)[len(values) // 2]
        reasons = 0
        for row in rows:
            reasons |= row[7]
        return {
            "energy_w": round(slope, 1),
            "instant_w": round(mean(column(2)), 1),
            "average_w": round(mean(column(3)), 1),
            "sm_clock_mhz": middle(column(4)),
            "lowest_sm_clock_mhz": min(column(4)),
            "mem_clock_mhz": middle(column(5)),
            "temperature_c": middle(column(6)),
            "event_reasons": reasons,
        }


def values(*shape, dtype=torch.bfloat16):
    return torch.randn(shape, device="cuda", dtype=torch.bfloat16).to(dtype)


def gemm(dtype, m, n, k):
    """One step per copy of the weights."""
    size = n * k * (1 if dtype == "fp8" else 2)
    copies = max(1, min(64, math.ceil(CACHE_BYTES / size)))
    x = values(m, k)
    if dtype == "bfloat16":
        out = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
        weights = [values(n, k) for _ in range(copies)]
        return [lambda w=w: torch.mm(x, w.t(), out=out) for w in weights]
    eighth = torch.float8_e4m3fn
    scale = torch.ones((), device="cuda")
    weights = [values(n, k).to(eighth) for _ in range(copies)]
    return [
        lambda w=w: torch._scaled_mm(x.to(eighth), w.t(), scale_a=scale, scale_b=scale, out_dtype=torch.bfloat16)
        for w in weights
    ]


def attention(kind, batch, length, heads, kv_heads, head_dim):
    queries = length if kind == "prefill" else 1
    cached = length if kind == "prefill" else length + 1
    size = 4 * batch * kv_heads * cached * head_dim
    copies = max(1, min(16, math.ceil(CACHE_BYTES / size)))
    q = values(batch, heads, queries, head_dim)
    caches = [[values(batch, kv_heads, cached, head_dim) for _ in range(2)] for _ in range(copies)]
    return [
        lambda k=k, v=v: functional.scaled_dot_product_attention(
            q, k, v, is_causal=kind == "prefill", enable_gqa=heads != kv_heads
        )
        for k, v in caches
    ]


@torch.compile(dynamic=True)
def rotate(x, cos, sin):
    a, b = x.chunk(2, -1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)


@torch.compile(dynamic=True)
def gated(x):
    gate, up = x.chunk(2, -1)
    return functional.silu(gate) * up


@torch.compile(dynamic=True)
def add_norm(x, y, weight):
    total = x + y
    wide = total.float()
    return total, (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-5)).to(x.dtype) * weight


def language_model(kind, batch, length):
    """One prefill of `length` tokens or one decode step with `length` cached tokens, of Llama 3.1 8B with random weights."""
    hidden, heads, kv_heads, size, feed, layers, vocabulary = LLAMA_8B
    tokens = batch * length if kind == "llm_prefill" else batch
    queries = length if kind == "llm_prefill" else 1
    scale = hidden**-0.5
    made = [
        (
            values((heads + 2 * kv_heads) * size, hidden).mul_(scale),
            values(hidden, heads * size).mul_(scale),
            values(2 * feed, hidden).mul_(scale),
            values(hidden, feed).mul_(scale),
        )
        for _ in range(layers)
    ]
    caches = None
    if kind == "llm_decode":
        caches = [[values(batch, kv_heads, length + 1, size) for _ in range(2)] for _ in range(layers)]
    head = values(vocabulary, hidden).mul_(scale)
    ones = torch.ones(hidden, device="cuda", dtype=torch.bfloat16)
    x0 = values(tokens, hidden)
    cos, sin = values(queries, 1, size // 2), values(queries, 1, size // 2)

    def step():
        x, y = x0, torch.zeros_like(x0)
        for layer, (qkv, out, up, down) in enumerate(made):
            x, normed = add_norm(x, y, ones)
            q, k, v = (normed @ qkv.t()).view(batch, queries, -1, size).split((heads, kv_heads, kv_heads), 2)
            q, k = rotate(q, cos, sin), rotate(k, cos, sin)
            q, k, v = (each.transpose(1, 2) for each in (q, k, v))
            if caches is not None:
                keys, cached = caches[layer]
                keys[:, :, -1:].copy_(k)
                cached[:, :, -1:].copy_(v)
                k, v = keys, cached
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=caches is None, enable_gqa=True)
            y = y.transpose(1, 2).reshape(tokens, heads * size) @ out.t()
            x, normed = add_norm(x, y, ones)
            y = gated(normed @ up.t()) @ down.t()
        x, normed = add_norm(x, y, ones)
        last = normed.view(batch, queries, hidden)[:, -1]
        return last @ head.t()

    return [step]


def steps_of(row):
    kind = row["kind"]
    if kind == "gemm":
        return gemm(row["dtype"], row["m"], row["n"], row["k"])
    if kind.startswith("llm"):
        return language_model(kind, row["batch"], row["length"])
    return attention(kind, *(row[name] for name in ("batch", "length", "heads", "kv_heads", "head_dim")))


def measure(row, sensors):
    steps = steps_of(row)
    aside = torch.cuda.Stream()
    with torch.cuda.stream(aside):
        for _ in range(2):
            for step in steps:
                step()
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for step in steps:
            step()
        end.record()
    torch.cuda.synchronize()
    rounds = max(1, min(200, round(GRAPH_S * 1000 / max(start.elapsed_time(end), 1e-3))))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(rounds):
            for step in steps:
                step()
    for _ in range(2):
        start.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
    once_ms = start.elapsed_time(end)
    for _ in range(math.ceil(1000 * SETTLE_S / once_ms)):
        graph.replay()
    start.record()
    count = math.ceil(1000 * WINDOW_S / once_ms)
    for _ in range(count):
        graph.replay()
    end.record()
    start.synchronize()
    from_s = time.monotonic()
    end.synchronize()
    to_s = time.monotonic()
    latency_ms = start.elapsed_time(end) / count / rounds / len(steps)
    return {**row, "latency_ms": float("%.5g" % latency_ms), **sensors.between(from_s, to_s)}


def plan(seed):
    """Passes of a whole model, then operators of random shapes, the kinds in turn: the run may end anywhere."""
    rng = random.Random(seed)
    passes = [("llm_decode", b, n) for b, n in ((1, 1024), (32, 1024), (32, 4096), (128, 1024), (8, 16384), (256, 512))]
    passes += [("llm_prefill", 1, 512), ("llm_prefill", 1, 4096), ("llm_prefill", 4, 2048)]
    for kind, batch, length in passes:
        yield dict(kind=kind, dtype="bfloat16", batch=batch, length=length)
    sizes = [1024, 1536, 2048, 2560, 3072, 4096, 5120, 6144, 7168, 8192, 10240, 12288, 14336, 16384, 18432, 28672]
    rows = [1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 2048, 4096, 8192]
    while True:
        for dtype in ("bfloat16", "bfloat16", "bfloat16", "fp8"):
            m, n, k = rng.choice(rows), rng.choice(sizes), rng.choice(sizes)
            yield dict(kind="gemm", dtype=dtype, m=m, n=n, k=k)
        for kind in ("decode", "prefill", "decode"):
            while True:
                heads, group, head_dim = rng.choice((8, 16, 32, 64)), rng.choice((1, 4, 8)), rng.choice((64, 128, 128))
                batch = rng.choice((1, 2, 4, 8) if kind == "prefill" else (4, 8, 16, 32, 64, 128, 256))
                length = rng.choice((256, 512, 1024, 2048, 4096, 8192) if kind == "prefill" else (512, 1024, 2048, 4096, 8192, 16384))
                # No more than a few ms, and no more memory than 12 GB.
                if kind == "prefill" and batch * heads * length**2 * head_dim > 4e12:
                    continue
                if batch * length * (heads // group) * head_dim * 4 < 12e9:
                    break
            yield dict(
                kind=kind, dtype="bfloat16", batch=batch, length=length, heads=heads, kv_heads=heads // group, head_dim=head_dim
            )


def main():
    folder = sys.argv[1]
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 600
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    torch.manual_seed(seed)
    torch.set_grad_enabled(False)
    until = time.monotonic() + seconds
    sensors = Sensors()
    sensors.start()
    try:
        with open(folder + "/operators.csv", "w", newline="") as file:
            out = csv.DictWriter(file, FIELDS)
            out.writeheader()
            for row in plan(seed):
                if time.monotonic() + 3 > until:
                    break
                try:
                    out.writerow(measure(row, sensors))
                except (RuntimeError, torch.cuda.OutOfMemoryError) as error:
                    print(row, str(error).splitlines()[0], file=sys.stderr)
                file.flush()
                torch.cuda.empty_cache()
    finally:
        sensors.stopped.set()
        sensors.join()
        with open(folder + "/power.csv", "w", newline="") as file:
            out = csv.writer(file)
            out.writerow("time_s,energy_j,instant_w,average_w,sm_clock_mhz,mem_clock_mhz,temperature_c,event_reasons".split(","))
            zero = sensors.readings[0][0] if sensors.readings else 0
            out.writerows([round(r[0] - zero, 4), *r[1:]] for r in sensors.readings)


if __name__ == "__main__":
    main()
