import { type Configuration, type GpuSpec, smsOfShare, type Tenant } from '@pctodl/platform'
import { withFusedAttention } from './attention.js'
import type { BoardPhysics } from './board-physics.js'
import { assertExecution, type Execution, hostUnder, onTensorUnits, physicsUnder } from './execution.js'
import { FixedPoint } from './fixed-point.js'
import type { HostProfile } from './host-profile.js'
import { withLayoutCopies } from './layout-copies.js'
import { flattened, type Networks, networksOf, networkWork, perGraph } from './network-work.js'
import { type TenantLoad, tenantLoad } from './tenant-load.js'
import { TenantMix } from './tenant-mix.js'

export interface TenantSteadyState {
  /** Samples/s. */
  throughput: number
  /** Time of one batch, ms. */
  batchMs: number
  /** Fraction of time in which the tenant's kernels are on the device or wait for it, 0..1. */
  deviceShare: number
}

/** Steady state of a configuration: rates, without power. */
export interface SteadyState {
  readonly tenants: readonly TenantSteadyState[]
  readonly throughput: number
  /** Busy SMs, averaged over time. */
  readonly busySms: number
  /**
   * Matrix work, as the FLOP/s in half precision that would draw the same power. With `fp16` it is the actual FLOP/s;
   * for other precisions see `energyPerFlop`.
   */
  readonly flopPerS: number
  /** Rate of vector-unit operations, 1/s, see `PowerPhysics`. */
  readonly vectorOpsPerS: number
  readonly l2BytesPerS: number
  readonly dramBytesPerS: number
  /** Percentage of time in which any kernel is resident. */
  readonly smUtilPercent: number
  /** Percentage of time in which DRAM is busy. */
  readonly memUtilPercent: number
}

type RateName = 'throughput' | 'busySms' | 'flopPerS' | 'vectorOpsPerS' | 'l2BytesPerS' | 'dramBytesPerS'

/** The rates of a state, which add up over the parts of a board. */
function ratesOf(value: (name: RateName) => number): Pick<SteadyState, RateName> {
  return {
    throughput: value('throughput'),
    busySms: value('busySms'),
    flopPerS: value('flopPerS'),
    vectorOpsPerS: value('vectorOpsPerS'),
    l2BytesPerS: value('l2BytesPerS'),
    dramBytesPerS: value('dramBytesPerS'),
  }
}

/** State of a board without work. */
export const idleState: SteadyState = { tenants: [], ...ratesOf(() => 0), smUtilPercent: 0, memUtilPercent: 0 }

/** Mean of a state and of idleness. `part` is the fraction of time in the state. */
export function scaledState(state: SteadyState, part: number): SteadyState {
  return {
    tenants: state.tenants.map((tenant) => ({
      ...tenant,
      throughput: part * tenant.throughput,
      deviceShare: part * tenant.deviceShare,
    })),
    ...ratesOf((name) => part * state[name]),
    smUtilPercent: Math.min(100, part * state.smUtilPercent),
    memUtilPercent: Math.min(100, part * state.memUtilPercent),
  }
}

/**
 * Combines the states of a board's MIG instances into the state of the board. Tenants are in the order of the
 * instances.
 */
export function combineStates(
  parts: readonly { readonly state: SteadyState; readonly bandwidthShare: number }[],
): SteadyState {
  return {
    tenants: parts.flatMap(({ state }) => state.tenants),
    ...ratesOf((name) => parts.reduce((total, { state }) => total + state[name], 0)),
    // The board counts as busy while a kernel runs in any instance.
    smUtilPercent: 100 * (1 - parts.reduce((none, { state }) => none * (1 - state.smUtilPercent / 100), 1)),
    memUtilPercent: parts.reduce((total, part) => total + part.bandwidthShare * part.state.memUtilPercent, 0),
  }
}

const fusedAttention = perGraph(withFusedAttention)
const layoutCopies = perGraph(withLayoutCopies)

/** Computes the rates of tenants that run side by side. Caches tenants' loads by network, batch size and SMs. */
export class SteadyStateSolver {
  /** Coefficients of the board under the execution. */
  readonly physics: BoardPhysics
  /** Host that feeds the board. */
  readonly host: HostProfile
  readonly #spec: GpuSpec
  readonly #execution: Execution
  readonly #networks: Networks
  readonly #fixedPoint = new FixedPoint()
  /**
   * Loads by the tenant's `model` as written, then by batch size and SMs. If two names mean one network, both map to
   * the same inner map.
   */
  readonly #loads = new Map<string, Map<number, TenantLoad>>()

  /** @throws InvalidInputError for an invalid execution, or two networks of one name */
  constructor(spec: GpuSpec, physics: BoardPhysics, execution: Execution = {}) {
    assertExecution(execution)
    this.#spec = spec
    this.physics = physicsUnder(physics, execution)
    this.host = hostUnder(spec, execution)
    this.#execution = execution
    this.#networks = networksOf(execution.networks)
  }

  solve({ tenants, smClockMhz, memClockMhz }: Configuration): SteadyState {
    return this.prepare(tenants)(smClockMhz, memClockMhz)
  }

  /**
   * Computes everything that does not depend on clocks.
   *
   * @returns a function that gives the state at given clocks
   */
  prepare(tenants: readonly Tenant[]): (smClockMhz: number, memClockMhz: number) => SteadyState {
    if (tenants.length === 0) return () => idleState
    const timeSliced = this.#execution.mps === 'off'
    const loads = tenants.map(({ model, batchSize, mpsPercent }) =>
      this.#load(model, batchSize, timeSliced ? this.#spec.smCount : smsOfShare(this.#spec, mpsPercent)),
    )
    const mix = new TenantMix(this.#spec, this.physics.work, this.host, loads, this.#fixedPoint, timeSliced)
    return (smClockMhz, memClockMhz) => {
      mix.settle(smClockMhz, memClockMhz)
      return stateOf(mix, this.#spec, timeSliced)
    }
  }

  #load(model: string, batchSize: number, sms: number): TenantLoad {
    let ofModel = this.#loads.get(model)
    if (!ofModel) {
      const { name } = networkWork(model, this.#networks)
      ofModel = this.#loads.get(name) ?? new Map()
      this.#loads.set(name, ofModel)
      this.#loads.set(model, ofModel)
    }
    const key = batchSize * 1024 + sms
    let load = ofModel.get(key)
    if (!load) {
      const eager = networkWork(model, this.#networks).graph
      const plain = this.host.fusesAttention ? fusedAttention(eager) : eager
      const copies = this.host.channelsFirst === true && onTensorUnits(this.#spec, this.#execution)
      const work = flattened(copies ? layoutCopies(plain) : plain)
      load = tenantLoad(this.#spec, this.physics.work, this.host, work, batchSize, sms, this.#execution)
      ofModel.set(key, load)
    }
    return load
  }
}

function stateOf(mix: TenantMix, spec: GpuSpec, timeSliced: boolean): SteadyState {
  let busySms = 0
  let flopPerS = 0
  let vectorOpsPerS = 0
  let l2BytesPerS = 0
  let dramBytesPerS = 0
  let noneResident = 1
  let working = 0
  let throughput = 0
  for (const { load, count, batchS, deviceS, workS, totalDramBytes } of mix.kinds) {
    const rate = count / batchS
    busySms += rate * (timeSliced ? workS : deviceS) * load.sms
    flopPerS += rate * load.flops
    vectorOpsPerS += rate * load.vectorOps
    l2BytesPerS += rate * load.totalBytes
    dramBytesPerS += rate * totalDramBytes
    throughput += rate * load.batchSize
    working += rate * workS
    noneResident *= (1 - Math.min(1, deviceS / batchS)) ** count
  }
  return {
    tenants: mix.kindOf.map(({ load, batchS, deviceS }) => ({
      throughput: load.batchSize / batchS,
      batchMs: batchS * 1e3,
      deviceShare: Math.min(1, deviceS / batchS),
    })),
    throughput,
    busySms: Math.min(busySms, spec.smCount),
    flopPerS,
    vectorOpsPerS,
    l2BytesPerS,
    dramBytesPerS,
    // If tenants take turns, the times in which their kernels are resident add up. If they run at the same time, these
    // times overlap as independent events.
    smUtilPercent: 100 * (timeSliced ? Math.min(1, working) : 1 - noneResident),
    memUtilPercent: Math.min(100, (100 * dramBytesPerS) / mix.capacity),
  }
}
