import { createServer } from 'node:net'
import path from 'node:path'
import { execa } from 'execa'
import type { PlanFile } from '../src/carry-out/plan-file.js'
import { launchEnvironment } from '../src/carry-out/run-plan.js'
import { findPlan, type GpuProfile, type TrainingJob, type TrainingPlan } from '../src/index.js'
import { prepareJob } from '../src/training-job.js'

// Real data-parallel processes (PyTorch, gloo) on CPUs, the second of which does each batch three times: what a plan made of measurements of
// each alone says that it gains over the even split, and what it gains. Twice: by the clock on the wall, which needs a core for each
// process that nobody else uses, and by the processor time of the slowest process, which does not.

const python = process.env['PCTODL_PYTHON'] ?? 'python3'
const trainer = path.join(import.meta.dirname, '..', 'test', 'fixtures', 'train_ddp.py')
const work = [1, 3]
const globalBatch = 512
const words = ['--width', '384', '--work', work.join(',')]
const STEPS = Number(process.env['STEPS'] ?? 40)
const WARM_UP = 4
const REPEATS = Number(process.env['REPEATS'] ?? 3)

/** Of a step, in the median, s. */
interface StepTime {
  readonly wallS: number
  readonly processorS: number
}

async function stepTime(args: readonly string[], env: Readonly<Record<string, string>>): Promise<StepTime> {
  const walls: number[] = []
  const processor: number[] = []
  let lastMs = Number.NaN
  const child = execa(python, [trainer, ...words, ...args, '--steps', String(STEPS)], {
    env: { ...env, CUDA_VISIBLE_DEVICES: '', OMP_NUM_THREADS: '1' },
    buffer: { stdout: false },
  })
  for await (const line of child.iterable()) {
    const seconds = /^processor (\S+) s$/.exec(line)?.[1]
    if (seconds === undefined) continue
    const nowMs = performance.now()
    walls.push((nowMs - lastMs) / 1000)
    processor.push(Number(seconds))
    lastMs = nowMs
  }
  await child
  return { wallS: median(walls.slice(WARM_UP)), processorS: median(processor.slice(WARM_UP)) }
}

const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1]!

type Kind = keyof StepTime

/** Both at once, as when they train together: they share caches and memory. */
async function profiles(): Promise<Record<Kind, GpuProfile[]>> {
  const batchSizes = [64, 192, 448]
  const measured: StepTime[][] = []
  for (const batchSize of batchSizes) {
    const words = (passes: number) => ['--batch-size', String(batchSize), '--work', String(passes)]
    measured.push(await Promise.all(work.map((passes) => stepTime(words(passes), {}))))
  }
  const of = (kind: Kind) =>
    work.map((_, rank): GpuProfile => {
      const rows = batchSizes.map((batchSize, i) => {
        const timeS = measured[i]![rank]![kind]
        return { batchSize, powerLimitW: 100, timeS, energyJ: 90 * timeS }
      })
      return { name: `cpu${rank}`, unit: 'step', idlePowerW: 10, rows }
    })
  return { wallS: of('wallS'), processorS: of('processorS') }
}

/** The slowest process's, for nobody is faster than that. */
async function together(shares: readonly number[], globalBatch: number): Promise<StepTime> {
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
  const world = String(gpus.length)
  const all = await Promise.all(
    gpus.map((_, rank) =>
      stepTime([], {
        ...launchEnvironment(plan, new Map(gpus.map(({ name }) => [name, name]))),
        ...{ RANK: String(rank), LOCAL_RANK: String(rank), WORLD_SIZE: world },
        ...{ MASTER_ADDR: '127.0.0.1', MASTER_PORT: String(port) },
      }),
    ),
  )
  return {
    wallS: Math.max(...all.map(({ wallS }) => wallS)),
    processorS: Math.max(...all.map(({ processorS }) => processorS)),
  }
}

const measured = await profiles()
const smallest = work.map(() => measured.wallS[0]!.rows[0]!.batchSize)
const exchanging = await together(
  smallest,
  smallest.reduce((a, b) => a + b),
)
/** What exchanging the gradients adds to a step of the smallest batches. */
const allReduceS = (kind: Kind) =>
  Math.max(0, exchanging[kind] - Math.max(...measured[kind].map(({ rows }) => rows[0]!.timeS)))
const jobOf = (kind: Kind): TrainingJob => ({
  ...{ globalBatch, eta: 0, mayLeaveOut: false, allReduceS: allReduceS(kind) },
  gpus: measured[kind].map((profile) => ({ profile })),
})
const sharesOf = ({ gpus }: TrainingPlan) => gpus.map(({ share }) => share)
// The shares that are carried out are those by processor time: other work on the machine moves the others.
const shares = sharesOf(findPlan(jobOf('processorS')))
const half = [globalBatch / 2, globalBatch / 2]
const evens: StepTime[] = []
const plans: StepTime[] = []
for (let i = 0; i < REPEATS; i++) {
  evens.push(await together(half, globalBatch))
  plans.push(await together(shares, globalBatch))
}
console.log(`even split ${half.join(' + ')}, plan ${shares.join(' + ')}`)
for (const kind of ['wallS', 'processorS'] as const) {
  const { curves } = prepareJob(jobOf(kind))
  const predicted = (split: readonly number[]) =>
    Math.max(...split.map((share, rank) => curves[rank]!.timeS(0, share))) + allReduceS(kind)
  const found = (steps: readonly StepTime[]) => median(steps.map((step) => step[kind]))
  const [says, is] = [predicted(half) / predicted(shares), found(evens) / found(plans)]
  console.log(
    `${kind}: even ${found(evens).toFixed(4)} (predicted ${predicted(half).toFixed(4)}), plan ${found(plans).toFixed(4)} (predicted ` +
      `${predicted(shares).toFixed(4)}); faster by ${is.toFixed(3)}, the plan says ${says.toFixed(3)} (${(100 * (is / says - 1)).toFixed(1)} %)`,
  )
}
