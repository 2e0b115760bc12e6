import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { callCommand } from '../../../test/call-command.js'
import { pctodlHetero } from '../src/commands.js'
import { findPlan, readProfile } from '../src/index.js'
import { madeUpTrace } from './made-up-trace.js'

const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-hetero-'))
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
const file = (name: string) => path.join(folder, name)
writeFileSync(file('fast.json'), JSON.stringify(madeUpTrace({ samplesPerS: 1200, limitsW: [300, 200, 150] })))
writeFileSync(file('slow.json'), JSON.stringify(madeUpTrace({ samplesPerS: 500, limitsW: [70, 60] })))

const call = (...argv: string[]) => callCommand('pctodl-hetero', pctodlHetero, argv)

const published = ['--trace1', file('fast.json'), '--trace2', file('slow.json')]
const named = ['--gpu', `fast=${file('fast.json')}`, '--gpu', `slow=${file('slow.json')}`, '--batch', '512']
const idle = ['--idle-power', 'fast=30', '--idle-power', 'slow=12']

describe('pctodl-hetero', () => {
  it('takes the published options, for the published batch', async () => {
    const { code, stdout, stderr } = await call(...published, '--gpu1', 'A10', '--gpu2', 'T4')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^GPU +share +percent +limit W +computes s/)
    const shares = [...stdout.matchAll(/^(A10|T4) +(\d+)\*? /gm)].map(([, , share]) => Number(share))
    expect(shares.reduce((a, b) => a + b)).toBe(4096)
    expect(stdout).toMatch(/search +[\d.]+ ms, optimal/)
    expect(stdout).toContain('published optimum')
    expect(stderr).toContain('warning: A10: idle power was not measured')
  })

  it('prints the plan of the library as JSON', async () => {
    const { code, stdout } = await call(...named, ...idle, '--eta', '0.7', '--json', '--max-share', 'fast=300')
    expect(code).toBe(0)
    const document = JSON.parse(stdout)
    const { warnings, ...plan } = findPlan({
      gpus: [
        { profile: readProfile(file('fast.json'), { name: 'fast', idlePowerW: 30 }), maxShare: 300 },
        { profile: readProfile(file('slow.json'), { name: 'slow', idlePowerW: 12 }) },
      ],
      globalBatch: 512,
      eta: 0.7,
    })
    expect(document).toMatchObject({ format: 'pctodl-hetero-plan', version: 1, globalBatch: 512, ...plan })
    expect(document.gpus[0].share).toBeLessThanOrEqual(300)
    expect(document.gpus[0].gradientWeight + document.gpus[1].gradientWeight).toBe(1)
    for (const other of Object.values<{ cost: number }>(document.compared)) {
      expect(other.cost).toBeGreaterThanOrEqual(document.cost * (1 - 1e-9))
    }
  })

  it('keeps budgets, and says which cannot be kept', async () => {
    const free = JSON.parse((await call(...named, ...idle, '--eta', '1', '--json')).stdout)
    const timeS = 0.8 * free.timeS
    const held = JSON.parse((await call(...named, ...idle, '--eta', '1', '--json', '--budget-time', `${timeS}`)).stdout)
    expect(held.timeS).toBeLessThanOrEqual(timeS)
    expect(held.energyJ).toBeGreaterThan(free.energyJ)
    const watts = JSON.parse((await call(...named, ...idle, '--json', '--budget-power', '215')).stdout)
    expect(watts.powerLimitW).toBeLessThanOrEqual(215)
    const impossible = await call(...named, ...idle, '--budget-time', '0.01')
    expect(impossible).toMatchObject({ code: 1, stdout: '' })
    expect(impossible.stderr).toMatch(/no plan takes at most 0\.01 s: the fastest takes [\d.]+ s\n$/)
    expect((await call(...named, ...idle, '--budget-energy', '1')).stderr).toMatch(/the thriftiest takes [\d.]+ J\n$/)
    expect((await call(...named, '--max-share', 'fast=5', '--max-share', 'slow=5')).stderr).toMatch(
      /no split of 512 samples fits the GPUs/,
    )
  })

  it('does shares that no memory holds in micro-batches, and launches them so', async () => {
    const { code, stdout } = await call(...named, ...idle, '--micro-batch', 'fast=100', '--micro-batch', 'slow=40')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^fast +\d+ in [3-6] /m)
    expect(stdout).toMatch(/^slow +\d+ in \d+ /m)
    const json = await call(...named, ...idle, '--micro-batch', 'fast=100', '--json')
    const { gpus } = JSON.parse(json.stdout)
    expect(gpus[0].microBatches).toBe(Math.ceil(gpus[0].share / 100))
    writeFileSync(file('plan.json'), json.stdout)
    const devices = ['--device', 'fast=0', '--device', 'slow=1']
    const script = await call('launch', '--plan', file('plan.json'), ...devices, '--', 'train')
    expect(script.stdout).toContain(`PCTODL_MICRO_BATCHES=${gpus[0].microBatches} `)
    expect((await call(...named, '--micro-batch', 'other=5')).stderr).toMatch(/--micro-batch: there is no GPU 'other'/)
    expect((await call(...published, '--method', 'baseline', '--micro-batch', 'gpu1=5')).stderr).toMatch(
      /the published searches know no --micro-batch/,
    )
  })

  it('runs the published searches', async () => {
    const { code, stdout } = await call(...published, '--method', 'heuristic')
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /published +heuristic: cost [\d.]+ W s by its own formula, largest [\d.]+, of \d+ candidates/,
    )
    const json = JSON.parse((await call(...published, '--method', 'baseline', '--json')).stdout)
    expect(json.gpus.map((gpu: { share: number }) => gpu.share)).toEqual([2048, 2048])
    expect(json.lowerBound).toBeNull()
  })

  it('draws the front', async () => {
    const { code, stdout } = await call(...named, ...idle, '--pareto', file('front.svg'), '--json')
    expect(code).toBe(0)
    const { front } = JSON.parse(stdout)
    expect(front.plans.length).toBeGreaterThan(2)
    expect(front.plans).toContainEqual(front.knee)
    const svg = readFileSync(file('front.svg'), 'utf8')
    expect(svg).toMatch(/^<svg/)
    expect(svg).toContain(`fast, slow; global batch 512; ${front.plans.length} plans`)
  })

  it('says what an epoch takes, of traces that count in epochs', async () => {
    const csv = ['batch_size,power_limit,time_per_epoch,average_power', '64,250,100,180', '128,250,80,200']
    writeFileSync(file('epochs.csv'), csv.join('\n'))
    const options = ['--gpu', `one=${file('epochs.csv')}`, '--batch', '128', '--idle-power', 'one=20']
    const { stdout } = await call(...options, '--dataset-size', '12800')
    expect(stdout).toContain('one epoch      100 steps, 80.00 s, 16.00 kJ')
    expect((await call(...options)).stderr).toMatch(/datasetSize: got undefined, expected the samples of the data set/)
  })

  it('picks one GPU of a CSV', async () => {
    const rows = ['x,8,70,1,60', 'x,16,70,2,120', 'y,8,70,3,150', 'y,16,70,6,300']
    writeFileSync(file('both.csv'), ['gpu,batch_size,power_limit_w,time_s,energy_j', ...rows].join('\n'))
    const { stdout } = await call(
      '--gpu',
      `a=${file('both.csv')}#x`,
      '--gpu',
      `b=${file('both.csv')}#y`,
      '--batch',
      '12',
      '--eta',
      '0',
      '--json',
    )
    expect(JSON.parse(stdout).gpus.map((gpu: { name: string }) => gpu.name)).toEqual(['a', 'b'])
    expect((await call('--gpu', `a=${file('both.csv')}`)).stderr).toMatch(/gpu: got 'x, y', expected one of them/)
  })

  it.each([
    [[], /no traces; give --gpu NAME=TRACE/],
    [['--trace1', 'x.json'], /no traces/],
    [[...named, ...published], /give one kind/],
    [[...published, '--gpu2', 'gpu1'], /both are 'gpu1'/],
    [[...named, '--gpu1', 'A10'], /--gpu1: got 'A10', but --gpu names its GPUs; leave it out/],
    [[...named, '--gpu2', 'gpu2'], /--gpu2: got 'gpu2', but --gpu names/],
    [
      [...named, '--dataset', 'cifar'],
      /--dataset: got 'cifar', but only a CSV has several, and no trace is one; leave/,
    ],
    [[...published, '--network', 'resnet50'], /--network: got 'resnet50', but only a CSV/],
    [[...named, '--optimizer', 'adam'], /--optimizer: got 'adam', but only a CSV/],
    [['--gpu', 'a10.json'], /not NAME=VALUE: 'a10\.json'/],
    [[...named, '--gpu', 'fast=x'], /fast is there twice/],
    [[...named, '--idle-power', 'quick=3'], /--idle-power: there is no GPU 'quick'; there are fast, slow/],
    [[...named, '--idle-power', 'fast=cold'], /not a number from 0/],
    [
      [...named, '--limits', 'fast=175'],
      /fast: powerLimitsW: got 175, expected limits that were profiled: 150, 200, 300 W/,
    ],
    [[...named, '--eta', '2'], /not a number from 0 to 1/],
    [[...named, '--budget-time', '-1'], /not a positive number of s/],
    [[...named, '--method', 'naive'], /not one of synchronous, bruteForce/],
    [[...named, '--method', 'baseline', '--budget-time', '3'], /the published searches know no --budget-time/],
    [['--gpu', `one=${file('fast.json')}`, '--method', 'baseline'], /two GPUs/],
    [['--gpu', `one=${file('gone.json')}`], /profile: got '.*gone\.json', expected a file/],
  ])('%# refuses what cannot be meant', async (argv, message) => {
    const { code, stdout, stderr } = await call(...argv)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(message)
  })

  it('has help with an example', async () => {
    const { code, stdout } = await call('--help')
    expect(code).toBe(0)
    expect(stdout).toContain('Example:\n  pctodl-hetero --gpu a10=')
  })
})
