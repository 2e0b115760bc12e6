"""Inference worker on PyTorch for the pool of @pctodl/tenants.

Speaks the pool's protocol, versions 1 and 2: commands as JSON lines on standard input, reports on standard output. Needs torch, and
torchvision or timm. Everything that is measured runs on the main thread; commands and heartbeats have threads of their own.
"""

import json
import os
import queue
import signal
import sys
import threading
import time

from pctodl_resident_networks import captured, step_maker

PROTOCOL_VERSION = 2
HEARTBEAT_S = 0.1
REPORT_S = 0.01

START_FIELDS = {
    "type": str,
    "version": int,
    "model": str,
    "modelFile": (str, type(None)),
    "mpsPercent": (int, float),
    "batchSize": int,
    "images": dict,
    "logFile": (str, type(None)),
    "sampleBytes": (int, float, type(None)),
    "memoryLimitBytes": (int, float, type(None)),
    "options": dict,
}
# What version 2 has besides.
START_FIELDS_2 = {"mode": str, "batchSizes": list}
FIELDS = {
    "start": START_FIELDS,
    "run": {"type": str, "id": int, "requests": int, "batchSize": int},
    "batch": {"type": str, "id": int, "batchSize": int},
    "report": {"type": str, "id": int},
    "drain": {"type": str, "id": int},
}


def monotonic_ms():
    """CLOCK_MONOTONIC, the clock that the pool compares with its own."""
    return time.monotonic() * 1000.0


def parse_command(line):
    """A command of this version, or ValueError with what was expected."""
    command = json.loads(line)
    if not isinstance(command, dict) or command.get("type") not in FIELDS:
        raise ValueError("command.type: expected one of %s" % ", ".join(FIELDS))
    fields = FIELDS[command["type"]]
    if command["type"] == "start" and command.get("version") == 2:
        fields = {**START_FIELDS, **START_FIELDS_2}
    for name, kind in fields.items():
        if name not in command or not isinstance(command[name], kind):
            raise ValueError("command.%s: missing or of another type (protocol %d)" % (name, PROTOCOL_VERSION))
    unknown = set(command) - set(fields)
    if unknown:
        version = command.get("version", PROTOCOL_VERSION)
        raise ValueError("command.%s: not in protocol %s" % (sorted(unknown)[0], version))
    if command["type"] == "start" and command["version"] not in (1, PROTOCOL_VERSION):
        raise ValueError("command.version: got %r, expected 1 or %d" % (command["version"], PROTOCOL_VERSION))
    if command.get("mode", "free") not in ("free", "on-request"):
        raise ValueError("command.mode: got %r, expected free or on-request" % command["mode"])
    if command["type"] == "run" and not 1 <= command["requests"] <= command["batchSize"]:
        raise ValueError("command.requests: got %r, expected 1 to batchSize" % command["requests"])
    return command


class Side:
    """The worker's end of the protocol: commands in, counters out."""

    def __init__(self):
        self.lock = threading.RLock()
        self.start = None
        self.started = threading.Event()
        self.batch_size = 1
        self.on_request = False
        # Batches that were asked for, (id, requests, batch size); None: no more come.
        self.asked = queue.SimpleQueue()
        self.drain_id = None
        self.log = None
        self.samples = 0
        self.batches = 0
        self.latency_sum_ms = 0.0
        self.last_completion_ms = 0.0
        self.completed_batch_size = 1
        self.latencies_ms = []
        self.reported_at = 0.0

    def listen(self):
        threading.Thread(target=self._read_commands, daemon=True).start()
        threading.Thread(target=self._beat, daemon=True).start()

    def send(self, report):
        """At once and as a whole, so that what is sent survives whatever happens to the process next."""
        data = (json.dumps(report) + "\n").encode()
        with self.lock:
            try:
                while data:
                    data = data[os.write(1, data) :]
            except OSError:
                os.kill(os.getpid(), signal.SIGKILL)

    def ready(self):
        self.last_completion_ms = monotonic_ms()
        self.completed_batch_size = self.batch_size
        self.send({"type": "ready", "atMs": self.last_completion_ms})

    def completed(self, samples, latency_ms, at_ms):
        with self.lock:
            self.samples += samples
            self.batches += 1
            self.latency_sum_ms += latency_ms
            self.last_completion_ms = at_ms
            self.completed_batch_size = samples
            self.latencies_ms.append(latency_ms)
        if time.monotonic() - self.reported_at >= REPORT_S:
            self.report()

    def answered(self, run_id, requests, batch_ms, at_ms):
        """The batch of a `run` is done: said at once, because somebody waits."""
        self.completed(requests, batch_ms, at_ms)
        self.send({"type": "answered", "id": run_id, "atMs": at_ms, "batchMs": batch_ms})

    def report(self, command_id=None):
        with self.lock:
            report = {
                "type": "progress",
                "samples": self.samples,
                "batches": self.batches,
                "latencySumMs": self.latency_sum_ms,
                "lastCompletionMs": self.last_completion_ms,
                "batchSize": self.completed_batch_size,
                "latenciesMs": self.latencies_ms,
            }
            if command_id is not None:
                report["id"] = command_id
            self.latencies_ms = []
            self.reported_at = time.monotonic()
            self.send(report)
            if self.log is not None:
                line = {"samples": report["samples"], "batches": report["batches"]}
                try:
                    os.write(self.log, (json.dumps(line) + "\n").encode())
                except OSError as error:
                    # A full disk must not end a tenant.
                    print("its log ends here: %s" % error.strerror, file=sys.stderr)
                    os.close(self.log)
                    self.log = None

    def fail(self, reason, message, **more):
        with self.lock:
            self.send(dict(type="failed", reason=reason, message=message, **more))
            os._exit(1)

    def drained(self):
        with self.lock:
            self.report(self.drain_id)
            self.send({"type": "drained", "id": self.drain_id})
            os._exit(0)

    def _read_commands(self):
        for line in sys.stdin:
            if not line.strip():
                continue
            try:
                command = parse_command(line)
            except ValueError as error:
                self.fail("error", str(error))
            if command["type"] == "start":
                self.start = command
                self.batch_size = command["batchSize"]
                self.on_request = command.get("mode") == "on-request"
                if command["logFile"] is not None:
                    # A link that somebody has planted in the folder of logs leads nowhere, and a pipe does not block.
                    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK
                    try:
                        self.log = os.open(command["logFile"], flags, 0o644)
                    except OSError as error:
                        self.fail("error", "cannot write %s: %s" % (command["logFile"], error.strerror))
                self.started.set()
            elif command["type"] == "batch":
                self.batch_size = command["batchSize"]
            elif command["type"] == "run":
                if not self.on_request:
                    self.fail("error", "command.type: run is for a worker that was started on request")
                self.asked.put((command["id"], command["requests"], command["batchSize"]))
            elif command["type"] == "report":
                self.report(command["id"])
            else:
                self.drain_id = command["id"]
                self.asked.put(None)
        # Without the pool there is nothing to live for.
        os.kill(os.getpid(), signal.SIGKILL)

    def _beat(self):
        while True:
            time.sleep(HEARTBEAT_S)
            with self.lock:
                if self.latencies_ms:
                    self.report()
                self.send({"type": "heartbeat", "atMs": monotonic_ms()})


def load_model(side, torch, name, pretrained):
    """A network of torchvision, or of timm where torchvision has none of that name. The import of timm takes seconds."""
    zoos = []
    try:
        import torchvision

        zoos.append("torchvision")
        if name in torchvision.models.list_models(module=torchvision.models):
            model = torchvision.models.get_model(name, weights="DEFAULT" if pretrained else None)
            return model, "torchvision %s" % torchvision.__version__
    except ImportError:
        pass
    try:
        import timm

        zoos.append("timm")
        if timm.is_model(name):
            return timm.create_model(name, pretrained=pretrained), "timm %s" % timm.__version__
    except ImportError:
        pass
    if not zoos:
        side.fail("missing", "this worker needs torchvision or timm; install one: pip install torchvision")
    side.fail("error", "unknown model '%s': %s has none of that name" % (name, " or ".join(zoos)))


def ran_out_of_memory(torch, error):
    return isinstance(error, (MemoryError, torch.cuda.OutOfMemoryError)) or (
        isinstance(error, RuntimeError) and ("out of memory" in str(error) or "can't allocate memory" in str(error))
    )


def main():
    side = Side()
    side.listen()
    side.started.wait()
    start = side.start
    options = start["options"]
    try:
        import torch
    except ImportError as error:
        side.fail("missing", "this worker needs PyTorch (%s); install it: pip install torch torchvision" % error)

    wanted = options.get("device", "auto")
    note = None
    if wanted == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
        if device == "cpu":
            note = "on the processor: torch sees no CUDA device"
    else:
        device = wanted
    half = options.get("precision", "fp16" if device == "cuda" else "fp32") == "fp16"
    channels_last = bool(options.get("channelsLast", False))
    torch.set_num_threads(int(options.get("threads", 1)))
    torch.manual_seed(1)
    torch.set_grad_enabled(False)
    dtype = torch.float16 if half else torch.float32
    resident = bool(options.get("residentInputs", False))
    if resident:
        try:
            make_step, zoo = step_maker(torch, start["model"], start["modelFile"], device, dtype)
        except Exception as error:  # noqa: BLE001: whatever it is, the pool has to hear of it
            side.fail("error", "%s: %s: %s" % (start["model"], type(error).__name__, error))
        zoo += ", inputs resident, CUDA graphs where they can be captured"
    else:
        model, zoo = load_model(side, torch, start["model"], bool(options.get("pretrained", False)))
        memory_format = torch.channels_last if channels_last else torch.contiguous_format
        model = model.eval().to(device=device, dtype=dtype, memory_format=memory_format)

        images = start["images"]
        shape = (images["count"], images["channels"], images["height"], images["width"])
        pool = torch.from_file(images["file"], size=shape[0] * shape[1] * shape[2] * shape[3]).reshape(shape).to(dtype)
        if device == "cuda":
            pool = pool.pin_memory()
    name = torch.cuda.get_device_name() if device == "cuda" else "cpu"
    layout = "channels-last" if channels_last else "channels-first"
    hello = {
        "type": "hello",
        "version": start["version"],
        "runtime": "torch %s, %s, %s, %s" % (torch.__version__, zoo, "fp16" if half else "fp32", layout),
        "device": name,
    }
    if note is not None:
        hello["note"] = note
    side.send(hello)

    following = [0]
    # The step of the batch size in use; another one frees the memory of the one before.
    steps = {}

    def run(batch_size):
        if resident:
            if batch_size not in steps:
                steps.clear()
                step = make_step(batch_size)
                steps[batch_size] = captured(torch, step) if device == "cuda" else step
            steps[batch_size]()
            if device == "cuda":
                torch.cuda.synchronize()
            return
        sample_bytes, limit = start["sampleBytes"], start["memoryLimitBytes"]
        if device == "cpu" and sample_bytes is not None and limit is not None and sample_bytes * batch_size > limit:
            raise MemoryError("needs about %d bytes, %d are allowed" % (sample_bytes * batch_size, limit))
        # Put together on the host and copied over every time: that is part of serving a batch.
        index = torch.arange(following[0], following[0] + batch_size) % shape[0]
        following[0] = (following[0] + batch_size) % shape[0]
        batch = pool.index_select(0, index)
        batch = batch.to(device=device, memory_format=memory_format, non_blocking=True)
        model(batch)
        if device == "cuda":
            torch.cuda.synchronize()

    def run_or_fail(batch_size):
        try:
            run(batch_size)
            return
        except Exception as error:  # noqa: BLE001: whatever it is, the pool has to hear of it
            if not ran_out_of_memory(torch, error):
                side.fail("error", "%s: %s" % (type(error).__name__, error))
            first = str(error).splitlines()[0]
        smaller = batch_size // 2
        while smaller >= 1:
            try:
                if device == "cuda":
                    torch.cuda.empty_cache()
                run(smaller)
                break
            except Exception as error:  # noqa: BLE001
                if not ran_out_of_memory(torch, error):
                    side.fail("error", "%s: %s" % (type(error).__name__, error))
                smaller //= 2
        message = "%s at batch %d: %s" % (start["model"], batch_size, first)
        side.fail("out-of-memory", message, batchSize=batch_size, largestBatchSize=smaller if smaller >= 1 else None)

    # The first batch of each size takes longer: nobody shall wait for it.
    for batch_size in start["batchSizes"] if side.on_request else [side.batch_size]:
        run_or_fail(batch_size)
    side.ready()
    while side.on_request or side.drain_id is None:
        asked = side.asked.get() if side.on_request else (None, side.batch_size, side.batch_size)
        if asked is None:
            break
        run_id, requests, batch_size = asked
        started_ms = monotonic_ms()
        run_or_fail(batch_size)
        at_ms = monotonic_ms()
        if side.on_request:
            side.answered(run_id, requests, at_ms - started_ms, at_ms)
        else:
            side.completed(requests, at_ms - started_ms, at_ms)
    side.drained()


if __name__ == "__main__":
    main()
