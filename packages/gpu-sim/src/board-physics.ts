import type { OperatorClass } from '@pctodl/model-zoo'

/**
 * The coefficients of one board, without the host that feeds it (`HostProfile`). What a data sheet states is in `GpuSpec`; this is what only measurements tell. They are
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
  /** Attained share of the tensor peak, 0..1. Attention is many small products and far from what one large one attains. */
  readonly efficiency: MatrixEfficiency
  /**
   * Depth of a matrix product (the length of its sums) at which half of that share is lost to filling and draining the
   * pipeline.
   */
  readonly halfDepth: number
  /** Attained share of the vector peak where matrix work runs on it; above 1 where an algorithm saves multiplications. */
  readonly vectorEfficiency: MatrixEfficiency
  /** Depthwise convolution runs on the vector units: FLOP per clock and SM. */
  readonly depthwiseFlopPerClockPerSm: number
  /**
   * Energy of an operation of plain matrix products and attention over `flopPj`, where it was measured apart from convolutions: on tensor units in half
   * precision, on vector units in single precision. Default: that of convolutions, and a busy unit draws the same at any precision.
   */
  readonly productEnergy?: { readonly tensor: number; readonly vector: number }
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
  /**
   * How tenants meet in DRAM. `proportional`: nobody loses anything until the requests exceed the bandwidth, then each gets
   * it in proportion. `queue`: requests wait longer the busier DRAM is, so that neighbours cost something before it is full.
   * `max-min`: small requests are served whole, large ones share the rest.
   */
  readonly contention: 'proportional' | 'queue' | 'max-min'
  /**
   * Share by which kernels take longer while all SMs besides their own run kernels of others: the crossbar, L2 banks and page
   * walkers are everybody's.
   */
  readonly neighbourCost: number
  /**
   * What of them counts: `resident` kernels, or the part of their time in which they `compute`; then a kernel feels them the less the
   * more of its own time is arithmetic.
   */
  readonly neighbourLaw: 'resident' | 'compute'
  /** How sharply the longer of arithmetic and traffic decides an operator's time: 2, 4 (19 % above when equal), or none. */
  readonly saturation: 'soft' | 'smooth' | 'sharp'
  /** Share of its time that a MIG instance loses while all of the others are busy, 0..1. */
  readonly migNeighbourCost: number
}

/** By kind of matrix work, relative to a peak. */
export interface MatrixEfficiency {
  readonly conv: number
  readonly pointwise: number
  readonly linear: number
  readonly attention: number
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
  /**
   * Energy of an operation of the vector units at boost voltage, issue and registers included, pJ; proportional to V^2. An
   * operator without matrix work counts one for each element read or written, a depthwise convolution one for each
   * multiplication.
   */
  readonly vectorOpPj: number
  /** Energy of moving a byte between L2 and an SM at boost voltage, pJ/B; proportional to V^2. */
  readonly l2BytePj: number
  /** Energy of a DRAM byte, pJ/B. */
  readonly dramBytePj: number
  /** Relative voltage V/V(boost) falls by this much per relative clock below boost ... */
  readonly voltageSlope: number
  /** ... down to this floor. */
  readonly voltageFloor: number
  /** `knee`: a line and a floor. `rounded`: the same with a bend a tenth of the boost clock wide. `bent`: a parabola to the floor. */
  readonly voltageCurve: 'knee' | 'rounded' | 'bent'
  /** Power with no process on the board and nothing locked, W. */
  readonly idleW: number
  /** Standard deviation of the load's own fluctuation, relative to dynamic power. */
  readonly ripple: number
}

/** Two nodes: the die answers within a second, the cooler within half a minute. */
export interface ThermalPhysics {
  readonly ambientC: number
  /** From the sensor on the die to the air, K/W. */
  readonly resistance: number
  /** Of the cooler, s. */
  readonly timeConstantS: number
  /** The part of `resistance` between die and cooler, K/W. */
  readonly dieResistance: number
  readonly dieTimeConstantS: number
}

export interface FirmwarePhysics {
  /** How far below a limit that binds the firmware aims, as a share of it, 0..1. */
  readonly margin: number
  /** And by so many watts more, W. */
  readonly marginW: number
  /** A bound of the board's own, whatever limit up to `plateauUpToW` is set, W; null: none. */
  readonly plateauW: number | null
  /** Limits above this lift the plateau, W. */
  readonly plateauUpToW: number
  /**
   * `integral`: follows the mean of power and alternates between two clock states where one is too much and the next too
   * little. `step`: steps down when above the limit and up again when below it by the hysteresis.
   */
  readonly law: 'integral' | 'step'
  readonly periodMs: number
  /** Time constant of the firmware's own power average, ms. */
  readonly averageMs: number
  /** Of the law `step`: share of the limit below which the clock rises again, 0..1. */
  readonly hysteresis: number
  /** Delay from a clock request to its effect, ms. */
  readonly clockLatencyMs: number
}

export interface SensorPhysics {
  readonly periodMs: number
  /** Window of the plain reading, ms: 1000 on boards that average; where it is shorter than the period, the rest is not seen. */
  readonly averageWindowMs: number
  readonly instantWindowMs: number
  /** Spread of the gain that a unit has for life: standard deviation around 1, and the range outside which none was found. */
  readonly gainSigma: number
  readonly gainRange: readonly number[]
  /** Standard deviation of the offset that a unit has for life, W. */
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
