import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { parseOptions } from '../src/cli/partition-options.js'

const file = fileURLToPath(new URL('command-options.services.yaml', import.meta.url))
const terminal = {
  stdout: { write: () => {} },
  stderr: { write: () => {} },
  signal: new AbortController().signal,
  env: {},
}
const parsed = (text: string) => parseOptions(text.split(' '), terminal)

describe('the options of pctodl partition', () => {
  it('that are not given leave their places to the search, with 50 ms for it', async () => {
    const { search, ...call } = await parsed('--model resnet50 --gpu A100')
    expect(search).toEqual({
      objective: 'few-processes',
      capExceedanceProbability: 0.05,
      powerCapW: 150,
      powerMarginW: 0,
      sharePercentStep: 5,
      latencyPercentile: 'mean',
      seed: 1,
      timeBudgetMs: 50,
      now: expect.any(Function),
      budgetEvaluations: Number.MAX_SAFE_INTEGER,
    })
    expect(search.now!()).toBeLessThanOrEqual(performance.now())
    expect(call).toMatchObject({
      networks: [{ model: 'resnet50', weight: 1 }],
      services: undefined,
      paramsFolder: undefined,
      explain: false,
      json: false,
    })
  })

  it('that are given reach the search', async () => {
    const { search, ...call } = await parsed(
      '--model resnet50=1e-100,mine=1e100 --gpu A100 --power-cap 170 --power-margin 3 --mps-step 20 --mem-clock 1215 ' +
        '--objective throughput --risk 0.02 --latency-slo 40 --latency-percentile p99 --min-throughput 7 --max-tenants 6 --max-share 60 --max-batch 32 ' +
        '--max-distance 3 --memory-mib 2 --seed 9 --budget-ms 20 --budget-evaluations 30 --explain --json --params here',
    )
    expect(search).toEqual({
      objective: 'throughput',
      powerCapW: 170,
      powerMarginW: 3,
      sharePercentStep: 20,
      memClocksMhz: [1215],
      capExceedanceProbability: 0.02,
      latencySloMs: 40,
      latencyPercentile: 'p99',
      minTenantThroughput: 7,
      maxTenants: 6,
      maxSharePercent: 60,
      maxBatchSize: 32,
      maxDistance: 3,
      memoryBytes: 2 * 1024 ** 2,
      seed: 9,
      timeBudgetMs: 20,
      now: expect.any(Function),
      budgetEvaluations: 30,
    })
    expect(call).toMatchObject({
      networks: [
        { model: 'resnet50', weight: 1e-100 },
        { model: 'mine', weight: 1e100 },
      ],
      paramsFolder: 'here',
      explain: true,
      json: true,
    })
    const counted = (await parsed('--model resnet50 --gpu A100 --budget-evaluations 30')).search
    expect([counted.budgetEvaluations, counted.timeBudgetMs, counted.now]).toEqual([30, undefined, undefined])
  })

  it('ask for no risk bound with the most throughput', async () => {
    const { search } = await parsed('--model resnet50 --gpu A100 --objective throughput')
    expect(search).not.toHaveProperty('capExceedanceProbability')
  })

  it.each([
    '--objective min-power',
    '--mps-step 0',
    '--mps-step 101',
    '--power-margin -1',
    '--power-margin 10001',
    '--risk 0.51',
    '--risk 0.9e-9',
    '--max-share 0.9',
    '--max-share 101',
    '--max-tenants 0',
    '--max-batch 0',
    '--max-distance 0.9',
    '--seed -1',
    '--seed 4294967296',
    '--budget-evaluations 0',
    '--budget-ms 0',
    '--latency-percentile p95',
    '--model resnet50=0.9e-100',
    '--model resnet50=1.1e100',
    '--model resnet50=1=2',
  ])('refuse %s', async (wrong) => {
    await expect(parsed(`--model resnet50 --gpu A100 ${wrong}`)).rejects.toThrow(wrong.split(' ')[0]!)
  })

  it('may be the ends of what is allowed', async () => {
    for (const ends of [
      '--mps-step 1 --power-margin 0 --risk 1e-9 --max-share 1 --max-tenants 1 --max-batch 1 --max-distance 1 --seed 0',
      '--mps-step 100 --power-margin 10000 --risk 0.5 --max-share 100 --max-distance 1e9 --seed 4294967295',
    ]) {
      await expect(parsed(`--model resnet50 --gpu A100 ${ends} --budget-evaluations 1`)).resolves.toBeDefined()
    }
  })

  it('plan for services with what is given, and nothing else', async () => {
    const least = (await parsed(`--services ${file} --gpu A100`)).services!
    expect(least).toMatchObject({ ratesPerS: [5], withoutMaxBatchSize: ['a'] })
    expect(least.options).toEqual({
      objective: 'min-power',
      powerCapW: 150,
      powerMarginW: 0,
      sharePercentStep: 5,
      seed: 1,
      bound: true,
    })
    const { options } = (
      await parsed(
        `--services ${file} --gpu A100 --objective max-load --power-cap 90 --power-margin 2 --mps-step 10 --seed 4 --budget-ms 7 ` +
          '--budget-evaluations 8 --rate-margin 1.5 --latency-margin 0.2 --burstiness 3 --mem-clock 1215 --max-tenants 5 --memory-mib 3',
      )
    ).services!
    expect(options).toEqual({
      objective: 'max-load',
      powerCapW: 90,
      powerMarginW: 2,
      sharePercentStep: 10,
      seed: 4,
      bound: true,
      timeBudgetMs: 7,
      now: expect.any(Function),
      budgetEvaluations: 8,
      rateMargin: 1.5,
      latencyMargin: 0.2,
      burstiness: 3,
      memClocksMhz: [1215],
      maxTenants: 5,
      memoryBytes: 3 * 1024 ** 2,
    })
  })

  it.each([
    ['--rate-margin 0.9', '--rate-margin'],
    ['--rate-margin 10.1', '--rate-margin'],
    ['--latency-margin 1', '--latency-margin'],
    ['--burstiness 0.9', '--burstiness'],
    ['--burstiness 1001', '--burstiness'],
    ['--objective throughput', 'plans for services know no --objective throughput'],
    ['--explain', 'plans for services know no --explain'],
    ['--latency-slo 5', 'plans for services know no --latency-slo'],
  ])('of services refuse %s', async (wrong, named) => {
    await expect(parsed(`--services ${file} --gpu A100 ${wrong}`)).rejects.toThrow(named)
  })

  it('of services may be their ends, and belong to services alone', async () => {
    for (const ends of [
      '--rate-margin 1 --latency-margin 0 --burstiness 1',
      '--rate-margin 10 --latency-margin 0.9 --burstiness 1000',
    ]) {
      await expect(parsed(`--services ${file} --gpu A100 ${ends}`)).resolves.toBeDefined()
      await expect(parsed(`--model vgg19 --gpu A100 ${ends}`)).rejects.toThrow(
        '--rate-margin, --latency-margin, --burstiness: only with --services',
      )
    }
    await expect(parsed('--gpu A100')).rejects.toThrow('--model or --services')
  })
})
