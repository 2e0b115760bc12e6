"""Open-loop client of a Triton server: open-loop.py URL MODEL ITEMS < times of requests, in s. Prints for each: late by, latency, s."""
import sys
import threading
import time

import numpy as np
import tritonclient.grpc as triton

url, model, items = sys.argv[1], sys.argv[2], int(sys.argv[3])
times = [float(line) for line in sys.stdin]
client = triton.InferenceServerClient(url)
image = triton.InferInput("image", [items, 1], "UINT8")
image.set_data_from_numpy(np.zeros((items, 1), np.uint8))
client.infer(model, [image])
done = threading.Semaphore(0)
lines = [""] * len(times)
print("ready", flush=True)
start = time.monotonic()


def send(i, due):
    sent = time.monotonic()

    def answered(result, error):
        latency = float("inf") if error else time.monotonic() - sent
        lines[i] = f"{sent - due:.6f} {latency:.6f}"
        done.release()

    client.async_infer(model, [image], answered)


for i, at in enumerate(times):
    due = start + at
    time.sleep(max(0, due - time.monotonic()))
    send(i, due)
for _ in times:
    done.acquire()
print("\n".join(lines), flush=True)
