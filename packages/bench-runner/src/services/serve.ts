import { type Fault, SimulatedDesk, SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import { seedFrom } from '@pctodl/numerics'
import {
  type Clock,
  type Service,
  type ServiceCounters,
  type ServiceReading,
  type Telemetry,
  VirtualClock,
} from '@pctodl/platform'
import { capPhases, type PowerSeries, STEADY_TOLERANCE } from '@pctodl/report/evaluate'
import {
  type PowerCapPolicy,
  type RunEvent,
  runPolicy,
  type ServiceListStep,
  type WindowObservation,
} from '@pctodl/scheduler'
import { type ServiceReport, serviceReport } from '@pctodl/traffic'
import { Restarts } from '../restarts.js'
import type { ServerTask, TaskService } from './service-tasks.js'

/** What is run: a task, or the same services otherwise. */
export interface ServerLoad extends Pick<ServerTask, 'services' | 'caps' | 'durationS'> {
  /** Name of the simulated board, or of one of the ensemble. */
  readonly boardName: string
  /** Decides the arrivals and the board's sensor error and noise; the same for every policy. */
  readonly seed: number
  /** Common factor on all rates. Default 1. */
  readonly loadFactor?: number
}

export interface ServerRunOptions {
  readonly signal?: AbortSignal
  readonly onEvent?: (event: RunEvent) => void
  /** Time of the run. Default: virtual, as fast as it goes. */
  readonly clock?: Clock
  /** What strikes the board. Default: nothing. */
  readonly faults?: readonly Fault[]
  /** Told of the board before the run begins. */
  readonly onBoard?: (gpu: SimulatedGpu) => void
}

/** One run: what became of each service's requests after the tenants had started, and of the board's power. */
export interface ServerRun {
  /** From `WARM_UP_S` on, or from when the service came until it went. */
  readonly services: readonly ServiceReport[]
  /** Over the same time: true mean power, W; joules of the board for each request that was answered in time. */
  readonly meanPowerW: number
  readonly energyPerRequestJ: number | null
  /** Share of the steady state in which the 1 s average was more than 1 % above the cap, 0..1. */
  readonly capExceeded: number
  readonly capHolds: boolean
  /** Whether every service answered 99 of 100 requests in time. */
  readonly objectivesMet: boolean
  readonly recorded: RecordedServing
}

/** What the record of a run keeps beside these figures. */
export interface RecordedServing {
  readonly power: PowerSeries & { readonly trueW: readonly number[]; readonly smClockMhz: readonly (number | null)[] }
  readonly windows: readonly (WindowObservation & { readonly startedAt: Date })[]
  readonly restartsMs: readonly number[]
  /** Requests second by second, by service; null before it came and after it went. */
  readonly perSecond: readonly {
    readonly service: string
    readonly arrived: readonly (number | null)[]
    /** Late, shed or failed. */
    readonly missed: readonly (number | null)[]
  }[]
}

/** Before this, tenants load, and nobody's requests count, s. */
export const WARM_UP_S = 10
/** Windows of the loop, ms. */
const WINDOW_MS = 5000
/** Requests of a service that may wait: so long a queue is late in any case. */
const MOST_QUEUED = 4096

/** Run a policy on a simulated board that serves, from a cold start, in virtual time. */
export async function runServerLoad(
  load: ServerLoad,
  policy: PowerCapPolicy,
  { signal, onEvent, clock = new VirtualClock(), faults = [], onBoard }: ServerRunOptions = {},
): Promise<ServerRun> {
  const { boardName, seed, caps, durationS, loadFactor = 1 } = load
  const gpu = new SimulatedGpu(boardName, { clock, seed, faults: { faults } })
  onBoard?.(gpu)
  const trafficOf = ({ name, objective }: Service) => {
    const { traffic, meanPerS } = load.services.find(({ service }) => service.name === name)!
    return {
      arrivals: traffic(loadFactor * meanPerS).start(seedFrom(seed, name)),
      mostQueued: MOST_QUEUED,
      // Whoever has waited so long is late whatever happens: any server of today lets him go.
      shedAfterMs: objective.p99Ms,
    }
  }
  const desk = new SimulatedDesk(gpu, trafficOf, { seed, batchSpread: 0.03 })
  const watch = new RunWatch(load, () => gpu.truth().meteredEnergyJ)
  await runPolicy({
    gpu,
    pool: new SimulatedTenants(gpu),
    clock,
    policy,
    caps,
    iterations: Math.ceil((1000 * durationS) / WINDOW_MS),
    windowMs: WINDOW_MS,
    services: { desk, steps: listSteps(load.services) },
    ...(signal ? { signal } : {}),
    onEvent: (event) => {
      if (event.type === 'sample') watch.restart(event.timeMs, event.reconfiguring)
      onEvent?.(event)
    },
    onWindow: (window, startedAt) => watch.windows.push({ ...window, startedAt }),
    onSample: (timeMs, telemetry, powerCapW) => watch.sample(timeMs, telemetry, powerCapW, desk),
  })
  return watch.result(desk)
}

/** The services by time: those that are there at the begin, and each change. */
export function listSteps(services: readonly TaskService[]): ServiceListStep[] {
  const edges = new Set([
    0,
    ...services.flatMap(({ fromS = 0, untilS }) => (untilS === undefined ? [fromS] : [fromS, untilS])),
  ])
  return [...edges]
    .sort((a, b) => a - b)
    .map((edgeS) => ({
      atMs: 1000 * edgeS,
      services: services
        .filter(({ fromS = 0, untilS = Number.POSITIVE_INFINITY }) => fromS <= edgeS && edgeS < untilS)
        .map(({ service }) => service),
    }))
}

class RunWatch {
  readonly windows: (WindowObservation & { readonly startedAt: Date })[] = []
  readonly #load: ServerLoad
  readonly #energyJ: () => number
  readonly #power = {
    timeMs: [] as number[],
    powerCapW: [] as number[],
    sensorW: [] as (number | null)[],
    smClockMhz: [] as (number | null)[],
    trueW: [] as number[],
  }
  readonly #restarts = new Restarts()
  /** By service, at the end of each second. */
  readonly #readings = new Map<string, ServiceReading[]>()
  readonly #began = new Map<string, ServiceCounters>()
  #seconds = 0
  #lastMs = 0
  #lastJ = 0
  #warmJ = 0
  #warmMs = 0

  constructor(load: ServerLoad, energyJ: () => number) {
    this.#load = load
    this.#energyJ = energyJ
  }

  restart(timeMs: number, reconfiguring: boolean): void {
    this.#restarts.add(timeMs, reconfiguring)
  }

  sample(timeMs: number, telemetry: Telemetry, powerCapW: number, desk: SimulatedDesk): void {
    const energyJ = this.#energyJ()
    this.#power.timeMs.push(timeMs)
    this.#power.powerCapW.push(powerCapW)
    this.#power.sensorW.push(telemetry.powerAverageW)
    this.#power.smClockMhz.push(telemetry.smClockMhz)
    this.#power.trueW.push(((energyJ - this.#lastJ) / (timeMs - this.#lastMs)) * 1000)
    this.#lastJ = energyJ
    this.#lastMs = timeMs
    if (timeMs < 1000 * (this.#seconds + 1)) return
    this.#seconds++
    if (timeMs >= 1000 * WARM_UP_S && this.#warmMs === 0) {
      this.#warmMs = timeMs
      this.#warmJ = energyJ
    }
    for (const counters of desk.counters()) {
      const readings = this.#readings.get(counters.service) ?? []
      // Nothing, for the seconds before it came.
      while (readings.length < this.#seconds - 1) readings.push(none(counters.service))
      readings.push(counters)
      this.#readings.set(counters.service, readings)
      // One that comes later is given the time that its tenants take to load, like all.
      const { fromS = 0 } = this.#load.services.find(({ service }) => service.name === counters.service)!
      if (!this.#began.has(counters.service) && timeMs >= 1000 * (fromS + WARM_UP_S))
        this.#began.set(counters.service, counters)
    }
  }

  result(desk: SimulatedDesk): ServerRun {
    const last = [...desk.counters(), ...desk.departed]
    const services = this.#load.services.flatMap(({ service }) => {
      const earlier = this.#began.get(service.name)
      const later = last.find((counters) => counters.service === service.name)
      return earlier && later && later.timeMs > earlier.timeMs ? [serviceReport(service, earlier, later)] : []
    })
    const spentJ = this.#lastJ - this.#warmJ
    const inTime = services.reduce((sum, { completed, late }) => sum + completed - late, 0)
    const restartsMs = this.#restarts.beganMs
    const capExceeded = capPhases(this.#power, 'true', restartsMs).steady.violationFraction.oneSecond ?? 0
    return {
      services,
      meanPowerW: (1000 * spentJ) / (this.#lastMs - this.#warmMs),
      energyPerRequestJ: inTime === 0 ? null : spentJ / inTime,
      capExceeded,
      capHolds: capExceeded <= STEADY_TOLERANCE,
      objectivesMet: services.every(({ objectiveMet }) => objectiveMet !== false),
      recorded: { power: this.#power, windows: this.windows, restartsMs, perSecond: this.#perSecond() },
    }
  }

  #perSecond(): RecordedServing['perSecond'] {
    return this.#load.services.map(({ service: { name }, fromS = 0, untilS = Number.POSITIVE_INFINITY }) => {
      const readings = this.#readings.get(name) ?? []
      const counted = (count: (reading: ServiceReading) => number) =>
        Array.from({ length: this.#seconds }, (_, i) => {
          const now = readings[i]
          if (i < fromS || i >= untilS || !now) return null
          return count(now) - (i === 0 ? 0 : count(readings[i - 1]!))
        })
      return {
        service: name,
        arrived: counted(({ arrived }) => arrived),
        missed: counted(({ late, shed, failed }) => late + shed + failed),
      }
    })
  }
}

function none(service: string): ServiceReading {
  return { service, arrived: 0, completed: 0, late: 0, shed: 0, failed: 0, queued: 0, running: 0 }
}
