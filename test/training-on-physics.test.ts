import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { SimulatedGpu, SimulatedTraining } from '@pctodl/gpu-sim'
import {
  type Board,
  type Budgets,
  collectProfile,
  findPlan,
  type GpuProfile,
  readProfile,
  simplePlans,
  type TrainingJob,
  type TrainingPlan,
} from '@pctodl/hetero-training'
import { layerGraph, trainingGraph } from '@pctodl/model-zoo'
import { type GpuLease, VirtualClock } from '@pctodl/platform'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

// From measuring to comparing on boards that follow physics: what a plan promises is what training on its shares takes, and the
// planner knows nothing of the simulator but what it measures through the interface of any board.

const network = trainingGraph(layerGraph('resnet50'))
const clock = new VirtualClock()
const { signal } = new AbortController()
const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-physics-'))
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

interface Training {
  readonly gpu: SimulatedGpu
  readonly lease: GpuLease
  readonly board: Board
  readonly limitsW: readonly number[]
}

async function training(name: string, seed: number, limitsW: readonly number[]): Promise<Training> {
  const gpu = new SimulatedGpu(name, { clock, seed, networks: [network] })
  const lease = await gpu.acquire()
  const { uuid } = await gpu.info()
  const energy = async () => {
    const { timeMs, energyJ } = await gpu.sample()
    return { timeMs, energyJ: energyJ! }
  }
  const board: Board = {
    uuid,
    name,
    driverVersion: null,
    spec: gpu.spec,
    setPowerLimit: (watts) => lease.setPowerLimit(watts),
    setSmClock: (mhz) => (mhz === null ? lease.resetSmClock() : lease.lockSmClock(mhz)),
    beginWindow() {
      const before = energy()
      return {
        async read() {
          const [a, b] = [await before, await energy()]
          return { timeS: (b.timeMs - a.timeMs) / 1000, energyJ: b.energyJ - a.energyJ }
        },
      }
    },
  }
  return { gpu, lease, board, limitsW }
}

/** Through the file, as `collect` would write it. */
async function profileOf({ gpu, board, limitsW }: Training, batchSizes: readonly number[]): Promise<GpuProfile> {
  const profile = await collectProfile(board, {
    command: [],
    startTraining: async (share) => {
      const alone = new SimulatedTraining([{ gpu, share }], { model: network.name })
      await alone.start()
      // Boards warm up for minutes, and a warm one leaks more.
      await alone.further(Math.ceil(90_000 / (3 * share)))
      return alone
    },
    batchSizes,
    powerLimitsW: limitsW,
    warmupSteps: 10,
    steps: 20,
    repeats: 1,
    idleS: 5,
    stepPattern: /step/,
    signal,
    clock,
  })
  const file = path.join(folder, 'profile.json')
  writeFileSync(file, JSON.stringify(profile))
  return readProfile(file)
}

/** Train on the shares and limits of a plan: seconds and joules of a step, of all boards. */
async function carriedOut(boards: readonly Training[], { gpus }: TrainingPlan) {
  const active = boards.flatMap((each, i) => (gpus[i]!.share === 0 ? [] : [{ ...each, plan: gpus[i]! }]))
  for (const { board, plan } of active) await board.setPowerLimit(plan.powerLimitW!)
  const job = new SimulatedTraining(
    active.map(({ gpu, plan }) => ({ gpu, share: plan.share })),
    { model: network.name },
  )
  await job.start()
  try {
    await job.further(200)
    const windows = active.map(({ board }) => board.beginWindow())
    const from = job.lastStepMs!
    await job.further(40)
    const measured = await Promise.all(windows.map((window) => window.read()))
    return {
      timeS: (job.lastStepMs! - from) / 1000 / 40,
      energyJ: measured.reduce((sum, { energyJ }) => sum + energyJ, 0) / 40,
    }
  } finally {
    await job.stop()
  }
}

describe('training on simulated boards', () => {
  let boards: Training[]
  let job: TrainingJob
  beforeAll(async () => {
    boards = [await training('3080Ti', 3, [200, 250, 300, 350]), await training('A100', 5, [160, 190, 220, 250])]
    const profiles = []
    for (const each of boards) profiles.push(await profileOf(each, [16, 32, 64, 96]))
    job = { gpus: profiles.map((profile) => ({ profile, maxShare: 96 })), globalBatch: 128 }
  }, 600_000)
  afterAll(async () => {
    for (const { lease } of boards) await lease.release()
  })

  it.each<{ eta: number; budgets: Budgets }>([
    { eta: 0, budgets: {} },
    { eta: 0.5, budgets: {} },
    { eta: 0.5, budgets: { powerW: 385 } },
  ])(
    'takes what the plan says, within 3 % in time and energy (eta $eta, $budgets)',
    async ({ eta, budgets }) => {
      const plan = findPlan({ ...job, eta, mayLeaveOut: false }, budgets)
      const measured = await carriedOut(boards, plan)
      expect(Math.abs(measured.timeS / plan.timeS - 1)).toBeLessThan(0.03)
      expect(Math.abs(measured.energyJ / plan.energyJ - 1)).toBeLessThan(0.03)
    },
    300_000,
  )

  it('is faster than the even split by what the plan says', async () => {
    const plan = findPlan({ ...job, eta: 0, mayLeaveOut: false })
    const even = simplePlans(job).get('even split, largest limits')!
    const [ours, theirs] = [await carriedOut(boards, plan), await carriedOut(boards, even)]
    expect(theirs.timeS / ours.timeS).toBeGreaterThan(1.1)
    expect(Math.abs(theirs.timeS / ours.timeS / (even.timeS / plan.timeS) - 1)).toBeLessThan(0.03)
  })
})
