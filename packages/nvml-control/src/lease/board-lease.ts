import { type GpuLease, type GpuSpec, InvalidInputError, smClocksAt } from '@pctodl/platform'
import {
  type BoardChange,
  type ChangeKind,
  type ClockRange,
  type ComputeMode,
  changeBack,
  computeModes,
  type FoundState,
  isSameChange,
} from '../control/board-change.js'
import { unlessFailed } from '../reason-of.js'

const settableModes = computeModes.filter((mode) => mode !== 'exclusive-thread') as readonly ComputeMode[]

/** The right to change a board, which this process (`NvmlLease`) or the node service for it (`ServiceLease`) has. */
export abstract class BoardLease implements GpuLease {
  abstract readonly path: 'nvml' | 'service'
  /** The board's settings at the start of the lease. The end of the lease restores them. */
  abstract readonly found: FoundState
  readonly #spec: GpuSpec
  /** The memory clock that this lease has locked, MHz. */
  #memClockMhz: number | null = null

  protected constructor(spec: GpuSpec) {
    this.#spec = spec
  }

  /** Check that all settings of this lease are still in force. @throws PctodlError `SETTER_NOT_APPLIED` */
  abstract verify(): void | Promise<void>
  abstract release(): Promise<void>
  protected abstract perform(change: BoardChange): Promise<void>

  /** `range: null` restores the lock from the start of the lease. @throws InvalidInputError for an unsupported value */
  async change(change: BoardChange): Promise<void> {
    this.#assertSupported(change)
    const isBack = this.#isBack(change)
    await this.perform(isBack ? changeBack(change.kind, this.found)! : change)
    if (change.kind === 'mem-clock') this.#memClockMhz = isBack ? null : change.range!.maxMhz
  }

  supports(change: BoardChange): boolean {
    return unlessFailed(() => this.#assertSupported(change)) !== null
  }

  #assertSupported(change: BoardChange): void {
    if (this.#isBack(change)) return
    const { name, powerLimitW, clockStates, performanceMemClocksMhz } = this.#spec
    const memClocks = clockStates.map((state) => state.memClockMhz)
    switch (change.kind) {
      case 'power-limit': {
        // The node service itself rejects limits that its policy does not allow.
        const isServed = this.path === 'service'
        const { min, max } = powerLimitW
        if (isServed ? change.powerLimitW > 0 : change.powerLimitW >= min && change.powerLimitW <= max) return
        const allowed = isServed ? 'a limit above 0 W' : `a limit of ${min} to ${max} W on ${name}`
        throw new InvalidInputError('powerLimitW', change.powerLimitW, allowed)
      }
      case 'mem-clock':
        assertRange('memClock', change.range!, memClocks, `one of ${memClocks.join(', ')} on ${name}`)
        return
      case 'sm-clock': {
        // The memory clock in force decides which SM clocks the board supports. An operator's lock need not be one of the
        // board's clocks: the driver rounds it.
        const lockMhz = this.#memClockMhz ?? this.found.memClockLock?.maxMhz ?? performanceMemClocksMhz[0]!
        const [inForceMhz = lockMhz] = memClocks.toSorted((a, b) => Math.abs(a - lockMhz) - Math.abs(b - lockMhz))
        const states = smClocksAt(this.#spec, inForceMhz) ?? []
        const supported = `${states[0]} to ${states.at(-1)} MHz (${states.length} states)`
        assertRange('smClock', change.range!, states, `a supported state of ${name}: ${supported}`)
        return
      }
      case 'compute-mode':
        if (settableModes.includes(change.mode)) return
        throw new InvalidInputError('computeMode', change.mode, `one of ${settableModes.join(', ')}`)
      case 'persistence':
    }
  }

  lockSmClock(clock: number | ClockRange): Promise<void> {
    return this.change({ kind: 'sm-clock', range: rangeOf(clock) })
  }

  resetSmClock(): Promise<void> {
    return this.#reset('sm-clock')
  }

  lockMemClock(memClockMhz: number): Promise<void> {
    return this.change({ kind: 'mem-clock', range: rangeOf(memClockMhz) })
  }

  resetMemClock(): Promise<void> {
    return this.#reset('mem-clock')
  }

  setPowerLimit(powerLimitW: number): Promise<void> {
    return this.change({ kind: 'power-limit', powerLimitW })
  }

  /** Sets the board's default power limit. `release` restores the limit found at the start, which may differ. */
  resetPowerLimit(): Promise<void> {
    return this.change({ kind: 'power-limit', powerLimitW: this.#spec.powerLimitW.default })
  }

  setComputeMode(mode: ComputeMode): Promise<void> {
    return this.change({ kind: 'compute-mode', mode })
  }

  resetComputeMode(): Promise<void> {
    return this.#reset('compute-mode')
  }

  /** Without persistence, the driver may unload while no program uses the board, and lose clock locks. */
  setPersistence(enabled: boolean): Promise<void> {
    return this.change({ kind: 'persistence', enabled })
  }

  resetPersistence(): Promise<void> {
    return this.#reset('persistence')
  }

  #isBack(change: BoardChange): boolean {
    return ('range' in change && change.range === null) || isSameChange(changeBack(change.kind, this.found), change)
  }

  async #reset(kind: ChangeKind): Promise<void> {
    const change = changeBack(kind, this.found)
    if (change) await this.change(change)
  }
}

function assertRange(field: string, { minMhz, maxMhz }: ClockRange, states: readonly number[], allowed: string): void {
  for (const [end, mhz] of Object.entries({ minMhz, maxMhz }))
    if (!states.includes(mhz)) throw new InvalidInputError(`${field}.${end}`, mhz, allowed)
  if (minMhz > maxMhz) throw new InvalidInputError(field, { minMhz, maxMhz }, 'minMhz of at most maxMhz')
}

function rangeOf(clock: number | ClockRange): ClockRange {
  return typeof clock === 'number' ? { minMhz: clock, maxMhz: clock } : clock
}
