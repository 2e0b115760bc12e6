import { SeededRandom, seedFrom } from '@pctodl/numerics'
import { type CapSchedule, capAt } from '@pctodl/platform'
import type { RunRecord } from '../src/record/run-record.js'

/** How a made-up algorithm behaves: where it settles, how fast, how it hunts and how noisy it is. */
export interface Manner {
  readonly algorithm: string
  /** Where the power settles, as a share of the cap. */
  readonly level: number
  readonly settleMs: number
  /** Amplitude (share of the cap) and period of the hunting around that level. */
  readonly hunting: number
  readonly periodMs: number
  /** Samples/s per watt above idle. */
  readonly samplesPerWatt: number
  /** Tenants restart this often; Infinity for never. */
  readonly restartEveryMs: number
}

export const manners: readonly Manner[] = [
  {
    algorithm: 'pctodl',
    level: 0.975,
    settleMs: 2500,
    hunting: 0.004,
    periodMs: 9000,
    samplesPerWatt: 9.6,
    restartEveryMs: Number.POSITIVE_INFINITY,
  },
  {
    algorithm: 'batchdvfs',
    level: 0.93,
    settleMs: 14_000,
    hunting: 0.035,
    periodMs: 21_000,
    samplesPerWatt: 8.2,
    restartEveryMs: Number.POSITIVE_INFINITY,
  },
  {
    algorithm: 'morak',
    level: 0.96,
    settleMs: 9000,
    hunting: 0.11,
    periodMs: 30_000,
    samplesPerWatt: 8.0,
    restartEveryMs: 45_000,
  },
  {
    algorithm: 'directcap',
    level: 0.985,
    settleMs: 6000,
    hunting: 0.012,
    periodMs: 4000,
    samplesPerWatt: 8.9,
    restartEveryMs: Number.POSITIVE_INFINITY,
  },
  {
    algorithm: 'powercap',
    level: 0.99,
    settleMs: 1500,
    hunting: 0.003,
    periodMs: 3000,
    samplesPerWatt: 7.1,
    restartEveryMs: Number.POSITIVE_INFINITY,
  },
]

export interface Setting {
  readonly taskId: number
  readonly model: string
  readonly dataset: string
  readonly board: string
  readonly schedule: CapSchedule
  readonly durationMs: number
}

export const fixedSetting: Setting = {
  taskId: 20,
  model: 'resnet50',
  dataset: 'imagenet',
  board: 'NVIDIA A100-PCIE-40GB',
  schedule: [{ atMs: 0, powerCapW: 180 }],
  durationMs: 120_000,
}

export const dynamicSetting: Setting = {
  taskId: 29,
  model: 'resnet50',
  dataset: 'caltech256',
  board: 'NVIDIA A100-PCIE-40GB',
  schedule: [
    { atMs: 0, powerCapW: 200 },
    { atMs: 300_000, powerCapW: 160 },
    { atMs: 600_000, powerCapW: 120 },
  ],
  durationMs: 900_000,
}

const SAMPLE_MS = 100
const WINDOW_MS = 5000
const IDLE_W = 45

/** A made-up run, reproducible from its setting and manner. */
export function syntheticRun(setting: Setting, manner: Manner): RunRecord {
  const random = new SeededRandom(seedFrom(manner.algorithm, setting.taskId, setting.board))
  const timeMs: number[] = []
  const powerCapW: number[] = []
  const trueW: number[] = []
  const sensorW: (number | null)[] = []
  const windows: RunRecord['windows'][number][] = []
  let powerW = IDLE_W
  let samples = 0
  let windowSamples = 0
  let windowEnergyWms = 0
  let windowPeakW = 0
  let reconfigured = false
  for (let t = SAMPLE_MS; t <= setting.durationMs; t += SAMPLE_MS) {
    const capW = capAt(setting.schedule, t - SAMPLE_MS)
    const restarting = t < 4000 || t % manner.restartEveryMs < 3500
    const wave = manner.hunting * Math.sin((2 * Math.PI * t) / manner.periodMs)
    const targetW = restarting ? IDLE_W + 25 : capW * (manner.level + wave)
    powerW += (targetW - powerW) * (1 - Math.exp((-3 * SAMPLE_MS) / (restarting ? 800 : manner.settleMs)))
    const sampleW = powerW + 1.5 * random.normal()
    timeMs.push(t)
    powerCapW.push(capW)
    trueW.push(sampleW)
    sensorW.push(random.uniform() < 0.01 ? null : sampleW + 0.5 * random.normal())
    const rate = restarting ? 0 : Math.max(0, powerW - IDLE_W) * manner.samplesPerWatt
    samples += (rate * SAMPLE_MS) / 1000
    windowSamples += (rate * SAMPLE_MS) / 1000
    windowEnergyWms += sampleW * SAMPLE_MS
    windowPeakW = Math.max(windowPeakW, sampleW)
    reconfigured ||= restarting
    if (t % WINDOW_MS !== 0) continue
    const tenants = [30, 15, 15].map((mpsPercent) => ({ model: setting.model, mpsPercent, batchSize: 32 }))
    const applied = { tenants, smClockMhz: 1110, memClockMhz: 1215, powerLimitW: 250 }
    const throughput = (windowSamples / WINDOW_MS) * 1000
    windows.push({
      iteration: windows.length + 1,
      startMs: t - WINDOW_MS,
      endMs: t,
      startedAt: new Date(Date.UTC(2026, 0, 15, 8, 0, 0) + t - WINDOW_MS),
      powerCapW: capW,
      powerAverageW: windowEnergyWms / WINDOW_MS,
      powerMaxW: windowPeakW,
      smClockMhz: 1110,
      memClockMhz: 1215,
      smUtilPercent: 97.5,
      memUtilPercent: 41.25,
      throughput,
      samples: Math.round(windowSamples),
      tenants: tenants.map((tenant) => ({ tenant, throughput: throughput / 3, latencyMs: 21.5, failure: null })),
      applied,
      reconfigured,
    })
    windowSamples = 0
    windowEnergyWms = 0
    windowPeakW = 0
    reconfigured = false
  }
  const { taskId, model, dataset, board, durationMs } = setting
  return {
    board,
    algorithm: manner.algorithm,
    taskId,
    model,
    dataset,
    durationMs,
    windows,
    power: { timeMs, powerCapW, sensorW, trueW },
    samples: Math.round(samples),
    notes: [],
  }
}

/** The runs of all five made-up algorithms. */
export function syntheticRuns(setting: Setting): RunRecord[] {
  return manners.map((manner) => syntheticRun(setting, manner))
}
