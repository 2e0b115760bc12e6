// A training job without the training: real loaders decode, resize and normalise JPEG images, and a step of fixed length
// stands for the GPU. It understands the options that the profiler sets, and reports both ways that the profiler reads.
//
//   node image-loader.mjs --data DIR [--batch-size 8] [--workers 1] [--max-iterations 50] [--job-name job-0]
//     [--step-ms 0] [--cached-percent 100] [--storage-mbps RATE]
//
// The cache holds a fixed part of the images. Reading any other one takes as long as a storage of the given rate would.
import { fork } from 'node:child_process'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'

const { values } = parseArgs({
  allowPositionals: true,
  options: {
    data: { type: 'string' },
    'batch-size': { type: 'string', short: 'b', default: '8' },
    workers: { type: 'string', short: 'j', default: '1' },
    'max-iterations': { type: 'string', default: '50' },
    'job-name': { type: 'string', default: 'job-0' },
    local_rank: { type: 'string', default: '0' },
    'step-ms': { type: 'string', default: '0' },
    'cached-percent': { type: 'string', default: '100' },
    'storage-mbps': { type: 'string', default: '1e9' },
  },
})

if (process.env.LOADER_WORKER) await work()
else await train()

/** A loader: takes names of images, answers when a tensor is ready. */
async function work() {
  const { default: sharp } = await import('sharp')
  sharp.concurrency(1)
  sharp.cache(false)
  const tensor = new Float32Array(224 * 224 * 3)
  process.on('message', async (file) => {
    const pixels = await sharp(readFileSync(file)).resize(224, 224, { fit: 'cover' }).removeAlpha().raw().toBuffer()
    for (let i = 0; i < tensor.length; i++) tensor[i] = (pixels[i] / 255 - 0.45) / 0.22
    process.send(tensor[0])
  })
  process.on('disconnect', () => process.exit(0))
}

async function train() {
  const folder = path.join(values.data, 'train')
  const files = readdirSync(folder).map((name) => path.join(folder, name))
  const bytes = files.map((file) => statSync(file).size)
  const [batch, iterations, workers] = ['batch-size', 'max-iterations', 'workers'].map((name) => Number(values[name]))
  const cached = (Number(values['cached-percent']) / 100) * bytes.reduce((sum, size) => sum + size, 0)
  const bytesPerMs = (Number(values['storage-mbps']) * 2 ** 20) / 1000
  const isCached = files.map((_, i) => bytes.slice(0, i).reduce((sum, size) => sum + size, 0) < cached)

  // Storage: one request after the other, each done when its bytes are through.
  const fetched = []
  let fetcherWaits = () => {}
  let storageFreeMs = performance.now()
  let next = 0
  const fetchMore = async () => {
    for (;;) {
      while (fetched.length >= 4 * batch) await new Promise((resolve) => (fetcherWaits = resolve))
      const image = (next++ * 37) % files.length
      if (!isCached[image]) {
        storageFreeMs = Math.max(storageFreeMs, performance.now()) + bytes[image] / bytesPerMs
        const waitMs = storageFreeMs - performance.now()
        // Timers are no finer than a millisecond: waits are saved up, the rate is kept.
        if (waitMs > 2) await new Promise((resolve) => setTimeout(resolve, waitMs))
      }
      fetched.push(files[image])
      feed()
      if (next % 64 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
  }

  const idle = []
  let ready = 0
  let trainerWaits = () => {}
  const feed = () => {
    while (idle.length > 0 && fetched.length > 0 && ready < 4 * batch) idle.pop().send(fetched.shift())
    fetcherWaits()
  }
  const loaders = Array.from({ length: Math.max(1, workers) }, () =>
    fork(process.argv[1], [], { env: { ...process.env, LOADER_WORKER: '1', UV_THREADPOOL_SIZE: '1' } }),
  )
  for (const loader of loaders) {
    loader.on('message', () => {
      ready++
      idle.push(loader)
      trainerWaits()
      feed()
    })
    idle.push(loader, loader)
  }
  feed()
  void fetchMore()

  const seconds = []
  let before = performance.now()
  for (let iteration = 0; iteration < iterations; iteration++) {
    while (ready < batch) await new Promise((resolve) => (trainerWaits = resolve))
    ready -= batch
    feed()
    const step = Number(values['step-ms']) - 1
    if (step > 0) await new Promise((resolve) => setTimeout(resolve, step))
    const now = performance.now()
    seconds.push((now - before) / 1000)
    console.log(JSON.stringify({ iteration, seconds: seconds.at(-1) }))
    before = now
  }
  for (const loader of loaders) loader.kill()
  const counted = seconds.slice(11)
  const mean = counted.reduce((sum, value) => sum + value, 0) / counted.length
  writeFileSync(`PERF_${values['job-name']}.txt`, `${mean}\n${iterations - 1}\n0\n`)
  process.exit(0)
}
