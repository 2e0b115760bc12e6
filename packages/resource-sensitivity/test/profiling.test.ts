import { goldenJson } from '@pctodl/reference-data'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  epochWithCache,
  minDemand,
  parseSensitivityMatrix,
  profileJob,
  profileOfMatrix,
  searchCpus,
  throughputAt,
} from '../src/job-profile.js'
import type { ProfileOptions } from '../src/profile/profile-job.js'
import { parseReportFile, parseReportLines, seriesMean } from '../src/profile/run-report.js'
import { parsePublishedProfile, publishedSweep } from './published-profile.js'

/** Shapes that loaders have: proportional up to a limit, Amdahl's law, a power, an exponential approach. */
const shape = fc.oneof(
  fc
    .double({ min: 1, max: 80, noNaN: true })
    .map((knee) => ({ name: `knee ${knee}`, of: (c: number) => Math.min(c, knee) })),
  fc
    .double({ min: 0, max: 0.9, noNaN: true })
    .map((serial) => ({ name: `serial ${serial}`, of: (c: number) => 1 / (serial + (1 - serial) / c) })),
  fc
    .double({ min: 0.05, max: 1, noNaN: true })
    .map((power) => ({ name: `power ${power}`, of: (c: number) => c ** power })),
  fc
    .double({ min: 0.5, max: 40, noNaN: true })
    .map((scale) => ({ name: `exponential ${scale}`, of: (c: number) => 1 - Math.exp(-c / scale) })),
)

describe('the search over cores', () => {
  it('is within 5 % of a full sweep with at most a third of its runs', async () => {
    await fc.assert(
      fc.asyncProperty(shape, fc.integer({ min: 15, max: 96 }), async ({ of }, maxCpus) => {
        const found = await searchCpus(async (cpus) => of(cpus), { maxCpus })
        expect(found.runs.length).toBeLessThanOrEqual(maxCpus / 3)
        for (const { cpus, throughput, low, high } of found.curve) {
          expect(Math.abs(throughput / of(cpus) - 1)).toBeLessThan(0.05)
          expect(of(cpus)).toBeGreaterThanOrEqual(low * (1 - 1e-9))
          expect(of(cpus)).toBeLessThanOrEqual(high * (1 + 1e-9))
        }
      }),
      { numRuns: 300 },
    )
  })

  it('bears noise: 2 % of it costs no more than 4 % on top, and the curve never falls', async () => {
    await fc.assert(
      fc.asyncProperty(
        shape,
        fc.integer({ min: 15, max: 64 }),
        fc.infiniteStream(fc.double({ min: 0.98, max: 1.02, noNaN: true })),
        async ({ of }, maxCpus, noise) => {
          const found = await searchCpus(async (cpus) => of(cpus) * noise.next().value, { maxCpus })
          for (const { cpus, throughput } of found.curve) expect(Math.abs(throughput / of(cpus) - 1)).toBeLessThan(0.09)
          for (let i = 1; i < found.curve.length; i++) {
            expect(found.curve[i]!.throughput).toBeGreaterThanOrEqual(found.curve[i - 1]!.throughput * (1 - 1e-9))
          }
        },
      ),
      { numRuns: 150 },
    )
  })

  it('finds a knee to the core, and counts in whole cores a GPU', async () => {
    const found = await searchCpus(async (cpus) => Math.min(cpus, 9), { maxCpus: 24 })
    expect(found.kneeCpus).toBe(9)
    expect(found.runs.length).toBeLessThanOrEqual(4)
    const four = await searchCpus(async (cpus) => Math.min(cpus, 16), { maxCpus: 26, gpus: 4 })
    expect(four.curve.map(({ cpus }) => cpus)).toEqual([4, 8, 12, 16, 20, 24])
    expect(four.kneeCpus).toBe(16)
  })

  it('runs each count at most once, and all of them where there are few', async () => {
    const one = await searchCpus(async () => 5, { maxCpus: 1 })
    expect(one).toMatchObject({ kneeCpus: 1, worstErrorPercent: 0, runs: [{ cpus: 1, throughput: 5 }] })
    const two = await searchCpus(async (cpus) => cpus, { maxCpus: 2 })
    expect(two.runs.map(({ cpus }) => cpus)).toEqual([2, 1])
    const many = await searchCpus(async (cpus) => Math.sqrt(cpus), { maxCpus: 40, tolerancePercent: 0.01 })
    expect(new Set(many.runs.map(({ cpus }) => cpus)).size).toBe(many.runs.length)
  })

  it('passes on what a run throws, and refuses wrong options', async () => {
    await expect(searchCpus(() => Promise.reject(new Error('broken')), { maxCpus: 4 })).rejects.toThrow('broken')
    await expect(searchCpus(async () => 0, { maxCpus: 4 })).rejects.toThrow(/throughput: got 0/)
    await expect(searchCpus(async () => 1, { maxCpus: 2.5 })).rejects.toThrow(/maxCpus/)
    await expect(searchCpus(async () => 1, { maxCpus: 2, gpus: 4 })).rejects.toThrow(/one core a GPU/)
  })
})

describe('the cache model', () => {
  const input = fc.record({
    datasetGb: fc.double({ min: 1, max: 500, noNaN: true }),
    storageMBps: fc.double({ min: 10, max: 5000, noNaN: true }),
    memoryGBps: fc.double({ min: 1, max: 100, noNaN: true }),
    cachedEpochS: fc.double({ min: 1, max: 10_000, noNaN: true }),
  })

  it('never gets slower with more memory, and is the cached epoch with all of it', () => {
    fc.assert(
      fc.property(
        input,
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (job, a, b) => {
          // Only where memory is faster than the storage, as it is.
          fc.pre(job.memoryGBps * 1024 > job.storageMBps)
          const epoch = (part: number) => epochWithCache({ ...job, cacheGb: part * job.datasetGb }).epochS
          expect(epoch(Math.max(a, b))).toBeLessThanOrEqual(epoch(Math.min(a, b)) * (1 + 1e-9))
          expect(epoch(a)).toBeGreaterThanOrEqual(job.cachedEpochS)
          expect(epochWithCache({ ...job, cacheGb: job.datasetGb * 2 })).toEqual({
            epochS: job.cachedEpochS,
            storageMBps: 0,
          })
        },
      ),
    )
  })

  it('needs a storage no faster than the one it was computed with', () => {
    fc.assert(
      fc.property(input, fc.double({ min: 0, max: 1, noNaN: true }), (job, part) => {
        const { storageMBps } = epochWithCache({ ...job, cacheGb: part * job.datasetGb })
        expect(storageMBps).toBeLessThanOrEqual(job.storageMBps * (1 + 1e-9))
      }),
    )
  })

  it('refuses rates that are none', () => {
    const job = { datasetGb: 1, storageMBps: 1, memoryGBps: 1, cachedEpochS: 1, cacheGb: 0 }
    expect(() => epochWithCache({ ...job, storageMBps: 0 })).toThrow(/storageMBps: got 0/)
    expect(() => epochWithCache({ ...job, memoryGBps: Number.NaN })).toThrow(/memoryGBps/)
    expect(() => epochWithCache({ ...job, cacheGb: -1 })).toThrow(/cacheGb/)
  })
})

describe('the published profiler', () => {
  const golden = goldenJson('synergy/golden/profiler.json')

  it.each<{
    name: string
    max_cpu: number
    num_gpus: number
    batch_per_gpu: number
    num_samples: number
    calls: { cpu: number; iter_time_s: number }[]
  }>(golden.cpu_sweep)(
    'sweeps $name in the same order',
    async ({ max_cpu, num_gpus, batch_per_gpu, num_samples, calls }) => {
      let next = 0
      const swept = await publishedSweep(async () => calls[next++]?.iter_time_s ?? Number.NaN, {
        maxCpus: max_cpu,
        gpus: num_gpus,
        batchPerGpu: batch_per_gpu,
        samples: num_samples,
      })
      expect(swept).toEqual(calls.map(({ cpu, iter_time_s }) => ({ cpus: cpu, iterationS: iter_time_s })))
    },
  )

  it('has the same memory model to 1e-9', () => {
    for (const { dataset_gb, storage_mbps, mem_gbps, epoch_time_full_mem_s, points } of golden.memory_model) {
      for (const { mem_percent, epoch_time_s, storage_mbps_needed } of points) {
        const cell = epochWithCache({
          datasetGb: dataset_gb,
          storageMBps: storage_mbps,
          memoryGBps: mem_gbps,
          cachedEpochS: epoch_time_full_mem_s,
          cacheGb: (mem_percent / 100) * dataset_gb,
        })
        expect(Math.abs(cell.epochS / epoch_time_s - 1)).toBeLessThan(1e-9)
        expect(Math.abs(cell.storageMBps - storage_mbps_needed)).toBeLessThanOrEqual(1e-9 * storage_mbps_needed)
      }
    }
    expect(golden.memory_model.length).toBeGreaterThan(0)
  })
})

describe('the matrix', async () => {
  const counts: number[] = []
  const asked: ProfileOptions = {
    job: 'loader',
    gpus: 1,
    batchPerGpu: 32,
    dataset: { gb: 100, samples: 1_000_000 },
    residentGb: 4,
    storageMBps: 50,
    memoryGBps: async () => 10,
    fairShare: { cpus: 3, memoryGb: 54 },
    memoryPercents: [0, 50, 100],
    search: { maxCpus: 24 },
    run: async (cpus) => {
      counts.push(cpus)
      const mean = 32 / Math.min(cpus * 100, 900)
      const interval = cpus === 24 ? { low: 0.98 * mean, high: 1.02 * mean } : { low: null, high: null }
      return { iterationS: { mean, ...interval }, iterations: 50 }
    },
  }
  const matrix = await profileJob(asked)

  it('is one at the fair share, holds intervals around every value and says what was measured', () => {
    const fair = matrix.points.find(({ cpu, memPercent }) => cpu === 3 && memPercent === 50)!
    expect(fair.normalised).toBeCloseTo(1, 12)
    for (const point of matrix.points) {
      expect(point.samplesPerSecondLow).toBeLessThanOrEqual(point.samplesPerSecond * (1 + 1e-9))
      expect(point.samplesPerSecondHigh).toBeGreaterThanOrEqual(point.samplesPerSecond * (1 - 1e-9))
    }
    const measured = matrix.points.filter(({ source }) => source === 'measured')
    expect(measured.map(({ cpu }) => cpu).sort((a, b) => a - b)).toEqual(counts.sort((a, b) => a - b))
    const whole = measured.find(({ cpu }) => cpu === 24)!
    expect(whole.samplesPerSecondHigh / whole.samplesPerSecond).toBeCloseTo(1.02, 9)
  })

  it('takes measurements of a busy machine, with intervals wider than their means', async () => {
    const { points } = await profileJob({
      ...asked,
      run: async () => ({ iterationS: { mean: 0.4, low: 0, high: 1.2 }, iterations: 20 }),
    })
    const { samplesPerSecond, samplesPerSecondLow } = points.find(
      ({ cpu, memPercent }) => cpu === 24 && memPercent === 100,
    )!
    expect(samplesPerSecond / samplesPerSecondLow).toBeCloseTo(3, 9)
  })

  it('survives its file, and files that are none are refused', () => {
    expect(parseSensitivityMatrix(JSON.stringify(matrix))).toEqual(matrix)
    expect(() => parseSensitivityMatrix('{', 'x.json')).toThrow(/x\.json: the file is/)
    expect(() => parseSensitivityMatrix(JSON.stringify({ ...matrix, gpus: 0 }), 'x.json')).toThrow(/x\.json: gpus/)
    expect(() => parseSensitivityMatrix(JSON.stringify({ ...matrix, schema: 'other/1' }))).toThrow(/schema/)
  })

  it('asks for the least cores, then the least memory, within 10 % of the best', () => {
    // 900 samples/s need 9 cores. The storage brings 488 of them, which suffices when it has to bring every other one.
    expect(minDemand(matrix)).toMatchObject({ cpu: 9, memPercent: 50 })
  })

  it('is a profile, relative to the fair share', () => {
    const profile = profileOfMatrix(matrix, 'image')
    expect(profile).toMatchObject({ model: 'loader', modelClass: 'image', demand: { cpus: 9, memoryGb: 54 } })
    expect(throughputAt(profile, 3, 54)).toBeCloseTo(1, 12)
    expect(throughputAt(profile, 9, 54) / profile.iterationS).toBeCloseTo(900 / 32, 6)
  })

  it('refuses points that make no table', () => {
    expect(() => minDemand({ points: matrix.points.slice(1) })).toThrow(/one point for each pair/)
  })
})

describe('reports of a run', () => {
  it('reads the three lines of the file', () => {
    expect(parseReportFile('0.25\n49\n0\n', 'PERF').iterationS).toEqual({ mean: 0.25, low: null, high: null })
    expect(() => parseReportFile('-1\n0\n0', 'PERF')).toThrow(/-1 seconds per iteration/)
    expect(() => parseReportFile('0.25', 'PERF')).toThrow(/expected three lines/)
    expect(() => parseReportFile('', 'PERF')).toThrow(/expected three lines/)
  })

  it('reads iterations among other output, without the warm-up, with an interval', () => {
    const slow = Array.from({ length: 11 }, (_, iteration) => JSON.stringify({ iteration, seconds: 9 }))
    const lines = Array.from({ length: 40 }, (_, i) =>
      JSON.stringify({ iteration: 11 + i, seconds: i % 2 === 0 ? 0.1 : 0.3 }),
    )
    const report = parseReportLines(['hello', ...slow, '{"iteration"', ...lines, 'bye'].join('\n'))!
    expect(report.iterations).toBe(40)
    expect(report.iterationS.mean).toBeCloseTo(0.2, 12)
    expect(report.iterationS.low).toBeLessThanOrEqual(0.2 + 1e-12)
    expect(parseReportLines('nothing here')).toBeNull()
    expect(() => parseReportLines(slow.join('\n'))).toThrow(/raise --max-iterations/)
  })

  it('leaves out the warm-up of each process', () => {
    const line = (iteration: number) => JSON.stringify({ iteration, seconds: iteration < 11 ? 9 : 0.2 })
    const ofAll = Array.from({ length: 4 * 20 }, (_, i) => line(Math.floor(i / 4))).join('\n')
    expect(parseReportLines(ofAll, 4)).toMatchObject({ iterationS: { mean: expect.closeTo(0.2, 9) }, iterations: 36 })
    const ofFirst = Array.from({ length: 20 }, (_, i) => line(i)).join('\n')
    expect(parseReportLines(ofFirst, 4)).toMatchObject({ iterationS: { mean: expect.closeTo(0.2, 9) }, iterations: 9 })
    // Numbered anew in each epoch.
    const ofEpochs = Array.from({ length: 30 }, (_, i) => JSON.stringify({ iteration: i % 10, seconds: 0.2 })).join(
      '\n',
    )
    expect(parseReportLines(ofEpochs)).toMatchObject({ iterations: 19 })
  })

  it('covers the mean in about 95 of 100 series', () => {
    let state = 7
    const uniform = () => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0
      return state / 2 ** 32
    }
    let covered = 0
    for (let i = 0; i < 1000; i++) {
      const { low, high } = seriesMean(Array.from({ length: 60 }, uniform))
      if (low! <= 0.5 && high! >= 0.5) covered++
    }
    expect(covered).toBeGreaterThan(930)
    expect(covered).toBeLessThan(970)
    expect(seriesMean([3])).toEqual({ mean: 3, low: null, high: null })
  })

  it('reads the published three-part profile', () => {
    const text = JSON.stringify([
      { '24': 0.2, '11.5': 0.3 },
      { '24': { '0': 900, '100': 500 }, '11.5': { '100': 700 } },
      { '24': { '0': 160, '100': 0 }, '11.5': { '100': 0 } },
    ])
    expect(parsePublishedProfile(text)[0]).toEqual({ cpus: 11.5, memoryPercent: 100, epochS: 700, storageMBps: 0 })
    expect(parsePublishedProfile(text).length).toBe(3)
    expect(() => parsePublishedProfile('[{}, {"24": {"0": 9}}, {}]', 'p.json')).toThrow(/p\.json: \[2\]\.24\.0/)
    expect(() => parsePublishedProfile('[]', 'p.json')).toThrow(/p\.json/)
  })
})
