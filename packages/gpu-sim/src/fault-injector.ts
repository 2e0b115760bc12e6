import { type GpuSpec, PctodlError, type Telemetry } from '@pctodl/platform'
import type { Fault, FaultScenario, Setter } from './fault-scenario.js'
import { FaultSchedule, type StruckFault } from './fault-schedule.js'
import type { GpuPartition } from './gpu-partition.js'
import type { PowerSensor } from './power-sensor.js'
import type { SimulatedProcess } from './simulated-process.js'

/** What the injector needs from a board. */
export interface FaultyBoard {
  readonly spec: GpuSpec
  readonly sensor: PowerSensor
  partitions(): readonly GpuPartition[]
  stopMps(): void
  reading(): Telemetry
}

const LOST = 'the GPU is lost'

const clientFailures = {
  'mps-server-fault': { failure: 'a fatal fault ended the process', failureKind: 'fatal-fault' },
  'client-out-of-memory': {
    failure: 'out of memory: the allocator found no block large enough',
    failureKind: 'out-of-memory',
  },
  'client-killed': { failure: 'killed by signal 9', failureKind: 'killed' },
} as const

/** Applies the faults of a scenario to a board, and decides how calls to the board behave while faults are active. */
export class FaultInjector {
  /** The faults that have struck so far, in order. */
  readonly struck: StruckFault[] = []
  readonly #board: FaultyBoard
  readonly #schedule: FaultSchedule
  lost = false
  #frozen: Telemetry | null = null

  constructor(scenario: FaultScenario, startMs: number, board: FaultyBoard) {
    this.#schedule = new FaultSchedule(scenario, startMs)
    this.#board = board
  }

  get hot(): boolean {
    return this.#schedule.active('thermal-slowdown') !== undefined
  }

  /** @throws PctodlError `GPU_LOST` */
  assertPresent(): void {
    if (this.lost) {
      throw new PctodlError('GPU_LOST', `${this.#board.spec.name}: ${LOST}; reset it or restart the host`)
    }
  }

  /** Returns the telemetry by which an active fault replaces the reading; undefined if no such fault is active. */
  telemetry(timeMs: number): Telemetry | undefined {
    if (this.#schedule.active('telemetry-failing')) return { ...unreadable, timeMs }
    return this.#frozen ? { ...this.#frozen, timeMs } : undefined
  }

  /**
   * Decides what happens to a call of a setter.
   *
   * @returns whether the setter takes effect
   * @throws PctodlError `NO_PERMISSION`, `NOT_SUPPORTED`
   */
  setterWorks(setter: Setter): boolean {
    const { name } = this.#board.spec
    const concerns = (fault: { readonly setter?: Setter }) => fault.setter === undefined || fault.setter === setter
    const refused = this.#schedule.active('setter-refused', concerns)
    if (refused?.reason === 'not-supported') {
      throw new PctodlError('NOT_SUPPORTED', `${name} does not support setting the ${setter}`)
    }
    if (refused) throw new PctodlError('NO_PERMISSION', `no permission to set the ${setter} of ${name}; run as root`)
    return this.#schedule.active('setter-ignored', concerns) === undefined
  }

  /** @returns factor on the load time of a process that is launched now */
  loadFactor(): number {
    return this.#schedule.active('slow-load')?.factor ?? 1
  }

  /** Handles a launch: a process that is launched on a lost board fails. */
  launched(process: SimulatedProcess): void {
    if (this.lost) process.fail(LOST, 'gpu-lost')
  }

  /** Adds a fault that occurs `fault.atMs` from now. @throws InvalidInputError */
  add(fault: Fault, nowMs: number): void {
    this.strike(nowMs)
    this.#schedule.add(fault, nowMs)
    this.strike(nowMs)
  }

  /** Begins the faults whose time has come, and ends those that are over. */
  strike(nowMs: number): void {
    for (let edge = this.#schedule.next(nowMs); edge; edge = this.#schedule.next(nowMs)) {
      const { fault, begins, timeMs } = edge
      if (begins) {
        const processId = this.#begin(fault)?.id ?? null
        this.struck.push({ kind: fault.kind, timeMs, processId })
      } else this.#end(fault)
    }
  }

  /**
   * Begins a fault.
   *
   * @returns the affected process
   */
  #begin(fault: Fault): SimulatedProcess | undefined {
    const board = this.#board
    switch (fault.kind) {
      case 'gpu-lost':
        this.lost = true
        for (const partition of board.partitions()) partition.failAll(LOST, 'gpu-lost')
        return undefined
      case 'telemetry-frozen':
        this.#frozen = board.reading()
        return undefined
      case 'sensor-bias':
        board.sensor.setBias({ gain: 1 + (fault.gainPercent ?? 0) / 100, offsetW: fault.offsetW ?? 0 })
        return undefined
      case 'mps-daemon-crash':
        for (const partition of board.partitions()) {
          if (partition.mps === 'running') partition.failAll('the MPS daemon crashed', 'mps-lost')
        }
        board.stopMps()
        return undefined
      case 'mps-server-fault':
      case 'client-out-of-memory':
      case 'client-killed':
      case 'client-hung':
        return this.#strikeClient(fault)
      default:
        // These kinds (faults of setters, telemetry, load time and speed) do nothing now. They take effect when the
        // board asks the injector about them.
        return undefined
    }
  }

  #end(fault: Fault): void {
    if (fault.kind === 'telemetry-frozen') this.#frozen = null
    if (fault.kind === 'sensor-bias') this.#board.sensor.setBias({ gain: 1, offsetW: 0 })
    if (fault.kind === 'client-hung') for (const partition of this.#board.partitions()) partition.resume(fault)
  }

  #strikeClient(fault: Extract<Fault, { readonly tenant?: number }>): SimulatedProcess | undefined {
    const alive = this.#board
      .partitions()
      .flatMap((partition) => partition.processes.map((process) => ({ partition, process })))
      .filter(({ process }) => process.state !== 'failed')
      .sort((a, b) => a.process.id - b.process.id)
    const found = alive.length > 0 ? alive[fault.tenant ?? this.#schedule.draw(alive.length)] : undefined
    if (!found) return undefined
    const { partition, process } = found
    if (fault.kind === 'client-hung') partition.hang(process, fault)
    else if (fault.kind === 'mps-server-fault' && partition.mps === 'running') {
      partition.failAll(`MPS server fault: process ${process.id} took its server down`, 'fatal-fault')
    } else {
      const { failure, failureKind } = clientFailures[fault.kind]
      partition.fail(process, failure, failureKind)
    }
    return process
  }
}

const unreadable: Omit<Telemetry, 'timeMs'> = {
  powerAverageW: null,
  powerInstantW: null,
  energyJ: null,
  smClockMhz: null,
  memClockMhz: null,
  smUtilPercent: null,
  memUtilPercent: null,
  temperatureC: null,
  memoryUsedBytes: null,
  clocksEventReasons: [],
}
