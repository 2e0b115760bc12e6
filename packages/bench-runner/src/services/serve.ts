import { type Fault, SimulatedDesk, SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import { seedFrom } from '@pctodl/numerics'
import { type Clock, type Service, type ServiceCounters, type ServiceReading, VirtualClock } from '@pctodl/platform'
import type { RunRecord, ServedRequests } from '@pctodl/report'
import { capPhases, RunRecorder, STEADY_TOLERANCE } from '@pctodl/report/evaluate'
import { type PowerCapPolicy, type RunEvent, runPolicy, type ServiceListStep } from '@pctodl/scheduler'
import { type ServiceReport, serviceReport } from '@pctodl/traffic'
import type { ServerTask, TaskService } from './service-tasks.js'

/** Services, caps and length of a run, from a task or custom. */
export interface ServerLoad extends Pick<ServerTask, 'services' | 'caps' | 'durationS'> {
  /** Name of the simulated board, or of one of the ensemble. */
  readonly boardName: string
  /** Seed of the arrivals and of the board's sensor error and noise; the same for every policy. */
  readonly seed: number
  /** Common factor on all rates. Default 1. */
  readonly loadFactor?: number
}

export interface ServerRunOptions {
  readonly signal?: AbortSignal | undefined
  readonly onEvent?: (event: RunEvent) => void
  /** Clock of the run. Default: virtual time, as fast as possible. */
  readonly clock?: Clock
  /** Faults of the board. Default: none. */
  readonly faults?: readonly Fault[]
  /** Called with the board before the run begins. */
  readonly onBoard?: (gpu: SimulatedGpu) => void
}

/** Result of one run: the outcome of each service's requests after start-up, and the board's power. */
export interface ServerRun extends Pick<ServedRequests, 'meanPowerW' | 'energyPerRequestJ'> {
  /** Counted after `WARM_UP_S`, while the service was present. */
  readonly services: readonly ServiceReport[]
  /** Whether the 1 s average is more than 1 % above the cap in at most `STEADY_TOLERANCE` of the steady state. */
  readonly capHolds: boolean
  /** Whether every service answered 99 of 100 requests in time. */
  readonly objectivesMet: boolean
  /** Further data for the record of a run. */
  readonly recorded: Pick<RunRecord, 'durationMs' | 'power' | 'windows' | 'restartsMs'> &
    Pick<ServedRequests, 'perSecond'>
}

type SampleEvent = Extract<RunEvent, { type: 'sample' }>

/** Time at the start in which tenants load and no requests are counted, s. */
export const WARM_UP_S = 10
/** Length of a measuring window, ms. */
const WINDOW_MS = 5000
/** Maximum queue length of a service; further requests would be late in any case. */
const MAX_QUEUED = 4096

/** Runs a policy on a simulated board with services, from a cold start, in virtual time. */
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
  /** The first sample of each second. */
  const seconds: SampleEvent[] = []
  /** Counter values at which counting begins for a service. */
  const began = new Map<string, ServiceCounters>()
  let lastJ = 0
  let warm: { readonly atMs: number; readonly atJ: number } | undefined
  const count = (sample: SampleEvent) => {
    const { timeMs } = sample
    lastJ = energyJ()
    if (timeMs < 1000 * (seconds.length + 1)) return
    seconds.push(sample)
    if (timeMs >= 1000 * WARM_UP_S) warm ??= { atMs: timeMs, atJ: lastJ }
    for (const counters of desk.counters()) {
      // A service that starts later also gets time for its tenants to load.
      const { fromS = 0 } = load.services.find(({ service }) => service.name === counters.service)!
      if (!began.has(counters.service) && timeMs >= 1000 * (fromS + WARM_UP_S)) began.set(counters.service, counters)
    }
  }
  const recorder = new RunRecorder(energyJ)
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
      recorder.add(event)
      if (event.type === 'sample') count(event)
      onEvent?.(event)
    },
  })
  const { power, windows, restartsMs, durationMs } = recorder.record()
  const last = [...desk.counters(), ...desk.departed]
  const services = load.services.flatMap(({ service }) => {
    const earlier = began.get(service.name)
    const later = last.find((counters) => counters.service === service.name)
    return earlier && later && later.timeMs > earlier.timeMs ? [serviceReport(service, earlier, later)] : []
  })
  const spentJ = lastJ - (warm?.atJ ?? 0)
  const inTime = services.reduce((sum, { completed, late }) => sum + completed - late, 0)
  const capExceeded = capPhases(power, 'true', restartsMs).steady.violationFraction.oneSecond ?? 0
  return {
    services,
    meanPowerW: (1000 * spentJ) / (durationMs - (warm?.atMs ?? 0)),
    energyPerRequestJ: inTime === 0 ? null : spentJ / inTime,
    capHolds: capExceeded <= STEADY_TOLERANCE,
    objectivesMet: services.every(({ objectiveMet }) => objectiveMet !== false),
    recorded: {
      durationMs,
      power,
      windows,
      restartsMs: restartsMs!,
      perSecond: load.services.map((service) => requestsPerSecond(service, seconds)),
    },
  }
}

/** The list of services at the start and after each change. */
export function listSteps(services: readonly TaskService[]): ServiceListStep[] {
  const edges = new Set([0, ...services.flatMap(({ fromS = 0, untilS = fromS }) => [fromS, untilS])])
  return [...edges]
    .sort((a, b) => a - b)
    .map((edgeS) => ({
      atMs: 1000 * edgeS,
      services: services
        .filter(({ fromS = 0, untilS = Number.POSITIVE_INFINITY }) => fromS <= edgeS && edgeS < untilS)
        .map(({ service }) => service),
    }))
}

function requestsPerSecond(
  { service: { name }, fromS = 0, untilS = Number.POSITIVE_INFINITY }: TaskService,
  seconds: readonly SampleEvent[],
): ServedRequests['perSecond'][number] {
  const readings = seconds.map(({ services }) => services!.find(({ service }) => service === name))
  const counted = (count: (reading: ServiceReading) => number) =>
    readings.map((now, i) => {
      if (i < fromS || i >= untilS || !now) return null
      const before = readings[i - 1]
      return count(now) - (before ? count(before) : 0)
    })
  return {
    service: name,
    arrived: counted(({ arrived }) => arrived),
    missed: counted(({ late, shed, failed }) => late + shed + failed),
  }
}
