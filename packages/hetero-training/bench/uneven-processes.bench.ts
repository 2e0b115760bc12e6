import { createServer } from 'node:net'
import path from 'node:path'
import { execa } from 'execa'
import { findPlan, type GpuProfile, type PlanFile, shardCommands, simplePlans, type TrainingJob } from '../src/index.js'

// Real data-parallel processes (PyTorch, gloo) on CPUs, the second of which does each batch three times: what a plan made of measurements of
// each alone says that it gains over the even split, and what it gains.

const python = process.env['PCTODL_PYTHON'] ?? 'python3'
const trainer = path.join(import.meta.dirname, '..', 'test', 'fixtures', 'train_ddp.py')
const work = [1, 3]
const globalBatch = 1024
const words = ['--width', '768', '--work', work.join(',')]
const STEPS = 40
const WARM_UP = 8
const REPEATS = 3

/** Seconds between the steps that a process reports. */
async function stepTimes(args: readonly string[], env: Readonly<Record<string, string>>): Promise<number[]> {
  const times: number[] = []
  let lastMs = Number.NaN
  const child = execa(python, [trainer, ...words, ...args, '--steps', String(STEPS)], {
    env: { ...env, CUDA_VISIBLE_DEVICES: '', OMP_NUM_THREADS: '1' },
    buffer: { stdout: false },
  })
  for await (const line of child.iterable()) {
    if (!/^step \d/.test(line)) continue
    const nowMs = performance.now()
    times.push((nowMs - lastMs) / 1000)
    lastMs = nowMs
  }
  await child
  return times.slice(WARM_UP)
}

const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1]!

/** Both at once, as when they train together: they share caches and memory. */
async function profiles(): Promise<GpuProfile[]> {
  const batchSizes = [128, 384, 896]
  const rows: GpuProfile['rows'][number][][] = work.map(() => [])
  for (const batchSize of batchSizes) {
    const alone = await Promise.all(
      work.map((passes) => stepTimes(['--batch-size', String(batchSize), '--work', String(passes)], {})),
    )
    for (const [rank, times] of alone.entries()) {
      const timeS = median(times)
      rows[rank]!.push({ batchSize, powerLimitW: 100, timeS, energyJ: 90 * timeS })
    }
  }
  return rows.map((own, rank) => ({ name: `cpu${rank}`, unit: 'step', idlePowerW: 10, rows: own }))
}

async function together(shares: readonly number[]): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  const gpus = shares.map((share, i) => ({ name: `cpu${i}`, share, powerLimitW: 100, energyJ: 0 }))
  const plan: PlanFile = {
    ...{ format: 'pctodl-hetero-plan', version: 1, unit: 'step', timeS: 1, energyJ: 1, compared: {} },
    gpus,
    globalBatch,
  }
  const shards = shardCommands(plan, {
    command: [],
    devices: new Map(gpus.map(({ name }, i) => [name, String(i)])),
    masterAddress: '127.0.0.1',
    masterPort: port,
  })
  const [first] = await Promise.all(shards.map(({ environment }) => stepTimes([], environment)))
  return median(first!)
}

const job: TrainingJob = {
  gpus: (await profiles()).map((profile) => ({ profile })),
  globalBatch,
  eta: 0,
  mayLeaveOut: false,
}
const plan = findPlan(job)
const even = simplePlans(job).get('even split, largest limits')!
const sharesOf = ({ gpus }: typeof even) => gpus.map(({ share }) => share)
const measured = { plan: [] as number[], even: [] as number[] }
for (let i = 0; i < REPEATS; i++) {
  measured.even.push(await together(sharesOf(even)))
  measured.plan.push(await together(sharesOf(plan)))
}
const predictedGain = even.timeS / plan.timeS
const gain = median(measured.even) / median(measured.plan)
console.table([
  {
    split: 'even',
    shares: sharesOf(even).join(' + '),
    'predicted s': even.timeS.toFixed(3),
    'measured s': median(measured.even).toFixed(3),
  },
  {
    split: 'plan',
    shares: sharesOf(plan).join(' + '),
    'predicted s': plan.timeS.toFixed(3),
    'measured s': median(measured.plan).toFixed(3),
  },
])
console.log(
  `faster by a factor of ${gain.toFixed(3)}, where the plan says ${predictedGain.toFixed(3)} (${(100 * (gain / predictedGain - 1)).toFixed(1)} %)`,
)
