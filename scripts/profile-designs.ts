import { type GpuSpec, networkNames, SeededRandom, smClocksAt, type Tenant } from '@pctodl/platform'

/** A configuration to measure; `smClockMhz: null` leaves the SM clock to the firmware. */
export interface DesignPoint {
  readonly tenants: readonly Tenant[]
  readonly smClockMhz: number | null
  readonly memClockMhz: number
}

const batchLadder = [1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 160, 192, 256]

/** Upstream's stress grid: identical tenants at every share, count and batch size, clock not locked (263 cells). */
const anchorGrid: readonly { share: number; counts: readonly number[]; batches: readonly number[] }[] = [
  { share: 5, counts: [1, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20], batches: [4, 8, 16, 24] },
  { share: 10, counts: [1, 2, 4, 6, 8, 10], batches: [4, 8, 16, 24, 32, 48] },
  { share: 15, counts: [1, 2, 3, 4, 5, 6], batches: [4, 8, 16, 24, 32, 64] },
  { share: 20, counts: [1, 2, 3, 4, 5], batches: [4, 8, 16, 24, 32, 64, 96, 128] },
  { share: 25, counts: [1, 2, 3, 4], batches: [4, 8, 16, 24, 32, 64, 96, 128, 160] },
  { share: 30, counts: [1, 2, 3], batches: [4, 8, 16, 24, 32, 64, 96, 128, 160] },
  { share: 35, counts: [1, 2], batches: [4, 8, 16, 24, 32, 64, 96, 128, 160, 192, 256] },
  { share: 40, counts: [1, 2], batches: [4, 8, 16, 24, 32, 64, 96, 128, 160, 192, 256] },
]

function identical(model: string, count: number, mpsPercent: number, batchSize: number): Tenant[] {
  return Array.from({ length: count }, () => ({ model, mpsPercent, batchSize }))
}

/** The grid that upstream measures, for one network at one memory clock. */
function anchorDesign(model: string, memClockMhz: number): DesignPoint[] {
  return anchorGrid.flatMap(({ share, counts, batches }) =>
    counts.flatMap((count) =>
      batches.map((batch) => ({ tenants: identical(model, count, share, batch), smClockMhz: null, memClockMhz })),
    ),
  )
}

/** Upstream's clock sweep: nine configurations at locked clocks in steps of 150 MHz, and the highest. */
function clockSweepDesign(spec: GpuSpec, model: string, memClockMhz: number): DesignPoint[] {
  const states = smClocksAt(spec, memClockMhz)!
  const clocks = states.filter((clock, i) => (clock - states[0]!) % 150 === 0 || i === states.length - 1)
  const mixes = [
    { share: 25, count: 4 },
    { share: 50, count: 2 },
    { share: 10, count: 10 },
  ]
  return mixes.flatMap(({ share, count }) =>
    [8, 16, 32].flatMap((batch) =>
      clocks.map((smClockMhz) => ({ tenants: identical(model, count, share, batch), smClockMhz, memClockMhz })),
    ),
  )
}

/**
 * What upstream's grid leaves out and plans are made of: unlike shares up to 100 %, unlike batches, every clock. With
 * several networks the tenants are drawn from all of them.
 */
function randomDesign(
  spec: GpuSpec,
  models: readonly string[],
  memClocksMhz: readonly number[],
  count: number,
  seed: number,
): DesignPoint[] {
  const random = new SeededRandom(seed)
  const pick = <T>(values: readonly T[]): T => values[random.integer(values.length)]!
  return Array.from({ length: count }, () => {
    const memClockMhz = pick(memClocksMhz)
    const states = smClocksAt(spec, memClockMhz)!
    const tenants: Tenant[] = []
    const wanted = pick([1, 1, 2, 2, 3, 3, 4, 5, 6, 8, 10, 12])
    let free = 20
    while (tenants.length < wanted && free > 0) {
      const others = wanted - tenants.length - 1
      const steps = others === 0 && random.uniform() < 0.5 ? free : 1 + random.integer(Math.max(1, free - others))
      const share = 5 * Math.min(steps, free)
      const largest = batchLadder.filter((batch) => batch <= 8 * share + 8)
      tenants.push({ model: pick(models), mpsPercent: share, batchSize: pick(largest) })
      free -= share / 5
    }
    return { tenants, smClockMhz: random.uniform() < 0.15 ? null : pick(states), memClockMhz }
  })
}

/** Everything a board is profiled with. */
export function profileDesign(spec: GpuSpec, seed: number): DesignPoint[] {
  const memClocks = spec.performanceMemClocksMhz
  return [
    ...networkNames.flatMap((model, i) => [
      ...memClocks.flatMap((memClockMhz) => [
        ...anchorDesign(model, memClockMhz),
        ...clockSweepDesign(spec, model, memClockMhz),
      ]),
      ...randomDesign(spec, [model], memClocks, 160 * memClocks.length, seed + i),
    ]),
    ...randomDesign(spec, networkNames, memClocks, 400 * memClocks.length, seed + 1000),
  ]
}
