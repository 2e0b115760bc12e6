import { type Fault, SimulatedDesk, SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import { seedFrom } from '@pctodl/numerics'
import { type Clock, type Service, type ServiceCounters, type ServiceReading, VirtualClock } from '@pctodl/platform'
import type { RunRecord, ServedRequests } from '@pctodl/report'
import { capPhases, STEADY_TOLERANCE } from '@pctodl/report/evaluate'
import type { PowerCapPolicy, RunEvent, ServiceListStep } from '@pctodl/scheduler'
import { type ServiceReport, serviceReport } from '@pctodl/traffic'
import { recordRun } from '../record-run.js'
import type { ServerTask, TaskService } from './service-tasks.js'

/** Load of a run: services, caps and length, of a task or custom. */
export interface ServerLoad extends Pick<ServerTask, 'services' | 'caps' | 'durationS'> {
  /** Name of the simulated board, or of one of the ensemble. */
  readonly boardName: string
  /** Seed of the arrivals and of the board's sensor error and noise; the same for every policy. */
  readonly seed: number
  /** Common factor on all rates. Default 1. */
  readonly loadFactor?: number
}

export interface ServerRunOptions {
  readonly signal?: AbortSignal
  readonly onEvent?: (event: RunEvent) => void
  /** Clock of the run. Default: virtual time, as fast as possible. */
  readonly clock?: Clock
  /** Faults of the board. Default: none. */
  readonly faults?: readonly Fault[]
  /** Called with the board before the run begins. */
  readonly onBoard?: (gpu: SimulatedGpu) => void
}

/** Result of one run: what became of each service's requests after start-up, and the board's power. */
export interface ServerRun {
  /** Counted from `WARM_UP_S` on, or while the service was there. */
  readonly services: readonly ServiceReport[]
  /** Over the same time: mean true power, W; energy of the board per request answered in time, J. */
  readonly meanPowerW: number
  readonly energyPerRequestJ: number | null
  /** Share of the steady state in which the 1 s average was more than 1 % above the cap, 0..1. */
  readonly capExceeded: number
  readonly capHolds: boolean
  /** Whether every service answered 99 of 100 requests in time. */
  readonly objectivesMet: boolean
  readonly recorded: RecordedServing
}

/** Further data for the record of a run. */
export interface RecordedServing extends Pick<RunRecord, 'windows' | 'restartsMs'>, Pick<ServedRequests, 'perSecond'> {
  readonly power: RunRecord['power'] & { readonly trueW: readonly number[] }
}

/** Time at the start in which tenants load and no requests are counted, s. */
export const WARM_UP_S = 10
/** Length of a measuring window, ms. */
const WINDOW_MS = 5000
/** Maximum queue length of a service; further requests would be late in any case. */
const MAX_QUEUED = 4096

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
      maxQueued: MAX_QUEUED,
      // A request that has waited this long will be late, so the server drops it.
      shedAfterMs: objective.p99Ms,
    }
  }
  const desk = new SimulatedDesk(gpu, trafficOf, { seed, batchSpread: 0.03 })
  const energyJ = () => gpu.truth().meteredEnergyJ
  const watch = new RequestWatch(load.services)
  let lastJ = 0
  let warm: { readonly atMs: number; readonly atJ: number } | undefined
  const { power, windows, restartsMs, durationMs } = await recordRun(
    {
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
    },
    {},
    energyJ,
    (timeMs) => {
      lastJ = energyJ()
      if (!watch.isSecond(timeMs)) return
      if (timeMs >= 1000 * WARM_UP_S) warm ??= { atMs: timeMs, atJ: lastJ }
      watch.read(timeMs, desk.counters())
    },
  )
  const services = watch.reports([...desk.counters(), ...desk.departed])
  const spentJ = lastJ - (warm?.atJ ?? 0)
  const inTime = services.reduce((sum, { completed, late }) => sum + completed - late, 0)
  const capExceeded = capPhases(power, 'true', restartsMs).steady.violationFraction.oneSecond ?? 0
  return {
    services,
    meanPowerW: (1000 * spentJ) / (durationMs - (warm?.atMs ?? 0)),
    energyPerRequestJ: inTime === 0 ? null : spentJ / inTime,
    capExceeded,
    capHolds: capExceeded <= STEADY_TOLERANCE,
    objectivesMet: services.every(({ objectiveMet }) => objectiveMet !== false),
    recorded: {
      power: power as RecordedServing['power'],
      windows,
      ...(restartsMs ? { restartsMs } : {}),
      perSecond: watch.perSecond(),
    },
  }
}

/** The list of services at the start and after each change. */
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

/** Reads the counters of each service once a second. */
class RequestWatch {
  readonly #services: readonly TaskService[]
  readonly #readings = new Map<string, ServiceReading[]>()
  /** Counters at which the count of a service begins. */
  readonly #began = new Map<string, ServiceCounters>()
  #seconds = 0

  constructor(services: readonly TaskService[]) {
    this.#services = services
  }

  isSecond(timeMs: number): boolean {
    return timeMs >= 1000 * (this.#seconds + 1)
  }

  read(timeMs: number, counters: readonly ServiceCounters[]): void {
    this.#seconds++
    for (const reading of counters) {
      const { service } = reading
      const readings = this.#readings.get(service) ?? []
      // Zeros for the seconds before the service started.
      while (readings.length < this.#seconds - 1) readings.push({ ...nothing, service })
      readings.push(reading)
      this.#readings.set(service, readings)
      // A service that starts later also gets time for its tenants to load.
      const { fromS = 0 } = this.#services.find((each) => each.service.name === service)!
      if (!this.#began.has(service) && timeMs >= 1000 * (fromS + WARM_UP_S)) this.#began.set(service, reading)
    }
  }

  reports(last: readonly ServiceCounters[]): ServiceReport[] {
    return this.#services.flatMap(({ service }) => {
      const earlier = this.#began.get(service.name)
      const later = last.find((counters) => counters.service === service.name)
      return earlier && later && later.timeMs > earlier.timeMs ? [serviceReport(service, earlier, later)] : []
    })
  }

  perSecond(): RecordedServing['perSecond'] {
    return this.#services.map(({ service: { name }, fromS = 0, untilS = Number.POSITIVE_INFINITY }) => {
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

const nothing = { arrived: 0, completed: 0, late: 0, shed: 0, failed: 0, queued: 0, running: 0 }
