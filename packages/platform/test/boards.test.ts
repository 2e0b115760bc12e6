import {
  addGpuSpec,
  findGpuSpec,
  formatPlatformFile,
  type GpuSpec,
  gpuSpecs,
  InvalidInputError,
  memoryBandwidth,
  memoryTypeOf,
  PlatformFileError,
  parsePlatformFile,
  smClocksAt,
  smsOfShare,
  UnknownNameError,
} from '@pctodl/platform'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

const boards = Object.values(gpuSpecs)

/** Published: dense FP16 TFLOPS with FP32 accumulation at a clock, memory bandwidth in GB/s, memory in GB, limit in W. */
const datasheets: [key: string, tflops: number, atMhz: number, bandwidth: number, memory: number, limit: number][] = [
  ['3080Ti', 68.2, 1665, 912, 12, 350],
  ['RTX3090', 71, 1695, 936, 24, 350],
  ['A10', 125, 1695, 600, 24, 150],
  ['A100', 312, 1410, 1555, 40, 250],
  ['A100-80GB', 312, 1410, 2039, 80, 400],
  ['V100', 125, 1530, 900, 32, 300],
  ['T4', 65, 1590, 320, 16, 70],
  ['H100', 989.4, 1830, 3350, 80, 700],
  ['H200', 989.4, 1830, 4800, 141, 700],
  ['P100', 19.05, 1328, 732, 16, 250],
  ['V100-PCIe', 113, 1380, 900, 16, 250],
  ['RTX6000', 130.5, 1770, 672, 24, 260],
  ['RTX8000', 130.5, 1770, 672, 48, 260],
  ['RTX2080Ti', 56.9, 1635, 616, 11, 250],
  ['A100-40GB-SXM', 312, 1410, 1555, 40, 400],
  ['A100-80GB-PCIe', 312, 1410, 1935, 80, 300],
  ['A40', 149.7, 1740, 696, 48, 300],
  ['A6000', 154.8, 1800, 768, 48, 300],
  ['L4', 121, 2040, 300, 24, 72],
  ['L40S', 362, 2520, 864, 48, 350],
  ['RTX6000Ada', 364.2, 2505, 960, 48, 300],
  ['RTX4090', 165.2, 2520, 1008, 24, 450],
  ['RTX5090', 209.5, 2407, 1792, 32, 575],
  ['RTXPRO6000', 503.8, 2617, 1792, 96, 600],
  ['RTXPRO6000-MaxQ', 438.9, 2280, 1792, 96, 300],
  ['H100-PCIe', 756, 1620, 2039, 80, 350],
  ['B200', 2250, 1860, 8000, 180, 1000],
  ['GB200', 2500, 2008, 8000, 185, 1200],
]

describe('the boards', () => {
  it('are those of this release', () => {
    expect(Object.keys(gpuSpecs).sort()).toEqual(datasheets.map(([key]) => key).sort())
  })

  it.each(datasheets)('%s has the figures of its data sheet', (key, tflops, atMhz, bandwidth, memory, limit) => {
    const spec = gpuSpecs[key]!
    const peak = (spec.smCount * spec.tensorFlopPerClockPerSm * atMhz * 1e6) / 1e12
    expect(Math.abs(peak / tflops - 1)).toBeLessThan(0.015)
    const gigabytes = memoryBandwidth(spec, spec.performanceMemClocksMhz[0]!) / 1e9
    expect(Math.abs(gigabytes / bandwidth - 1)).toBeLessThan(0.03)
    expect(spec.memoryBytes).toBe(memory * 1024 ** 3)
    expect(spec.powerLimitW.default).toBe(limit)
  })

  it.each(boards.map((spec) => [spec.key, spec] as const))('%s hangs together', (key, spec: GpuSpec) => {
    expect(spec.key).toBe(key)
    expect(spec.sources.length).toBeGreaterThan(1)
    const { min, default: usual, max } = spec.powerLimitW
    expect(min).toBeLessThan(usual)
    expect(usual).toBeLessThanOrEqual(max)
    expect(spec.smCount % spec.smPerTpc).toBe(0)
    const memClocks = spec.clockStates.map((state) => state.memClockMhz)
    expect(memClocks).toEqual([...memClocks].sort((a, b) => a - b))
    expect(spec.performanceMemClocksMhz).toEqual([...spec.performanceMemClocksMhz].sort((a, b) => b - a))
    expect(spec.performanceMemClocksMhz[0]).toBe(memClocks.at(-1))
    for (const memClockMhz of spec.performanceMemClocksMhz) {
      const clocks = smClocksAt(spec, memClockMhz)!
      expect(clocks.every((clock, i) => Number.isInteger(clock) && clock > (clocks[i - 1] ?? 0))).toBe(true)
      expect(clocks).toContain(spec.boostClockMhz)
    }
  })

  it('have the clock tables that their drivers show', () => {
    const table = (key: string, memClockMhz: number) => smClocksAt(gpuSpecs[key]!, memClockMhz)!
    expect(table('3080Ti', 9501)).toHaveLength(127)
    expect(table('A100', 1215)).toHaveLength(81)
    expect(table('V100', 877).slice(-4)).toEqual([1507, 1515, 1522, 1530])
    expect(table('V100', 877).slice(0, 3)).toEqual([135, 142, 150])
    expect(table('H100', 2619)[0]).toBe(345)
    expect(table('T4', 405).at(-1)).toBeLessThan(table('T4', 5001).at(-1)!)
    expect(smClocksAt(gpuSpecs['A100']!, 5001)).toBeUndefined()
  })
})

describe('a board that no release knows', () => {
  const mine: GpuSpec = {
    ...gpuSpecs['A100']!,
    key: 'Mine-1',
    name: 'Mine',
    aliases: [],
    architecture: 'Rubin',
    chip: 'X',
    process: 'TSMC 3N',
    memoryType: 'HBM4',
  }

  it('is found by its key once it was added, and does not take the place of another chip', () => {
    expect(() => findGpuSpec('Mine-1')).toThrow(UnknownNameError)
    addGpuSpec(mine)
    expect(findGpuSpec('mine 1')).toEqual(mine)
    expect(() => addGpuSpec({ ...mine, key: 'A100' })).toThrow(/spec.key: .*A100 is a board with GA100/)
    expect(parsePlatformFile(formatPlatformFile(mine))).toEqual(mine)
    expect(parsePlatformFile(JSON.stringify(mine))).toEqual(mine)
  })

  it.each(['../x', 'a/b', '.hidden', '__proto__', 'constructor', 'a\nb', ''])('is refused under the key %j', (key) => {
    expect(() => addGpuSpec({ ...mine, key })).toThrow(/^spec, key: got '.*expected a /s)
  })

  it.each([undefined, null, 5, {}])('is refused as %j', (spec) => {
    expect(() => addGpuSpec(spec as never)).toThrow(PlatformFileError)
  })

  it('has the memory that its data rate implies, unless it says', () => {
    expect(memoryTypeOf(mine)).toBe('HBM4')
    const of = (key: string) => memoryTypeOf({ ...gpuSpecs[key]!, memoryType: undefined as never })
    // GDDR6 of a T4 is slower, that of an RTX 6000 Ada faster than all others.
    expect(boards.filter((spec) => of(spec.key) !== memoryTypeOf(spec)).map(({ key }) => key)).toEqual([
      'T4',
      'RTX6000Ada',
    ])
    expect(['3080Ti', 'A10', 'A100', 'A100-80GB', 'H100', 'H200'].map(of)).toEqual([
      'GDDR6X',
      'GDDR6',
      'HBM2',
      'HBM2e',
      'HBM3',
      'HBM3e',
    ])
  })
})

describe('findGpuSpec', () => {
  it.each([
    ['3080Ti', '3080Ti'],
    ['rtx 3080 ti', '3080Ti'],
    ['NVIDIA GeForce RTX 3080 Ti', '3080Ti'],
    ['GeForce RTX 3090', 'RTX3090'],
    ['3090', 'RTX3090'],
    ['a10', 'A10'],
    ['NVIDIA A10', 'A10'],
    ['A100', 'A100'],
    ['NVIDIA A100-PCIE-40GB', 'A100'],
    ['NVIDIA A100-SXM4-80GB', 'A100-80GB'],
    ['a100 80gb', 'A100-80GB'],
    ['Tesla V100-SXM2-32GB', 'V100'],
    ['Tesla T4', 'T4'],
    ['NVIDIA H100 80GB HBM3', 'H100'],
    ['h200', 'H200'],
  ])('%s is %s', (name, key) => {
    expect(findGpuSpec(name).key).toBe(key)
  })

  it('gives no board two names, and no name two boards', () => {
    const names = boards.flatMap((spec) =>
      [spec.key, spec.name, ...spec.aliases].map((name) => [name, spec.key] as const),
    )
    for (const [name, key] of names) expect(findGpuSpec(name).key).toBe(key)
  })

  it.each(['', 'A1', 'A1000', '3080', 'NVIDIA', 'RTX'])("lists the boards for '%s'", (name) => {
    expect(() => findGpuSpec(name)).toThrow(UnknownNameError)
    expect(() => findGpuSpec(name)).toThrow(/known: 3080Ti, A100, /)
  })

  it.each([undefined, null, 3080, 5n, Symbol('A100'), [Symbol('A100')]])('says that %s is no name', (name) => {
    expect(() => findGpuSpec(name as never)).toThrow(InvalidInputError)
    expect(() => findGpuSpec(name as never)).toThrow(/GPU: .* the name of a board: 3080Ti/)
  })
})

describe('smsOfShare', () => {
  it('hands out whole TPCs, rounded down', () => {
    const a100 = gpuSpecs['A100']!
    expect([5, 10, 25, 50, 100].map((share) => smsOfShare(a100, share))).toEqual([4, 10, 26, 54, 108])
    expect(smsOfShare(a100, 0.1)).toBe(2)
  })

  it.each(boards.map((spec) => [spec.key, spec] as const))('rises with the share on %s, up to the board', (_, spec) => {
    const share = fc.double({ min: 0.01, max: 100, noNaN: true })
    fc.assert(
      fc.property(share, share, (a, b) => {
        const [low, high] = [Math.min(a, b), Math.max(a, b)]
        expect(smsOfShare(spec, low)).toBeLessThanOrEqual(smsOfShare(spec, high))
        expect(smsOfShare(spec, high) % spec.smPerTpc).toBe(0)
        expect(smsOfShare(spec, high)).toBeLessThanOrEqual(spec.smCount)
      }),
    )
    expect(smsOfShare(spec, 100)).toBe(spec.smCount)
  })
})
