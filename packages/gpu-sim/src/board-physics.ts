import type { OperatorClass } from '@pctodl/model-zoo'

/**
 * Coefficients of one board, without those of its host machine (`HostProfile`). A data sheet (`GpuSpec`) does not state
 * them; only measurements show them. They are the same for every network. `pnpm --filter @pctodl/gpu-sim calibrate`
 * fits those that can be fitted.
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
   * Attained share of the tensor peak, 0..1, by kind of matrix work. Attention has a value of its own: its many small
   * products attain far less than a large product.
   */
  readonly efficiency: MatrixEfficiency
  /**
   * Depth of a matrix product (number of terms per sum) at which filling and draining the pipeline halves the attained
   * share.
   */
  readonly halfDepth: number
  /**
   * Attained share of the vector peak for matrix work on vector units. It is above 1 if the algorithm saves
   * multiplications.
   */
  readonly vectorEfficiency: MatrixEfficiency
  /** Depthwise convolution on the vector units: FLOP per clock and SM. */
  readonly depthwiseFlopPerClockPerSm: number
  /**
   * Energy per operation of matrix products and attention, relative to `flopPj`: `tensor` in half precision on tensor
   * units, `vector` in single precision on vector units. It is set for boards on which it was measured separately from
   * convolutions. By default it is the energy of convolutions, which assumes that a busy unit draws the same power at
   * any precision.
   */
  readonly productEnergy?: { readonly tensor: number; readonly vector: number }
  /** DRAM bandwidth that one SM can request at the boost clock, GB/s. */
  readonly smBandwidthGBs: number
  /** Attainable share of the peak DRAM bandwidth, 0..1. */
  readonly dramEfficiency: number
  /** Memory traffic by operator class, relative to the minimum (each operand moved once). */
  readonly traffic: Readonly<Record<OperatorClass, number>>
  /** Share of an operator's traffic that L2 serves if its working set is small, 0..1. */
  readonly l2HitShare: number
  /** Working set at which L2 serves half of that share, in units of the L2 size. */
  readonly l2CapacityFactor: number
  /** L2 bandwidth of an SM, relative to the DRAM bandwidth that one SM can request. */
  readonly l2BandwidthFactor: number
  /**
   * Exponent on the fraction of time in which a tenant uses DRAM. The result is the weight of the tenant's DRAM demand
   * in the contention with co-runners. 1: the demand counts in proportion to that fraction. 0: as if the tenant used
   * DRAM all the time.
   */
  readonly contentionExponent: number
  /**
   * How tenants share DRAM bandwidth. `proportional`: no loss until the sum of requests exceeds the bandwidth, then
   * each gets a share in proportion to its request. `queue`: the wait grows with DRAM utilization, so co-runners cost
   * time even before DRAM is saturated. `max-min`: small requests are served in full, and large ones share the rest.
   */
  readonly contention: 'proportional' | 'queue' | 'max-min'
  /**
   * Relative slowdown of a kernel while all other SMs run kernels of co-runners. The cause is the crossbar, L2 banks
   * and page walkers that all SMs share.
   */
  readonly neighbourCost: number
  /**
   * Which activity of co-runners slows a kernel. `resident`: the presence of their kernels on the device. `compute`:
   * the share of time in which these kernels compute; a kernel with more arithmetic of its own is then slowed less.
   */
  readonly neighbourLaw: 'resident' | 'compute'
  /**
   * How an operator's arithmetic time and traffic time combine to its duration. `soft` and `smooth` are p-norms with
   * exponents 2 and 4; with 4, the result is 19 % above two equal times. `sharp` is the maximum.
   */
  readonly saturation: 'soft' | 'smooth' | 'sharp'
  /** Relative slowdown of a MIG instance while all other instances are busy, 0..1. */
  readonly migNeighbourCost: number
}

/** Share of a peak rate that is attained, by kind of matrix work. */
export interface MatrixEfficiency {
  readonly conv: number
  readonly pointwise: number
  readonly linear: number
  readonly attention: number
}

export interface PowerPhysics {
  /** Power of fans, regulators and other parts whose power does not depend on clocks, W. */
  readonly boardW: number
  /** DRAM background power per memory clock, W/MHz. */
  readonly dramBackgroundWPerMhz: number
  /**
   * Leakage at boost voltage and temperature `leakageReferenceC`, W. It is proportional to voltage and exponential in
   * temperature.
   */
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
   * Energy of a vector-unit operation at boost voltage, including issue and registers, pJ; proportional to V^2.
   * Operators without matrix work count one operation per element read or written, and so do products and long
   * attention on boards with `productEnergy`; a depthwise convolution counts one per multiplication.
   */
  readonly vectorOpPj: number
  /** Energy of moving a byte between L2 and an SM at boost voltage, pJ/B; proportional to V^2. */
  readonly l2BytePj: number
  /** Energy of a byte of DRAM traffic, pJ/B. */
  readonly dramBytePj: number
  /**
   * Slope of the voltage curve: decrease of V/V(boost) per decrease of f/f(boost), while the voltage is above
   * `voltageFloor`.
   */
  readonly voltageSlope: number
  /** Lowest V/V(boost), at low clocks. */
  readonly voltageFloor: number
  /**
   * Shape of the voltage curve. `knee`: a straight line down to a constant floor. `rounded`: the same, with a smooth
   * bend a tenth of the boost clock wide. `bent`: a parabola down to the floor.
   */
  readonly voltageCurve: 'knee' | 'rounded' | 'bent'
  /** Power with no process on the board and nothing locked, W. */
  readonly idleW: number
  /** Standard deviation of the power fluctuation that the load itself causes, relative to dynamic power. */
  readonly ripple: number
}

/**
 * Coefficients of a thermal model with two temperatures: the die's, which follows power within a second, and the
 * cooler's, which follows within half a minute.
 */
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
  /** How far below an active power limit the firmware regulates, as a fraction of the limit, 0..1. */
  readonly margin: number
  /** Additional margin, W. */
  readonly marginW: number
  /**
   * Power that the board does not exceed at any limit up to `plateauUpToW`, even if the limit allows more, W; null if
   * the board has no such bound.
   */
  readonly plateauW: number | null
  /** Power limit above which `plateauW` does not apply, W. */
  readonly plateauUpToW: number
  /**
   * How the firmware regulates. `integral`: it regulates mean power, and alternates between two clock states if one
   * draws too much and the next lower one too little. `step`: it steps the clock down above the limit, and up again
   * once power is below `hysteresis` times the limit.
   */
  readonly law: 'integral' | 'step'
  readonly periodMs: number
  /** Time constant of the average of power on which the firmware acts, ms. */
  readonly averageMs: number
  /** For `step`: the clock rises again once power is below this fraction of the limit, 0..1. */
  readonly hysteresis: number
  /** Delay from a clock request to its effect, ms. */
  readonly clockLatencyMs: number
}

export interface SensorPhysics {
  readonly periodMs: number
  /**
   * Averaging window of the averaged power reading, ms; 1000 on boards that average over a second. If it is shorter
   * than the refresh interval, power between two windows is never read.
   */
  readonly averageWindowMs: number
  readonly instantWindowMs: number
  /** The gain of a unit is constant. Standard deviation of the units' gains around 1, and the range of gains found. */
  readonly gainSigma: number
  readonly gainRange: readonly number[]
  /** Standard deviation of the constant offset of individual units, W. */
  readonly offsetSigmaW: number
  readonly noiseW: number
  readonly quantumW: number
}

export interface ProcessPhysics {
  /** GPU memory that a process takes before it loads its network, for CUDA context and framework, bytes. */
  readonly contextBytes: number
  /** GPU memory that the driver and the MPS server take, bytes. */
  readonly reservedBytes: number
  /**
   * Memory of activations, relative to the largest set of activations that are needed at the same time. The excess over
   * 1 is the allocator's overhead.
   */
  readonly activationFactor: number
  /** Time to start a process and its framework, ms. */
  readonly startMs: number
  /** Rate at which weights are read from storage and copied to the board, GB/s. */
  readonly loadGBs: number
  /** Time to end a process, ms. */
  readonly stopMs: number
}
