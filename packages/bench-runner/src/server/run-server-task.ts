import { type Fault, SimulatedDesk, SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import { seedFrom } from '@pctodl/numerics'
import { type Clock, type Service, type ServiceCounters, type ServiceReading, VirtualClock } from '@pctodl/platform'
import { powerMetrics, STEADY_TOLERANCE } from '@pctodl/report/evaluate'
import { type PowerCapPolicy, type RunEvent, runPolicy, type ServiceListStep } from '@pctodl/scheduler'
import { type ServiceReport, serviceReport } from '@pctodl/traffic'
import type { ServerTask, TaskService } from './server-tasks.js'

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
  /** Share of the whole run in which the 1 s average was more than 1 % above the cap, 0..1. */
  readonly capExceeded: number
  readonly capHolds: boolean
  /** Whether every service answered 99 of 100 requests in time. */
  readonly objectivesMet: boolean
  readonly trace: ServerTrace
}

/** Second by second. */
export interface ServerTrace {
  readonly timeS: readonly number[]
  readonly powerCapW: readonly number[]
  readonly powerW: readonly number[]
  readonly smClockMhz: readonly (number | null)[]
  readonly services: readonly {
    readonly service: string
    /** Requests of the second; null before it came and after it went. */
    readonly arrived: readonly (number | null)[]
    readonly inTime: readonly (number | null)[]
    readonly late: readonly (number | null)[]
    readonly shed: readonly (number | null)[]
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
    ...(onEvent ? { onEvent } : {}),
    onSample: (timeMs, { smClockMhz }, powerCapW) => watch.sample(timeMs, smClockMhz, powerCapW, desk),
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
  readonly #load: ServerLoad
  readonly #energyJ: () => number
  readonly #trace: {
    timeS: number[]
    powerCapW: number[]
    powerW: number[]
    smClockMhz: (number | null)[]
    services: Map<string, ServiceReading[]>
  } = { timeS: [], powerCapW: [], powerW: [], smClockMhz: [], services: new Map() }
  readonly #series = {
    timeMs: [] as number[],
    powerCapW: [] as number[],
    sensorW: [] as number[],
    trueW: [] as number[],
  }
  readonly #began = new Map<string, ServiceCounters>()
  #lastMs = 0
  #lastJ = 0
  #secondJ = 0
  #warmJ = 0
  #warmMs = 0

  constructor(load: ServerLoad, energyJ: () => number) {
    this.#load = load
    this.#energyJ = energyJ
  }

  sample(timeMs: number, smClockMhz: number | null, powerCapW: number, desk: SimulatedDesk): void {
    const energyJ = this.#energyJ()
    const powerW = ((energyJ - this.#lastJ) / (timeMs - this.#lastMs)) * 1000
    this.#lastJ = energyJ
    this.#lastMs = timeMs
    const series = this.#series
    series.timeMs.push(timeMs)
    series.powerCapW.push(powerCapW)
    series.sensorW.push(powerW)
    series.trueW.push(powerW)
    const trace = this.#trace
    if (timeMs < 1000 * (trace.timeS.length + 1)) return
    trace.timeS.push(trace.timeS.length + 1)
    trace.powerCapW.push(powerCapW)
    trace.powerW.push(Math.round(10 * (energyJ - this.#secondJ)) / 10)
    trace.smClockMhz.push(smClockMhz)
    this.#secondJ = energyJ
    const warm = timeMs >= 1000 * WARM_UP_S
    if (warm && this.#warmMs === 0) {
      this.#warmMs = timeMs
      this.#warmJ = energyJ
    }
    for (const counters of desk.counters()) {
      const readings = trace.services.get(counters.service) ?? []
      // Nothing, for the seconds before it came.
      while (readings.length < trace.timeS.length - 1) readings.push(none(counters.service))
      readings.push(counters)
      trace.services.set(counters.service, readings)
      // One that comes later is given the time that its tenants take to load, like all.
      const { fromS = 0 } = this.#taskService(counters.service)
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
    const exceeded = powerMetrics(this.#series, 'true').violationFraction.oneSecond ?? 0
    return {
      services,
      meanPowerW: (1000 * spentJ) / (this.#lastMs - this.#warmMs),
      energyPerRequestJ: inTime === 0 ? null : spentJ / inTime,
      capExceeded: exceeded,
      capHolds: exceeded <= STEADY_TOLERANCE,
      objectivesMet: services.every(({ objectiveMet }) => objectiveMet !== false),
      trace: this.#closedTrace(),
    }
  }

  #taskService(name: string): TaskService {
    return this.#load.services.find(({ service }) => service.name === name)!
  }

  #closedTrace(): ServerTrace {
    const { services, ...others } = this.#trace
    const length = others.timeS.length
    return {
      ...others,
      services: this.#load.services.map(({ service: { name }, fromS = 0, untilS = Number.POSITIVE_INFINITY }) => {
        const readings = services.get(name) ?? []
        const perSecond = (count: (reading: ServiceReading) => number) =>
          Array.from({ length }, (_, i) => {
            const now = readings[i]
            if (i < fromS || i >= untilS || !now) return null
            return count(now) - (i === 0 ? 0 : count(readings[i - 1]!))
          })
        return {
          service: name,
          arrived: perSecond(({ arrived }) => arrived),
          inTime: perSecond(({ completed, late }) => completed - late),
          late: perSecond(({ late }) => late),
          shed: perSecond(({ shed, failed }) => shed + failed),
        }
      }),
    }
  }
}

function none(service: string): ServiceReading {
  return { service, arrived: 0, completed: 0, late: 0, shed: 0, failed: 0, queued: 0, running: 0 }
}
