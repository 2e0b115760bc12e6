import {
  type Clock,
  type ClocksEventReason,
  findGpuSpec,
  type Gpu,
  type GpuInfo,
  type GpuLease,
  type GpuSpec,
  InvalidInputError,
  PctodlError,
  SeededRandom,
  seedFrom,
  smClocksAt,
  smsOfShare,
  type Telemetry,
  type Tenant,
} from '@pctodl/platform'
import type { BoardPhysics } from './board-physics.js'
import { boardPower } from './board-power.js'
import { type ClockRange, FirmwareGovernor } from './firmware-governor.js'
import { physicsOfBoard } from './physics-of-board.js'
import { PowerSensor, TICK_MS } from './power-sensor.js'
import { SimulatedProcess } from './simulated-process.js'
import { type SteadyState, SteadyStateSolver } from './steady-state.js'

export interface SimulatedGpuOptions {
  readonly clock: Clock
  /** Decides the board's own sensor error, its noise and the ripple of the load. Default 1. */
  readonly seed?: number
  /** Default: the shipped coefficients of the board. */
  readonly physics?: BoardPhysics
}

/** What no sensor tells. For tests and reports; a policy that looks at it is cheating. */
export interface Truth {
  readonly timeMs: number
  /** True power over the last tick, W. */
  readonly powerW: number
  readonly energyJ: number
  readonly temperatureC: number
  readonly smClockMhz: number
  /** Samples/s at this instant. */
  readonly throughput: number
}

interface Request {
  readonly atMs: number
  readonly apply: () => void
}

/**
 * A board in virtual (or any other) time: it stands still until somebody looks or acts, and then catches up with the
 * clock in ticks of `TICK_MS`.
 */
export class SimulatedGpu implements Gpu {
  readonly spec: GpuSpec
  readonly clock: Clock
  readonly physics: BoardPhysics
  readonly #seed: number
  readonly #solver: SteadyStateSolver
  readonly #sensor: PowerSensor
  readonly #governor: FirmwareGovernor
  readonly #ripple: SeededRandom
  readonly #processes: SimulatedProcess[] = []
  readonly #startMs: number
  #requests: Request[] = []
  #ticks = 0
  #smRange: ClockRange | null = null
  #memLockMhz: number | null = null
  #memClockMhz: number
  #powerLimitW: number
  #temperatureC: number
  #powerW: number
  #energyJ = 0
  #rippleState = 0
  #running: readonly SimulatedProcess[] = []
  readonly #settledAt = new Map<number, SteadyState>()
  #leased = false
  #nextProcessId = 1

  /** @throws UnknownNameError for a board that cannot be simulated */
  constructor(board: string | GpuSpec, { clock, seed = 1, physics }: SimulatedGpuOptions) {
    this.spec = typeof board === 'string' ? findGpuSpec(board) : board
    this.physics = physics ?? physicsOfBoard(this.spec)
    this.clock = clock
    this.#seed = seed
    this.#startMs = clock.now()
    this.#solver = new SteadyStateSolver(this.spec, this.physics)
    this.#sensor = new PowerSensor(this.physics.sensor, new SeededRandom(seedFrom(this.spec.key, seed, 'sensor')))
    this.#ripple = new SeededRandom(seedFrom(this.spec.key, seed, 'ripple'))
    this.#memClockMhz = this.spec.clockStates[0]!.memClockMhz
    this.#governor = new FirmwareGovernor(this.spec, this.physics.firmware, this.#memClockMhz)
    this.#powerLimitW = this.spec.powerLimitW.default
    this.#powerW = this.physics.power.idleW
    this.#temperatureC = this.physics.thermal.ambientC + this.physics.thermal.resistance * this.#powerW
  }

  async info(): Promise<GpuInfo> {
    return {
      spec: this.spec,
      uuid: `GPU-simulated-${this.spec.key}-${this.#seed}`,
      index: 0,
      driverVersion: 'simulated',
      powerLimitW: this.#powerLimitW,
    }
  }

  async sample(): Promise<Telemetry> {
    this.#advance()
    const state = this.#settled()
    return {
      timeMs: this.clock.now(),
      powerAverageW: this.#sensor.averageW,
      powerInstantW: this.#sensor.instantW,
      energyJ: Math.floor(this.#energyJ * 1000) / 1000,
      smClockMhz: this.#governor.smClockMhz,
      memClockMhz: this.#memClockMhz,
      smUtilPercent: Math.round(state.smUtilPercent),
      memUtilPercent: Math.round(state.memUtilPercent),
      temperatureC: Math.round(this.#temperatureC),
      memoryUsedBytes: this.memoryUsedBytes(),
      clocksEventReasons: this.#reasons(),
    }
  }

  async acquire(): Promise<GpuLease> {
    if (this.#leased) {
      throw new PctodlError('LEASE_HELD', `${this.spec.name} is leased already; release that lease first`)
    }
    this.#leased = true
    const before = { smRange: this.#smRange, memLockMhz: this.#memLockMhz, powerLimitW: this.#powerLimitW }
    let held = true
    const holding = () => {
      if (!held)
        throw new PctodlError('LEASE_RELEASED', `the lease on ${this.spec.name} was released; acquire a new one`)
    }
    return {
      lockSmClock: async (clock) => {
        holding()
        const range = typeof clock === 'number' ? { minMhz: clock, maxMhz: clock } : clock
        this.#assertSmClock(range.minMhz)
        this.#assertSmClock(range.maxMhz)
        if (range.minMhz > range.maxMhz) {
          throw new InvalidInputError('smClock range', range, 'minMhz of at most maxMhz')
        }
        this.#request(() => this.#lockSm(range))
      },
      resetSmClock: async () => {
        holding()
        this.#request(() => this.#lockSm(null))
      },
      lockMemClock: async (memClockMhz) => {
        holding()
        if (!smClocksAt(this.spec, memClockMhz)) {
          const states = this.spec.clockStates.map((state) => state.memClockMhz)
          throw new InvalidInputError('memClockMhz', memClockMhz, `one of ${states.join(', ')} on ${this.spec.name}`)
        }
        this.#request(() => {
          this.#memLockMhz = memClockMhz
        })
      },
      resetMemClock: async () => {
        holding()
        this.#request(() => {
          this.#memLockMhz = null
        })
      },
      setPowerLimit: async (powerLimitW) => {
        holding()
        const { min, max } = this.spec.powerLimitW
        if (!(powerLimitW >= min && powerLimitW <= max)) {
          throw new InvalidInputError('powerLimitW', powerLimitW, `a limit of ${min} to ${max} W on ${this.spec.name}`)
        }
        this.#advance()
        this.#powerLimitW = powerLimitW
      },
      resetPowerLimit: async () => {
        holding()
        this.#advance()
        this.#powerLimitW = this.spec.powerLimitW.default
      },
      release: async () => {
        if (!held) return
        held = false
        this.#leased = false
        this.#advance()
        this.#requests = []
        this.#lockSm(before.smRange)
        this.#memLockMhz = before.memLockMhz
        this.#powerLimitW = before.powerLimitW
      },
    }
  }

  /** Ground truth; see `Truth`. */
  truth(): Truth {
    this.#advance()
    return {
      timeMs: this.clock.now(),
      powerW: this.#powerW,
      energyJ: this.#energyJ,
      temperatureC: this.#temperatureC,
      smClockMhz: this.#governor.smClockMhz,
      throughput: this.#settled().throughput,
    }
  }

  /** Start a process on the board; it runs once it has loaded, or fails if the board's memory does not suffice. */
  launch(tenant: Tenant): SimulatedProcess {
    this.#advance()
    const process = new SimulatedProcess(this.#nextProcessId++, tenant, this.physics.process, this.clock.now())
    this.#processes.push(process)
    return process
  }

  /** The batch size changes when the batch in flight is done. */
  setBatchSize(process: SimulatedProcess, batchSize: number): void {
    this.#advance()
    process.requestBatchSize(batchSize)
  }

  terminate(process: SimulatedProcess): void {
    this.#advance()
    const index = this.#processes.indexOf(process)
    if (index >= 0) this.#processes.splice(index, 1)
    this.#repopulate()
  }

  /** Bring the board up to the clock's time, so that process counters are current. */
  catchUp(): void {
    this.#advance()
  }

  memoryUsedBytes(): number {
    return this.#processes.reduce((sum, process) => sum + process.memoryBytes, this.physics.process.reservedBytes)
  }

  #advance(): void {
    const due = Math.floor((this.clock.now() - this.#startMs) / TICK_MS)
    while (this.#ticks < due) this.#tick()
  }

  #tick(): void {
    this.#ticks++
    const nowMs = this.#startMs + this.#ticks * TICK_MS
    while (this.#requests.length > 0 && this.#requests[0]!.atMs <= nowMs) this.#requests.shift()!.apply()
    this.#switchMemClock()
    const hot = this.#temperatureC >= this.spec.thermalLimitC
    const busy = this.#processes.length > 0
    this.#governor.tick(TICK_MS, this.#powerW, this.#powerLimitW, this.#smRange, busy, hot)

    this.#runProcesses(nowMs)
    this.#powerW = this.#drawnPower(busy)
    this.#energyJ += (this.#powerW * TICK_MS) / 1000
    const { ambientC, resistance, timeConstantS } = this.physics.thermal
    const target = ambientC + resistance * this.#powerW
    this.#temperatureC += (target - this.#temperatureC) * (TICK_MS / 1000 / timeConstantS)
    this.#sensor.tick(this.#powerW)
  }

  #drawnPower(busy: boolean): number {
    if (!busy && this.#smRange === null && this.#memLockMhz === null) return this.physics.power.idleW
    const state = this.#settled()
    const { staticW, leakageW, dynamicW } = boardPower(
      this.spec,
      this.physics,
      state,
      this.#governor.smClockMhz,
      this.#memClockMhz,
      this.#temperatureC,
    )
    // Batches begin and end: the load's own power fluctuates, correlated over some tens of milliseconds.
    const kept = Math.exp(-TICK_MS / 40)
    this.#rippleState = kept * this.#rippleState + Math.sqrt(1 - kept * kept) * this.#ripple.normal()
    const ripple = state.busySms > 0 ? this.physics.power.ripple * this.#rippleState : 0
    return staticW + leakageW + dynamicW * (1 + ripple)
  }

  #runProcesses(nowMs: number): void {
    let changed = false
    for (const process of this.#processes) {
      if (process.state === 'loading' && nowMs >= process.readyAtMs) {
        const othersBytes = this.memoryUsedBytes() - process.memoryBytes
        process.start(nowMs, this.spec.memoryBytes - othersBytes)
        changed = true
      }
    }
    if (changed) this.#repopulate()
    const { tenants } = this.#settled()
    changed = false
    this.#running.forEach((process, i) => {
      if (!process.run(nowMs, TICK_MS, tenants[i]!.batchMs)) return
      const othersBytes = this.memoryUsedBytes() - process.memoryBytes
      process.adoptBatchSize(this.spec.memoryBytes - othersBytes)
      changed = true
    })
    if (changed) this.#repopulate()
  }

  #repopulate(): void {
    this.#running = this.#processes.filter((process) => process.state === 'running')
    this.#settledAt.clear()
  }

  #settled(): SteadyState {
    const smClockMhz = this.#governor.smClockMhz
    let state = this.#settledAt.get(smClockMhz)
    if (!state) {
      const tenants = this.#running.map((process) => process.tenant)
      state = this.#solver.solve({ tenants, smClockMhz, memClockMhz: this.#memClockMhz })
      this.#settledAt.set(smClockMhz, state)
    }
    return state
  }

  #switchMemClock(): void {
    const idle = this.#processes.length === 0
    const wanted =
      this.#memLockMhz ?? (idle ? this.spec.clockStates[0]!.memClockMhz : this.spec.performanceMemClocksMhz[0]!)
    if (wanted === this.#memClockMhz) return
    this.#memClockMhz = wanted
    this.#governor.setMemClock(wanted)
    this.#settledAt.clear()
  }

  #lockSm(range: ClockRange | null): void {
    this.#smRange = range
    this.#governor.request(range)
  }

  #request(apply: () => void): void {
    this.#advance()
    this.#requests.push({ atMs: this.clock.now() + this.physics.firmware.clockLatencyMs, apply })
  }

  #assertSmClock(smClockMhz: number): void {
    const states = smClocksAt(this.spec, this.#memLockMhz ?? this.spec.performanceMemClocksMhz[0]!)!
    if (!states.includes(smClockMhz)) {
      throw new InvalidInputError(
        'smClockMhz',
        smClockMhz,
        `a supported state of ${this.spec.name}, ${states[0]} to ${states.at(-1)} MHz in steps of ${states[1]! - states[0]!}`,
      )
    }
  }

  #reasons(): ClocksEventReason[] {
    const reasons: ClocksEventReason[] = []
    if (this.#running.length === 0) reasons.push('gpu-idle')
    if (this.#governor.powerCapped) reasons.push('sw-power-cap')
    if (this.#temperatureC >= this.spec.thermalLimitC) reasons.push('sw-thermal-slowdown')
    return reasons
  }
}

/** Streaming multiprocessors and memory that a tenant would take on a board, for messages and reports. */
export function tenantFootprint(gpu: SimulatedGpu, tenant: Tenant): { sms: number; memoryBytes: number } {
  const process = new SimulatedProcess(0, tenant, gpu.physics.process, 0)
  return { sms: smsOfShare(gpu.spec, tenant.mpsPercent), memoryBytes: process.memoryBytes }
}
