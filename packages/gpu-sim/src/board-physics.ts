import type { OperatorClass } from '@pctodl/model-zoo'

/**
 * Coefficients of one board, without the host that feeds it (`HostProfile`). `GpuSpec` has the figures of the data
 * sheet; the values here need measurements. They apply to every network. `pnpm --filter @pctodl/gpu-sim calibrate` fits
 * those that can be fitted.
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
   * Depth of a matrix product (number of terms per sum) at which filling and draining the pipeline costs half of that
   * share.
   */
  readonly halfDepth: number
  /**
   * Attained share of the vector peak for matrix work on vector units; above 1 if an algorithm saves multiplications.
   */
  readonly vectorEfficiency: MatrixEfficiency
  /** Depthwise convolution on the vector units: FLOP per clock and SM. */
  readonly depthwiseFlopPerClockPerSm: number
  /**
   * Energy per operation of matrix products and attention, relative to `flopPj`: `tensor` in half precision on tensor
   * units, `vector` in single precision on vector units. Set for boards on which it was measured apart from
   * convolutions. Default: the energy of convolutions, with a busy unit drawing the same power at any precision.
   */
  readonly productEnergy?: { readonly tensor: number; readonly vector: number }
  /** DRAM bandwidth that one SM can request at the boost clock, GB/s. */
  readonly smBandwidthGBs: number
  /** Attainable share of the peak DRAM bandwidth, 0..1. */
  readonly dramEfficiency: number
  /** Memory traffic relative to the minimum (each operand moved once), by operator class. */
  readonly traffic: Readonly<Record<OperatorClass, number>>
  /** Share of the traffic that hits L2 if the working set is small, 0..1. */
  readonly l2HitShare: number
  /** Working set at which the L2 hit share has halved, in units of the L2 size. */
  readonly l2CapacityFactor: number
  /** L2 bandwidth of an SM relative to its DRAM bandwidth. */
  readonly l2BandwidthFactor: number
  /**
   * How much a tenant's DRAM traffic suffers from co-runners' traffic outside their memory-bound phases: 1 = not at all
   * (independent phases), 0 = always (equal split).
   */
  readonly contentionExponent: number
  /**
   * How tenants share DRAM. `proportional`: no loss until requests exceed the bandwidth, then shares in proportion to
   * requests. `queue`: requests wait longer the busier DRAM is, so co-runners cost time before it is full. `max-min`:
   * small requests are served in full; large ones share the rest.
   */
  readonly contention: 'proportional' | 'queue' | 'max-min'
  /**
   * Relative slowdown of kernels while all other SMs run kernels of co-runners. Its cause is the shared crossbar, L2
   * banks and page walkers.
   */
  readonly neighbourCost: number
  /**
   * Which activity of co-runners slows a kernel: `resident` counts their kernels on the device, `compute` the share of
   * time in which these kernels compute. Under `compute`, a kernel with more arithmetic of its own is slowed less.
   */
  readonly neighbourLaw: 'resident' | 'compute'
  /**
   * How arithmetic time and traffic time combine to an operator's time: `soft` and `smooth` as p-norms with exponents 2
   * and 4 (4: 19 % above when equal), `sharp` as their maximum.
   */
  readonly saturation: 'soft' | 'smooth' | 'sharp'
  /** Relative slowdown of a MIG instance while all other instances are busy, 0..1. */
  readonly migNeighbourCost: number
}

/** Attained share of a peak, by kind of matrix work. */
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
   * operator without matrix work counts one operation per element read or written, a depthwise convolution one per
   * multiplication.
   */
  readonly vectorOpPj: number
  /** Energy of moving a byte between L2 and an SM at boost voltage, pJ/B; proportional to V^2. */
  readonly l2BytePj: number
  /** Energy of a byte of DRAM traffic, pJ/B. */
  readonly dramBytePj: number
  /** Decrease of the relative voltage V/V(boost) per relative decrease of the clock below boost ... */
  readonly voltageSlope: number
  /** ... down to this floor. */
  readonly voltageFloor: number
  /**
   * Shape of the voltage curve. `knee`: a line that ends in a constant floor. `rounded`: the same with a bend a tenth
   * of the boost clock wide. `bent`: a parabola down to the floor.
   */
  readonly voltageCurve: 'knee' | 'rounded' | 'bent'
  /** Power with no process on the board and nothing locked, W. */
  readonly idleW: number
  /** Standard deviation of the load's own power fluctuation, relative to dynamic power. */
  readonly ripple: number
}

/** Thermal model with two nodes: the die responds within a second, the cooler within half a minute. */
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
  /** Distance below an active power limit at which the firmware aims, as a share of the limit, 0..1. */
  readonly margin: number
  /** Additional margin, W. */
  readonly marginW: number
  /** The board's own bound on power, in force at any limit up to `plateauUpToW`, W; null: none. */
  readonly plateauW: number | null
  /** Limit above which `plateauW` no longer applies, W. */
  readonly plateauUpToW: number
  /**
   * Control law. `integral`: follows the mean of power, and alternates between two clock states if one draws too much
   * and the next too little. `step`: steps down above the limit, and up again once power is below the limit by the
   * hysteresis.
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
   * Averaging window of the plain power reading, ms; 1000 on boards that average. Power outside the window is never
   * read if the window is shorter than the refresh period.
   */
  readonly averageWindowMs: number
  readonly instantWindowMs: number
  /**
   * Spread of the constant gain of individual units: standard deviation around 1, and the range of gains found on
   * units.
   */
  readonly gainSigma: number
  readonly gainRange: readonly number[]
  /** Standard deviation of the constant offset of individual units, W. */
  readonly offsetSigmaW: number
  readonly noiseW: number
  readonly quantumW: number
}

export interface ProcessPhysics {
  /** GPU memory that a process takes before it loads its network: context and framework, bytes. */
  readonly contextBytes: number
  /** GPU memory kept by the driver and the MPS server, bytes. */
  readonly reservedBytes: number
  /** Memory of activations relative to the largest set of live activations; the excess is the allocator's overhead. */
  readonly activationFactor: number
  /** Time to start a process and its framework, ms. */
  readonly startMs: number
  /** Rate at which weights are read from storage and copied to the board, GB/s. */
  readonly loadGBs: number
  /** Time to end a process, ms. */
  readonly stopMs: number
}
