import type { OperatorClass } from '@pctodl/model-zoo'

/**
 * The coefficients of one board. What a data sheet states is in `GpuSpec`; this is what only measurements tell. They are
 * global: nothing here belongs to a network. `pnpm --filter @pctodl/gpu-sim calibrate` fits those that can be fitted.
 */
export interface BoardPhysics {
  readonly work: WorkPhysics
  readonly power: PowerPhysics
  readonly thermal: ThermalPhysics
  readonly firmware: FirmwarePhysics
  readonly sensor: SensorPhysics
  readonly process: ProcessPhysics
}

export interface WorkPhysics {
  /** Host time to launch one eager framework operator, us. */
  readonly launchUs: number
  /** Operators/s that all clients together can launch. */
  readonly launchCapacityPerS: number
  /** Host time per image (conversion and copy), us. */
  readonly imageHostUs: number
  /** Further host time per image once the input batch has left the host cache (from about `spillBatch` on), us. */
  readonly imageSpillUs: number
  readonly spillBatch: number
  /** Images/s that all clients together can prepare and copy. */
  readonly imageCapacityPerS: number
  /** Device time per kernel that does not shrink with clock or SMs, us. */
  readonly kernelFloorUs: number
  /** Attained share of the tensor peak, 0..1. */
  readonly efficiency: { readonly conv: number; readonly pointwise: number; readonly linear: number }
  /** Depthwise convolution runs on the vector units: FLOP per clock and SM. */
  readonly depthwiseFlopPerClockPerSm: number
  /** DRAM bandwidth that one SM can request at the boost clock, GB/s. */
  readonly smBandwidthGBs: number
  /** Attainable share of the peak DRAM bandwidth, 0..1. */
  readonly dramEfficiency: number
  /** Memory traffic over the least possible (each operand once), by operator class. */
  readonly traffic: Readonly<Record<OperatorClass, number>>
  /** Share of the traffic that hits L2 while the working set is small against it, 0..1. */
  readonly l2HitShare: number
  /** Working set, in units of the L2 size, at which that share has halved. */
  readonly l2CapacityFactor: number
  /** L2 bandwidth per SM over its DRAM bandwidth. */
  readonly l2BandwidthFactor: number
  /**
   * How much co-runners' traffic is felt outside their memory-bound phases: 1 = only while they are in one (independent
   * phases), 0 = always (equal split).
   */
  readonly contentionExponent: number
}

export interface PowerPhysics {
  /** Fans, regulators and everything that does not depend on clocks, W. */
  readonly boardW: number
  /** DRAM background power per memory clock, W/MHz. */
  readonly dramBackgroundWPerMhz: number
  /** Leakage at the boost voltage and `leakageReferenceC`, W; proportional to voltage, exponential in temperature. */
  readonly leakageW: number
  readonly leakageReferenceC: number
  /** Temperature rise that multiplies leakage by e, K. */
  readonly leakageScaleK: number
  /** Clock tree and uncore at boost clock and voltage, W; proportional to V^2 f. */
  readonly clockTreeW: number
  /** A busy SM at boost clock and voltage, W; proportional to V^2 f. */
  readonly busySmW: number
  /** Energy of an arithmetic operation at boost voltage, pJ/FLOP; proportional to V^2. */
  readonly flopPj: number
  /** Energy of moving a byte between L2 and an SM at boost voltage, pJ/B; proportional to V^2. */
  readonly l2BytePj: number
  /** Energy of a DRAM byte, pJ/B. */
  readonly dramBytePj: number
  /** Relative voltage V/V(boost) falls by this much per relative clock below boost ... */
  readonly voltageSlope: number
  /** ... down to this floor. */
  readonly voltageFloor: number
  /** Power with no process on the board and nothing locked, W. */
  readonly idleW: number
  /** Standard deviation of the load's own fluctuation, relative to dynamic power. */
  readonly ripple: number
}

export interface ThermalPhysics {
  readonly ambientC: number
  /** K/W. */
  readonly resistance: number
  readonly timeConstantS: number
}

export interface FirmwarePhysics {
  /** The power limit that the firmware really regulates to, as a share of the one set. */
  readonly limitFactor: number
  readonly periodMs: number
  /** Time constant of the firmware's own power average, ms. */
  readonly averageMs: number
  /** Delay from a clock request to its effect, ms. */
  readonly clockLatencyMs: number
}

export interface SensorPhysics {
  readonly periodMs: number
  /** Window of the plain reading, ms: 1000 on boards that average, 25 of each 100 where the sensor is part-time. */
  readonly averageWindowMs: number
  readonly instantWindowMs: number
  /** Standard deviations of the error that a board has for life. */
  readonly gainSigma: number
  readonly offsetSigmaW: number
  readonly noiseW: number
  readonly quantumW: number
}

export interface ProcessPhysics {
  /** GPU memory of a process before its network: context and framework, bytes. */
  readonly contextBytes: number
  /** GPU memory that the driver and the MPS server keep, bytes. */
  readonly reservedBytes: number
  /** Allocator slack over the largest set of live activations. */
  readonly activationFactor: number
  /** Time to start a process and its framework, ms. */
  readonly startMs: number
  /** Rate at which weights are read and placed, GB/s. */
  readonly loadGBs: number
  /** Time to end a process, ms. */
  readonly stopMs: number
}
