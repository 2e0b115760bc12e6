import { fileURLToPath } from 'node:url'
import { exitCodeOf } from '@pctodl/command-line'
import { describe, expect, it } from 'vitest'
import { parseServices } from '../src/cli/services-file.js'
import { pctodlPartition } from '../src/commands.js'

async function call(...argv: string[]) {
  let stdout = ''
  let stderr = ''
  const code = await exitCodeOf('pctodl partition', pctodlPartition, argv, {
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: (text) => (stderr += text) },
    signal: new AbortController().signal,
    env: {},
  })
  return { code, stdout, stderr }
}

const usual = ['--model', 'resnet50', '--platform', '3080Ti', '--p_cap', '200']

describe('pctodl partition', () => {
  it('prints the configuration and how to verify it', async () => {
    const { code, stdout, stderr } = await call(...usual)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^resnet50 on NVIDIA GeForce RTX 3080 Ti, power cap 200 W\n/)
    expect(stdout).toMatch(/throughput {2}\d+\.\d samples\/s/)
    expect(stdout).toMatch(/^search {6}\d+ evaluations in \d+\.\d ms; stopped because /m)
    expect(stdout).toMatch(/^utilisation SM \d+ %, memory \d+ %$/m)
    const [, shares, batches] =
      /pctodl profile --backend sim --gpu 3080Ti --model resnet50 --single --shares ([\d,]+) --batches ([\d,]+) --sm-clock \d+ --mem-clock \d+\n/.exec(
        stdout,
      )!
    const numbers = (list: string) => list.split(',').map(Number)
    expect(numbers(shares!).reduce((sum, share) => sum + share, 0)).toBeLessThanOrEqual(100)
    expect(numbers(batches!)).toHaveLength(numbers(shares!).length)
  })

  it("takes the published program's spellings", async () => {
    const { code, stdout } = await call(
      ...['--model', 'mobilenetv2', '--p_cap', '140', '--mps_step', '20', '--mem-freq', '5001'],
      ...['--platform', '3080ti', '--json'],
    )
    expect(code).toBe(0)
    const result = JSON.parse(stdout)
    expect(stdout).toBe(`${JSON.stringify(result, null, 2)}\n`)
    expect(result).toMatchObject({ board: '3080Ti', feasible: true, configuration: { memClockMhz: 5001 } })
    for (const tenant of result.configuration.tenants) {
      expect(tenant.model).toBe('mobilenet_v2')
      expect(tenant.mpsPercent % 20).toBe(0)
    }
  })

  it('explains the steps', async () => {
    const { stdout } = await call(...usual, '--explain')
    expect(stdout).toMatch(/^ step {3}stage +move +SM MHz {3}memory MHz {3}samples\/s +W/)
    expect(stdout).toMatch(/^ +1 {3}(greedy|equal-shares) /m)
  })

  it('keeps what it is asked to keep', async () => {
    const { stdout } = await call(
      ...usual,
      ...['--latency-slo', '300', '--min-throughput', '50', '--max-tenants', '6', '--max-batch', '64'],
      ...['--power-margin', '5', '--memory-mib', '8000', '--seed', '0', '--budget-ms', '20', '--json'],
    )
    const { configuration, prediction } = JSON.parse(stdout)
    expect(configuration.tenants.length).toBeLessThanOrEqual(6)
    expect(prediction.powerW).toBeLessThanOrEqual(195)
    for (const { throughput, latencyMs } of prediction.tenants) {
      expect(latencyMs).toBeLessThanOrEqual(300)
      expect(throughput).toBeGreaterThanOrEqual(50)
    }
  })

  it('plans the same on every machine when evaluations are what bounds it', async () => {
    const bounded = ['--budget-evaluations', '300']
    const plans = await Promise.all([call(...usual, ...bounded, '--json'), call(...usual, ...bounded, '--json')])
    const [first, second] = plans.map(({ stdout }) => ({ ...JSON.parse(stdout), elapsedMs: 0 }))
    expect(first).toEqual(second)
    expect(first).toMatchObject({ evaluations: 300, stoppedBecause: 'evaluation-budget' })
    const timed = await call(...usual, ...bounded, '--budget-ms', '60000', '--json')
    expect(JSON.parse(timed.stdout)).toMatchObject({ evaluations: 300, configuration: first.configuration })
  })

  it('shares the board between networks with weights', async () => {
    const { code, stdout } = await call('--model', 'resnet50,vgg19=2.5', '--platform', 'A100', '--p_cap', '200')
    expect(code).toBe(0)
    expect(stdout).toContain('resnet50, vgg19 on NVIDIA A100')
    expect(stdout).toContain('weighted')
    expect(stdout).toContain('this mix cannot be verified by one call')
  })

  it('exits 1 with the reason where a cap or an SLO cannot be kept', async () => {
    const cap = await call('--model', 'resnet50', '--platform', 'A100', '--p_cap', '20')
    expect(cap).toMatchObject({ code: 1, stdout: '' })
    expect(cap.stderr).toMatch(
      /a cap of 20 W cannot be kept by resnet50 .* raise it to at least [\d.]+ W \(with a risk of 0\.05 of exceeding it\)\n$/,
    )
    const slo = await call(...usual, '--latency-slo', '0.01', '--json')
    expect(slo.code).toBe(1)
    expect(JSON.parse(slo.stdout)).toMatchObject({ feasible: false, reason: 'latency-slo', verify: null })
  })

  it.each<[string[], RegExp]>([
    [[], /required option '--gpu/],
    [['--model', 'resnet50'], /required option '--gpu/],
    [[...usual, '--p_cap', '-5'], /not a positive number of watts/],
    [[...usual, '--mps_step', '2.5'], /not an integer from 1 to 100/],
    [[...usual, '--platform', 'abacus'], /unknown GPU 'abacus'/],
    [['--model', 'resnet50=-1', '--platform', 'A100'], /weight from 1e-100 to 1e100/],
    [[...usual, '--seed', String(2 ** 32)], /not an integer from 0 to 4294967295/],
    [[...usual, '--risk', '0.9'], /not a number from 1e-9 to 0.5/],
    [[...usual, '--latency-percentile', 'p50'], /not one of mean, p99/],
    [[...usual, '--frobnicate'], /unknown option/],
    [['--model', 'nonesuch', '--platform', 'A100'], /unknown network 'nonesuch'; known: .*resnet50/],
    [['--model', 'resnet50', '--platform', 'T4'], /unknown parameter set 'T4'; known: 3080Ti, A100/],
    [[...usual, '--mem-freq', '810'], /memClocksMhz: got \[810\], expected memory clocks that the predictor knows/],
    [[...usual, '--max-tenants', '99'], /maxTenants: got 99/],
    [[...usual, '--max-batch', '2'], /maxBatchSize: got 2, expected at least one of batchSizes/],
    [[...usual, '--power-margin', '200'], /powerMarginW: got 200/],
  ])('refuses %j as usage', async (argv, message) => {
    const { code, stdout, stderr } = await call(...argv)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(message)
  })

  it('fails in one line where parameters cannot be read', async () => {
    const { code, stdout, stderr } = await call(...usual, '--params', `${import.meta.dirname}/no-such-folder`)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/no-such-folder.*cannot be read/)
    expect(stderr.trim().split('\n')).toHaveLength(1)
  })

  it('shows its help', async () => {
    const { code, stdout } = await call('--help')
    expect(code).toBe(0)
    expect(stdout).toContain('Example:\n  pctodl partition --model resnet50')
  })
})

describe('pctodl partition --services', () => {
  const file = fileURLToPath(new URL('../examples/services.yaml', import.meta.url))
  const asked = ['--services', file, '--gpu', 'A100', '--mps-step', '20']

  it('prints a plan for each objective', async () => {
    const least = await call(...asked, '--power-cap', '180')
    expect(least).toMatchObject({ code: 0, stderr: '' })
    expect(least.stdout).toMatch(/^search, photos, ads on NVIDIA A100-PCIE-40GB, power cap 180 W, min-power\n/)
    expect(least.stdout).toMatch(/^ search +resnet50 +\d+ +\d+ +\d+ +1200 +[\d.]+ +40 +(100\.0|99\.\d) $/m)
    expect(least.stdout).toMatch(/^batches {5}at most 64 of search, photos, ads: no maxBatchSize is given$/m)
    expect(least.stdout).toMatch(/^limit {7}the objective of \w+; by the model no plan is more than \d+ % better$/m)
    expect(least.stdout).not.toContain('the board takes at most')
    expect(least.stdout).toMatch(/^power {7}\d+\.\d W, \d+\.\d W below the cap$/m)
    const most = await call(...asked, '--power-cap', '180', '--objective', 'max-load', '--burstiness', '2')
    expect(most.stdout).toMatch(/^load {8}[\d.]+ of the rates$/m)
  })

  it('prints what to shed', async () => {
    const { code, stdout } = await call(
      ...asked,
      '--power-cap',
      '60',
      '--objective',
      'max-value',
      '--budget-ms',
      '500',
      '--json',
    )
    expect(code).toBe(0)
    const plan = JSON.parse(stdout)
    expect(plan).toMatchObject({ board: 'A100', feasible: true })
    expect(plan.admittedPerS.some((rate: number, i: number) => rate < [1200, 800, 150][i]!)).toBe(true)
    expect(plan.configuration.tenants.every(({ service }: { service: string }) => service !== undefined)).toBe(true)
  })

  it('looks at as many layouts as it is told to, and finds the same again', async () => {
    const bounded = [...asked, '--power-cap', '180', '--budget-evaluations', '120', '--json']
    const [first, second] = [await call(...bounded), await call(...bounded)].map(({ stdout }) => {
      const { elapsedMs: _, ...plan } = JSON.parse(stdout)
      return plan
    })
    expect(first).toMatchObject({ evaluations: 120, stoppedBecause: 'evaluation-budget' })
    expect(second).toEqual(first)
  })

  it('fails where there is no plan, and says why', async () => {
    const { code, stderr } = await call(...asked, '--power-cap', '45')
    expect(code).toBe(1)
    expect(stderr).toMatch(
      /^pctodl partition: a cap of 45 W cannot be kept by search, photos, ads .* raise it to at least/,
    )
  })

  it.each([
    [['--services', file, '--gpu', 'A100', '--model', 'resnet50'], /--services: plans for services know no --model/],
    [['--services', '/nowhere.yaml', '--gpu', 'A100'], /--services: cannot read \/nowhere.yaml/],
    [['--gpu', 'A100'], /--model or --services/],
    [['--services', file, '--gpu', 'A100', '--burstiness', '1001'], /not a number from 1 to 1000/],
    [['--model', 'resnet50', '--gpu', 'A100', '--rate-margin', '2'], /--rate-margin: only with --services/],
  ])('refuses %j', async (argv, message) => {
    const { code, stderr } = await call(...argv)
    expect({ code, message: message.test(stderr) }).toEqual({ code: 2, message: true })
  })
})

describe('parseServices', () => {
  it('reads YAML and JSON, with what is not said filled in', () => {
    const json = JSON.stringify([{ name: 'a', model: 'mobilenetv2', rate: 5, p99Ms: 30 }])
    expect(parseServices('- {name: a, model: mobilenetv2, rate: 5, p99Ms: 30}')).toEqual(parseServices(json))
    expect(parseServices(json)).toEqual({
      services: [
        { name: 'a', model: 'mobilenet_v2', objective: { p99Ms: 30 }, weight: 1, maxBatchSize: 64, maxQueueDelayMs: 0 },
      ],
      ratesPerS: [5],
      withoutMaxBatchSize: ['a'],
    })
  })

  it('understands merge keys', () => {
    const text = '- &a {name: a, model: vgg19, rate: 1, p99Ms: 30, maxBatchSize: 8}\n- {<<: *a, name: b, rate: 2}'
    const { services, ratesPerS, withoutMaxBatchSize } = parseServices(text)
    expect(services.map(({ name, model, maxBatchSize }) => [name, model, maxBatchSize])).toEqual([
      ['a', 'vgg19', 8],
      ['b', 'vgg19', 8],
    ])
    expect({ ratesPerS, withoutMaxBatchSize }).toEqual({ ratesPerS: [1, 2], withoutMaxBatchSize: [] })
  })

  it.each([
    ['services', 'a: 1'],
    ['services[0]', '- 1'],
    ['services[0].rate', '- {name: a, model: vgg19, p99Ms: 30}'],
    ['services[0].rate', '- {name: a, model: vgg19, p99Ms: 30, rate: 1e308}'],
    ['services[0].weight', '- {name: a, model: vgg19, p99Ms: 30, rate: 1, weight: 1e308}'],
    ['services', '- &a {name: a, model: vgg19, p99Ms: 30, rate: 1, weight: *a}'],
    ['services[0].objective.p99Ms', '- {name: a, model: vgg19, rate: 1}'],
    ['services[0].model', '- {name: a, rate: 1, p99Ms: 1}'],
    ['services[0].maxBatchSize', '- {name: a, model: vgg19, rate: 1, p99Ms: 1, maxBatchSize: null}'],
    ['services[0].p99', '- {name: a, model: vgg19, rate: 1, p99: 1}'],
  ])('refuses a wrong %s by name', (field, text) => {
    expect(() => parseServices(text)).toThrow(expect.objectContaining({ field }))
  })
})
