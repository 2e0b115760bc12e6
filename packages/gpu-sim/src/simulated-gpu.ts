import type { LayerGraph } from '@pctodl/model-zoo'
import { SeededRandom, seedFrom } from '@pctodl/numerics'
import {
  type Clock,
  type ClocksEventReason,
  type Gpu,
  type GpuInfo,
  type GpuLease,
  type GpuSpec,
  InvalidInputError,
  PctodlError,
  type Telemetry,
  type Tenant,
} from '@pctodl/platform'
import { BoardHeat } from './board-heat.js'
import type { BoardPhysics } from './board-physics.js'
import { boardPower } from './board-power.js'
import { BoardSettings } from './board-settings.js'
import { assertExecution, type Execution, hostUnder, physicsUnder } from './execution.js'
import { FaultInjector } from './fault-injector.js'
import type { Fault, FaultScenario, Setter } from './fault-scenario.js'
import type { StruckFault } from './fault-schedule.js'
import { FirmwareGovernor } from './firmware-governor.js'
import { GpuPartition } from './gpu-partition.js'
import type { HostProfile } from './host-profile.js'
import { type MigInstance, MigPartitions } from './mig-partitions.js'
import { PowerSensor, TICK_MS } from './power-sensor.js'
import { inHost, resolveBoard, type SimulatedBoard } from './resolve-board.js'
import { assertServed, type ServedService } from './serving/served-service.js'
import { ServingEngine, type ServingEngineOptions } from './serving/serving-engine.js'
import { SimulatedServices } from './serving/simulated-services.js'
import { simulatedLease } from './simulated-lease.js'
import type { SimulatedProcess } from './simulated-process.js'
import { combineStates, idleState, type SteadyState } from './steady-state.js'

export interface SimulatedGpuOptions extends Execution {
  readonly clock: Clock
  /** Seed of the sensor's error and noise, and of the load's fluctuation. Default 1. */
  readonly seed?: number
  /** Default: the coefficients of the board. */
  readonly physics?: BoardPhysics
  /** Faults to inject, and their times. Default: none. */
  readonly faults?: FaultScenario
  /**
   * Power that the firmware regulates. `sensor`: the reading, as on a real board, so that a sensor that reads 1 % low
   * lets the board draw 1 % too much. `truth`: the true power. Default `sensor`.
   */
  readonly firmwareReads?: 'truth' | 'sensor'
}

/** Values that no sensor reports. For tests and reports; a policy that uses them is cheating. */
export interface Truth {
  readonly timeMs: number
  /** True power over the last tick, W. */
  readonly powerW: number
  readonly energyJ: number
  /**
   * Energy in the watts of the board's sensor, in which limits are set and regulated, J. Unlike the readings, it covers
   * every instant. It includes the unit's constant gain, which nothing on the board can detect. It excludes sensor
   * faults, which distort power readings but not the energy counter.
   */
  readonly meteredEnergyJ: number
  readonly temperatureC: number
  readonly smClockMhz: number
  /** Present throughput, samples/s. */
  readonly throughput: number
}

/**
 * Correlation of the load's power fluctuation from one tick to the next. It decays over some tens of milliseconds,
 * because batches begin and end.
 */
const RIPPLE_KEPT = Math.exp(-TICK_MS / 40)
const RIPPLE_NEW = Math.sqrt(1 - RIPPLE_KEPT * RIPPLE_KEPT)

/**
 * A simulated board on a virtual (or any other) clock. It computes nothing until it is read or changed; it then
 * advances to the clock's time in ticks of `TICK_MS`.
 */
export class SimulatedGpu implements Gpu {
  /** Key of the board, or name of the board variant. */
  readonly name: string
  readonly spec: GpuSpec
  readonly clock: Clock
  readonly physics: BoardPhysics
  /** Host machine and framework of the board. */
  readonly host: HostProfile
  readonly #seed: number
  readonly #effective: BoardPhysics
  readonly #sensor: PowerSensor
  readonly #governor: FirmwareGovernor
  readonly #settings: BoardSettings
  readonly #ripple: SeededRandom
  readonly #faults: FaultInjector
  readonly #whole: GpuPartition
  readonly #mig: MigPartitions
  readonly #startMs: number
  readonly #firmwareReads: 'truth' | 'sensor'
  #serving: ServingEngine | null = null
  #mps: 'running' | 'off'
  #ticks = 0
  #memClockMhz: number
  readonly #heat: BoardHeat
  #powerW: number
  #energyJ = 0
  #meteredEnergyJ = 0
  #rippleState = 0
  #leased = false
  #nextProcessId = 1

  /**
   * @throws UnknownNameError for a board that cannot be simulated
   * @throws InvalidInputError for an invalid execution or fault scenario
   */
  constructor(board: SimulatedBoard, options: SimulatedGpuOptions) {
    const { clock, seed = 1, physics, faults, firmwareReads = 'sensor', ...others } = options
    const resolved = resolveBoard(board, physics)
    const execution = inHost(others, resolved)
    assertExecution(execution)
    if (firmwareReads !== 'truth' && firmwareReads !== 'sensor') {
      throw new InvalidInputError('firmwareReads', firmwareReads, "'truth' or 'sensor'")
    }
    this.#firmwareReads = firmwareReads
    this.name = resolved.name
    this.spec = resolved.spec
    this.physics = resolved.physics
    this.clock = clock
    this.#seed = seed
    this.#startMs = clock.now()
    this.#mps = execution.mps ?? 'running'
    this.host = hostUnder(this.spec, execution)
    this.#effective = physicsUnder(this.physics, execution)
    this.#whole = new GpuPartition(this.spec, this.physics, execution)
    this.#mig = new MigPartitions(this.spec, this.physics, execution)
    this.#sensor = new PowerSensor(this.physics.sensor, new SeededRandom(seedFrom(this.spec.key, seed, 'sensor')))
    this.#ripple = new SeededRandom(seedFrom(this.spec.key, seed, 'ripple'))
    this.#memClockMhz = this.spec.clockStates[0]!.memClockMhz
    this.#governor = new FirmwareGovernor(this.spec, this.physics.firmware, this.#memClockMhz)
    this.#settings = new BoardSettings(this.spec.powerLimitW.default, (range) => this.#governor.request(range))
    this.#powerW = this.physics.power.idleW
    this.#heat = new BoardHeat(this.physics.thermal, this.#powerW)
    this.#faults = new FaultInjector(faults ?? { faults: [] }, this.#startMs, {
      spec: this.spec,
      sensor: this.#sensor,
      partitions: () => this.#partitions(),
      stopMps: () => this.#shareThrough('off'),
      reading: () => this.#reading(),
    })
  }

  /** @throws PctodlError `GPU_LOST` */
  async info(): Promise<GpuInfo> {
    this.#advanceAlive()
    return {
      spec: this.spec,
      uuid: `GPU-simulated-${this.spec.key}-${this.#seed}`,
      index: 0,
      driverVersion: 'simulated',
      powerLimitW: this.#settings.powerLimitW,
    }
  }

  /** @throws PctodlError `GPU_LOST` */
  async sample(): Promise<Telemetry> {
    this.#advanceAlive()
    return this.#faults.telemetry(this.clock.now()) ?? this.#reading()
  }

  /** @throws PctodlError `LEASE_HELD`, `GPU_LOST` */
  async acquire(): Promise<GpuLease> {
    this.#advanceAlive()
    if (this.#leased) {
      throw new PctodlError('LEASE_HELD', `${this.spec.name} is leased already; release that lease first`)
    }
    this.#leased = true
    const before = this.#settings.snapshot()
    return simulatedLease({
      spec: this.spec,
      settings: this.#settings,
      change: (setter, apply) => this.#change(setter, apply),
      endLease: () => {
        this.#leased = false
        this.#advance()
        this.#settings.restore(before)
      },
    })
  }

  /**
   * Converts a power on the scale of this unit's sensor, on which limits and caps are set, to true power, W. For tests,
   * reports and oracles: a policy that uses it is cheating.
   */
  trueWatts(meteredW: number): number {
    return this.#sensor.trueWatts(meteredW)
  }

  /** True values that no sensor reports; see `Truth`. */
  truth(): Truth {
    this.#advance()
    return {
      timeMs: this.clock.now(),
      powerW: this.#powerW,
      energyJ: this.#energyJ,
      meteredEnergyJ: this.#meteredEnergyJ,
      temperatureC: this.#heat.dieC,
      smClockMhz: this.#governor.smClockMhz,
      throughput: this.#settled().throughput,
    }
  }

  /** Faults that have occurred so far, in order. For tests and reports, like `truth`. */
  struckFaults(): readonly StruckFault[] {
    this.#advance()
    return this.#faults.struck
  }

  /**
   * Injects a fault in addition to those of the scenario. Its `atMs` counts from now; with 0 it takes effect at once.
   * For callers that react to an event whose time they cannot know in advance.
   *
   * @throws InvalidInputError naming the field
   */
  strike(fault: Fault): void {
    this.#advance()
    this.#faults.add(fault, this.clock.now())
  }

  /**
   * Starts a process on the board, or on one of its MIG instances. It runs once it has loaded, or fails if memory does
   * not suffice.
   *
   * @param options with `stepwise`, the process runs one batch per call of `beginStep`, and in between waits with its
   *   context loaded
   * @throws PctodlError `NOT_SUPPORTED` for a process on the undivided board while MIG instances exist,
   *   `NO_SUCH_INSTANCE`
   */
  launch(
    tenant: Tenant,
    { instance, stepwise = false }: { readonly instance?: MigInstance; readonly stepwise?: boolean } = {},
  ): SimulatedProcess {
    this.#advance()
    if (!instance && this.#mig.any) {
      throw new PctodlError('NOT_SUPPORTED', `${this.spec.name} is split into MIG instances; name one for the process`)
    }
    const partition = instance ? this.#mig.partition(instance) : this.#whole
    const id = this.#nextProcessId++
    const process = partition.launch(id, tenant, this.clock.now(), this.#faults.loadFactor(), stepwise)
    this.#faults.launched(process)
    return process
  }

  /**
   * Lets a stepwise process run one batch.
   *
   * @param atMs start of the batch, at most one tick ago, ms
   * @param batchSize batch size; default: that of the launch or of the last `setBatchSize`
   */
  beginStep(process: SimulatedProcess, atMs: number, batchSize?: number): void {
    this.#advance()
    this.#partitionOf(process).begin(process, atMs, batchSize)
  }

  /** Adds a network that processes launched from now on may run. @throws InvalidInputError for a name that is taken */
  addNetwork(graph: LayerGraph): void {
    this.#whole.addNetwork(graph)
    this.#mig.addNetwork(graph)
  }

  /** @throws UnknownNameError for a network that this board cannot run */
  assertNetwork(model: string): void {
    this.#whole.network(model)
  }

  /**
   * Makes the board answer requests of services. From now on, tenants that name a service answer its requests; other
   * tenants still run batch after batch. If it throws, nothing has changed.
   *
   * @throws InvalidInputError for invalid services
   * @throws PctodlError `IN_USE` if services are served already or processes run; `NOT_SUPPORTED` on a board with MIG
   *   instances; `ARRIVALS_FAILED` if the first arrival of a service throws
   */
  serve(services: readonly ServedService[], options: ServingEngineOptions = {}): SimulatedServices {
    this.#advanceAlive()
    assertServed(services)
    if (this.#mig.any) throw new PctodlError('NOT_SUPPORTED', `${this.spec.name} is split into MIG instances`)
    if (this.#serving || this.#whole.processes.length > 0) {
      throw new PctodlError(
        'IN_USE',
        `${this.spec.name} is in use; add services to those that it serves, or end its processes`,
      )
    }
    const seed = seedFrom(this.spec.key, options.seed ?? this.#seed, 'batches')
    const nowMs = this.#startMs + this.#ticks * TICK_MS
    const serving = new ServingEngine({ solve: () => idleState }, nowMs, { ...options, seed })
    for (const served of services) serving.addService(served)
    this.#serving = serving
    this.#whole.serveWith(serving)
    return new SimulatedServices(this, serving)
  }

  /**
   * @throws InvalidInputError for a tenant whose service the board does not serve, or whose service has another network
   */
  assertServes(tenants: readonly Tenant[]): void {
    tenants.forEach(({ service: name, model }, i) => {
      if (name === undefined) return
      const service = this.#serving?.findService(name)
      if (!service) {
        const known = this.#serving?.serviceNames ?? []
        throw new InvalidInputError(
          `tenants[${i}].service`,
          name,
          `one of the services given to serve(): ${known.join(', ')}`,
        )
      }
      if (service.model !== model) {
        throw new InvalidInputError(`tenants[${i}].model`, model, `'${service.model}', the network of ${name}`)
      }
    })
  }

  /** Makes a process answer the requests of another service, or of none, from its next batch on. */
  reassign(process: SimulatedProcess, service: string | undefined): void {
    this.#advance()
    process.serve(service)
    this.#whole.refresh()
  }

  /** Drains these processes: they begin no further batches. Resolves when the batches in progress have ended. */
  async drain(processes: readonly SimulatedProcess[], signal?: AbortSignal): Promise<void> {
    const serving = this.#serving
    if (!serving) return
    this.#advance()
    for (const process of processes) serving.drain(process)
    // A hung process never ends its batch, so it is not waited for.
    while (processes.some((process) => process.state === 'running' && !process.hung && serving.busy(process))) {
      await this.clock.sleep(TICK_MS, signal)
      this.#advance()
    }
  }

  /** Requests another batch size. It takes effect when the batch in flight is done. */
  setBatchSize(process: SimulatedProcess, batchSize: number): void {
    this.#advance()
    process.requestBatchSize(batchSize)
  }

  terminate(process: SimulatedProcess): void {
    this.#advance()
    for (const partition of this.#partitions()) partition.terminate(process)
  }

  /** Advances the board to the clock's time, so that the counters of processes are current. */
  catchUp(): void {
    this.#advance()
  }

  memoryUsedBytes(): number {
    return this.#partitions().reduce((sum, partition) => sum + partition.memoryUsedBytes(), 0)
  }

  /**
   * Creates a MIG instance, e.g. `3g.20gb`, at the first placement that fits, or at a given memory slice.
   *
   * @throws PctodlError `NOT_SUPPORTED` on a board without MIG, `IN_USE` while processes run on the undivided board,
   * `NO_ROOM` if no placement is free
   * @throws UnknownNameError listing the board's profiles
   * @throws InvalidInputError for a start that is no placement of the profile
   */
  createMigInstance(profile: string, { start }: { readonly start?: number } = {}): MigInstance {
    this.#advanceAlive()
    if (this.#whole.processes.length > 0) {
      throw new PctodlError('IN_USE', `processes run on the undivided ${this.spec.name}; end them first`)
    }
    return this.#mig.create(profile, this.#mps, start)
  }

  /**
   * Destroys a MIG instance.
   *
   * @throws PctodlError `NO_SUCH_INSTANCE`, `IN_USE` while processes run on it
   */
  destroyMigInstance(instance: MigInstance): void {
    this.#advanceAlive()
    this.#mig.destroy(instance)
  }

  /**
   * Sets whether new processes of a MIG instance share it through MPS or time-slice it.
   *
   * @throws PctodlError `NO_SUCH_INSTANCE`, `IN_USE` while processes run on it
   */
  shareMigInstance(instance: MigInstance, through: 'mps' | 'turns'): void {
    this.#advanceAlive()
    const partition = this.#mig.partition(instance)
    if (partition.processes.length > 0) {
      throw new PctodlError('IN_USE', `processes run on MIG instance ${instance.id}; end them first`)
    }
    partition.shareThrough(through === 'mps' ? 'running' : 'off')
  }

  /** Whether clients of the undivided board share it through MPS or time-slice it. */
  get mps(): 'running' | 'off' {
    this.#advance()
    return this.#mps
  }

  /**
   * Starts the MPS daemon. @throws PctodlError `IN_USE` while processes run, since they could not become its clients
   */
  startMps(): void {
    this.#switchMps('running', 'without MPS; end them before starting it')
  }

  /** Stops the MPS daemon; clients launched later time-slice. @throws PctodlError `IN_USE` while processes run */
  stopMps(): void {
    this.#switchMps('off', 'through MPS; end them before stopping it')
  }

  #switchMps(mps: 'running' | 'off', obstacle: string): void {
    this.#advanceAlive()
    if (this.#mps === mps) return
    if (this.#partitions().some((partition) => partition.processes.length > 0)) {
      throw new PctodlError('IN_USE', `processes run on ${this.spec.name} ${obstacle}`)
    }
    this.#shareThrough(mps)
  }

  #advance(): void {
    const due = Math.floor((this.clock.now() - this.#startMs) / TICK_MS)
    while (this.#ticks < due) this.#tick()
    this.#faults.strike(this.clock.now())
  }

  #advanceAlive(): void {
    this.#advance()
    this.#faults.assertPresent()
  }

  #tick(): void {
    this.#ticks++
    const nowMs = this.#startMs + this.#ticks * TICK_MS
    this.#faults.strike(nowMs)
    this.#settings.applyDue(nowMs)
    const partitions = this.#partitions()
    const busy = partitions.some((partition) => partition.processes.length > 0)
    this.#switchMemClock(busy)
    const { powerLimitW, smRange } = this.#settings
    const readW = this.#firmwareReads === 'sensor' ? this.#sensor.seen(this.#powerW) : this.#powerW
    this.#governor.tick(TICK_MS, readW, powerLimitW, smRange, busy, this.#hot)

    const busyInstances = this.#mig.any ? partitions.filter((partition) => partition.running).length : 0
    for (const partition of partitions) {
      const slowdown = partition.running ? this.#slowdownBeside(busyInstances - 1) : 1
      partition.run(nowMs, this.#governor.smClockMhz, this.#memClockMhz, slowdown)
    }
    this.#powerW = this.#drawnPower(busy)
    this.#energyJ += (this.#powerW * TICK_MS) / 1000
    this.#meteredEnergyJ += (this.#sensor.metered(this.#powerW) * TICK_MS) / 1000
    this.#heat.tick(this.#powerW, TICK_MS / 1000)
    this.#sensor.tick(this.#powerW)
  }

  /**
   * Factor by which other busy MIG instances slow one instance, through what they share. It grows with the number of
   * these instances; with six, the full cost applies.
   */
  #slowdownBeside(busyNeighbours: number): number {
    return busyNeighbours <= 0 ? 1 : 1 + this.physics.work.migNeighbourCost * Math.min(1, busyNeighbours / 6)
  }

  #drawnPower(busy: boolean): number {
    const { smRange, memLockMhz } = this.#settings
    if (this.#faults.lost || (!busy && smRange === null && memLockMhz === null)) return this.physics.power.idleW
    const state = this.#settled()
    const { staticW, leakageW, dynamicW } = boardPower(
      this.spec,
      this.#effective,
      state,
      this.#governor.smClockMhz,
      this.#memClockMhz,
      this.#heat.dieC,
    )
    this.#rippleState = RIPPLE_KEPT * this.#rippleState + RIPPLE_NEW * this.#ripple.normal()
    const ripple = state.busySms > 0 ? this.physics.power.ripple * this.#rippleState : 0
    return staticW + leakageW + dynamicW * (1 + ripple)
  }

  #change(setter: Setter, apply: () => void): void {
    this.#advanceAlive()
    if (!this.#faults.setterWorks(setter)) return
    if (setter !== 'power-limit') this.#settings.later(this.clock.now() + this.physics.firmware.clockLatencyMs, apply)
    else apply()
  }

  #reading(): Telemetry {
    const state = this.#settled()
    return {
      timeMs: this.clock.now(),
      powerAverageW: this.#sensor.averageW,
      powerInstantW: this.#sensor.instantW,
      energyJ: Math.floor(this.#meteredEnergyJ * 1000) / 1000,
      smClockMhz: this.#governor.smClockMhz,
      memClockMhz: this.#memClockMhz,
      smUtilPercent: Math.round(state.smUtilPercent),
      memUtilPercent: Math.round(state.memUtilPercent),
      temperatureC: Math.round(this.#heat.dieC),
      memoryUsedBytes: this.memoryUsedBytes(),
      clocksEventReasons: this.#reasons(),
    }
  }

  #settled(): SteadyState {
    const smClockMhz = this.#governor.smClockMhz
    if (!this.#mig.any) return this.#whole.settledAt(smClockMhz, this.#memClockMhz)
    return combineStates(
      this.#mig.partitions.map((partition) => ({
        state: partition.settledAt(smClockMhz, this.#memClockMhz),
        bandwidthShare: partition.spec.memoryBusBits / this.spec.memoryBusBits,
      })),
    )
  }

  #switchMemClock(busy: boolean): void {
    const wanted =
      this.#settings.memLockMhz ??
      (busy ? this.spec.performanceMemClocksMhz[0]! : this.spec.clockStates[0]!.memClockMhz)
    if (wanted === this.#memClockMhz) return
    this.#memClockMhz = wanted
    this.#governor.setMemClock(wanted)
  }

  #shareThrough(mps: 'running' | 'off'): void {
    this.#mps = mps
    for (const partition of [this.#whole, ...this.#mig.partitions]) partition.shareThrough(mps)
  }

  #partitionOf(process: SimulatedProcess): GpuPartition {
    return this.#partitions().find((partition) => partition.processes.includes(process)) ?? this.#whole
  }

  #partitions(): readonly GpuPartition[] {
    return this.#mig.any ? this.#mig.partitions : [this.#whole]
  }

  get #hot(): boolean {
    return this.#heat.dieC >= this.spec.thermalLimitC || this.#faults.hot
  }

  #reasons(): ClocksEventReason[] {
    const reasons: ClocksEventReason[] = []
    if (this.#partitions().every((partition) => !partition.running)) reasons.push('gpu-idle')
    if (this.#governor.powerCapped) reasons.push('sw-power-cap')
    if (this.#hot) reasons.push('sw-thermal-slowdown')
    return reasons
  }
}
