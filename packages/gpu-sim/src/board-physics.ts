import type { OperatorClass } from '@pctodl/model-zoo'

/**
 * Coefficients of one board, without the host that feeds it (`HostProfile`). `GpuSpec` has the data sheet; these values
 * need measurements. They are global: none belongs to a network. `pnpm --filter @pctodl/gpu-sim calibrate` fits those
 * that can be fitted.
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
  /**
   * Attained share of the tensor peak, 0..1. Attention consists of many small products and stays far below a large one.
   */
  readonly efficiency: MatrixEfficiency
  /**
   * Depth of a matrix product (the length of its sums) at which half of that share is lost to filling and draining the
   * pipeline.
   */
  readonly halfDepth: number
  /**
   * Attained share of the vector peak for matrix work on vector units; above 1 where an algorithm saves
   * multiplications.
   */
  readonly vectorEfficiency: MatrixEfficiency
  /** Depthwise convolution on the vector units: FLOP per clock and SM. */
  readonly depthwiseFlopPerClockPerSm: number
  /**
   * Energy per operation of matrix products and attention, relative to `flopPj`, where it was measured apart from
   * convolutions: on tensor units in half precision, on vector units in single precision. Default: that of
   * convolutions, and a busy unit draws the same power at any precision.
   */
  readonly productEnergy?: { readonly tensor: number; readonly vector: number }
  /** DRAM bandwidth that one SM can request at the boost clock, GB/s. */
  readonly smBandwidthGBs: number
  /** Attainable share of the peak DRAM bandwidth, 0..1. */
  readonly dramEfficiency: number
  /** Memory traffic relative to the minimum (each operand once), by operator class. */
  readonly traffic: Readonly<Record<OperatorClass, number>>
  /** Share of the traffic that hits L2 for a small working set, 0..1. */
  readonly l2HitShare: number
  /** Working set, in units of the L2 size, at which that share has halved. */
  readonly l2CapacityFactor: number
  /** L2 bandwidth per SM over its DRAM bandwidth. */
  readonly l2BandwidthFactor: number
  /**
   * How strongly co-runners' traffic is felt outside their memory-bound phases: 1 = not at all (independent phases),
   * 0 = always (equal split).
   */
  readonly contentionExponent: number
  /**
   * How tenants share DRAM. `proportional`: no loss until the requests exceed the bandwidth, then proportional shares.
   * `queue`: requests wait longer the busier DRAM is, so neighbours have a cost before it is full. `max-min`: small
   * requests are served in full, large ones share the rest.
   */
  readonly contention: 'proportional' | 'queue' | 'max-min'
  /**
   * Relative slowdown of kernels while all other SMs run kernels of others, because the crossbar, L2 banks and page
   * walkers are shared.
   */
  readonly neighbourCost: number
  /**
   * What counts of the neighbours: `resident` kernels, or the share of their time in which they `compute`. In the
   * latter case, a kernel is slowed less the more of its own time is arithmetic.
   */
  readonly neighbourLaw: 'resident' | 'compute'
  /**
   * How the times of arithmetic and traffic combine to an operator's time: `soft` with exponent 2, `smooth` with 4 (19
   * % above when equal), `sharp` as their maximum.
   */
  readonly saturation: 'soft' | 'smooth' | 'sharp'
  /** Relative slowdown of a MIG instance while all others are busy, 0..1. */
  readonly migNeighbourCost: number
}

/** Shares of a peak by kind of matrix work. */
export interface MatrixEfficiency {
  readonly conv: number
  readonly pointwise: number
  readonly linear: number
  readonly attention: number
}

export interface PowerPhysics {
  /** Power of fans, regulators and other parts that do not depend on clocks, W. */
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
  /** Power of a busy SM at boost clock and voltage, W; proportional to V^2 f. */
  readonly busySmW: number
  /** Energy of an arithmetic operation at boost voltage, pJ/FLOP; proportional to V^2. */
  readonly flopPj: number
  /**
   * Energy of a vector-unit operation at boost voltage, including issue and registers, pJ; proportional to V^2. An
   * operator without matrix work counts one for each element read or written, a depthwise convolution one for each
   * multiplication.
   */
  readonly vectorOpPj: number
  /** Energy of moving a byte between L2 and an SM at boost voltage, pJ/B; proportional to V^2. */
  readonly l2BytePj: number
  /** Energy of a byte of DRAM traffic, pJ/B. */
  readonly dramBytePj: number
  /** Decrease of the relative voltage V/V(boost) per relative clock below boost ... */
  readonly voltageSlope: number
  /** ... down to this floor. */
  readonly voltageFloor: number
  /**
   * Voltage curve. `knee`: a line and a floor. `rounded`: the same with a bend a tenth of the boost clock wide. `bent`:
   * a parabola down to the floor.
   */
  readonly voltageCurve: 'knee' | 'rounded' | 'bent'
  /** Power with no process on the board and nothing locked, W. */
  readonly idleW: number
  /** Standard deviation of the load's own power fluctuation, relative to dynamic power. */
  readonly ripple: number
}

/** Two nodes: the die responds within a second, the cooler within half a minute. */
export interface ThermalPhysics {
  readonly ambientC: number
  /** Thermal resistance from the sensor on the die to the air, K/W. */
  readonly resistance: number
  /** Time constant of the cooler, s. */
  readonly timeConstantS: number
  /** The part of `resistance` between die and cooler, K/W. */
  readonly dieResistance: number
  readonly dieTimeConstantS: number
}

export interface FirmwarePhysics {
  /** Margin below a binding limit at which the firmware aims, as a share of the limit, 0..1. */
  readonly margin: number
  /** Additional margin, W. */
  readonly marginW: number
  /** Power bound of the board's own under any limit up to `plateauUpToW`, W; null: none. */
  readonly plateauW: number | null
  /** Limits above this lift the plateau, W. */
  readonly plateauUpToW: number
  /**
   * Control law. `integral`: follows the mean of power and alternates between two clock states where one is too high
   * and the next too low. `step`: steps down above the limit, and up again below it by the hysteresis.
   */
  readonly law: 'integral' | 'step'
  readonly periodMs: number
  /** Time constant of the firmware's own power average, ms. */
  readonly averageMs: number
  /** For `step`: share of the limit below which the clock rises again, 0..1. */
  readonly hysteresis: number
  /** Delay from a clock request to its effect, ms. */
  readonly clockLatencyMs: number
}

export interface SensorPhysics {
  readonly periodMs: number
  /**
   * Averaging window of the plain reading, ms: 1000 on boards that average. If it is shorter than the period, the rest
   * is not seen.
   */
  readonly averageWindowMs: number
  readonly instantWindowMs: number
  /** Spread of a unit's constant gain: standard deviation around 1, and the range outside which no unit was found. */
  readonly gainSigma: number
  readonly gainRange: readonly number[]
  /** Standard deviation of a unit's constant offset, W. */
  readonly offsetSigmaW: number
  readonly noiseW: number
  readonly quantumW: number
}

export interface ProcessPhysics {
  /** GPU memory of a process before its network: context and framework, bytes. */
  readonly contextBytes: number
  /** GPU memory kept by the driver and the MPS server, bytes. */
  readonly reservedBytes: number
  /** Allocator overhead relative to the largest set of live activations. */
  readonly activationFactor: number
  /** Time to start a process and its framework, ms. */
  readonly startMs: number
  /** Rate at which weights are read and copied to the board, GB/s. */
  readonly loadGBs: number
  /** Time to end a process, ms. */
  readonly stopMs: number
}
