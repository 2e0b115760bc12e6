import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { callCommand } from '../../../test/call-command.js'
import { pctodlHetero } from '../src/commands.js'
import { readProfile } from '../src/index.js'

// From a terminal, without a GPU: what is measured, planned, carried out and compared are boards that follow physics.

const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-hetero-loop-'))
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
const file = (name: string) => path.join(folder, name)
const call = (...argv: string[]) => callCommand('pctodl hetero', pctodlHetero, argv)

const sim = ['--backend', 'sim', '--model', 'resnet50']
const collect = (gpu: string, limits: string, batches: string, output: string, ...more: string[]) =>
  call('collect', ...sim, '--gpu', gpu, '--limits', limits, '--batches', batches, '--output', file(output), ...more)
const devices = ['--device', 'rtx=3080Ti', '--device', 'a100=A100']
const gpusIn = (name: string) => [
  '--gpu',
  `rtx=${file(`rtx${name}.json`)}`,
  '--gpu',
  `a100=${file(`a100${name}.json`)}`,
]
const gpus = gpusIn('')

interface Compared {
  readonly name: string
  readonly timeS: number
  readonly energyJ: number
}

/** Plan, launch, compare: what was promised and what came of it. */
async function loopWith(traces: readonly string[], launching: readonly string[], ...options: string[]) {
  const plan = await call('plan', ...traces, ...options, '--json')
  expect(plan.code, plan.stderr).toBe(0)
  writeFileSync(file('plan.json'), plan.stdout)
  const launched = await call(
    'launch',
    '--plan',
    file('plan.json'),
    ...sim,
    ...devices,
    '--output',
    file('run.json'),
    ...launching,
  )
  expect(launched.code, launched.stderr).toBe(0)
  const compared = await call('compare', file('plan.json'), file('run.json'), '--json')
  expect(compared.code, compared.stderr).toBe(0)
  const [promised, run, ...others]: Compared[] = JSON.parse(compared.stdout)
  return { plan: JSON.parse(plan.stdout), promised: promised!, run: run!, others, launched, compared }
}

const loop = (...options: string[]) => loopWith(gpus, [], ...options)

describe('collect, plan, launch and compare on simulated boards', () => {
  beforeAll(async () => {
    const measured = [
      await collect('3080Ti', '350,300,250,200', '16,48,96', 'rtx.json', '--sm-clocks', '1500,1350,1200,900'),
      await collect('A100', '250,220,190,160', '16,48,96', 'a100.json', '--sm-clocks', '1200,1050,900'),
    ]
    expect(measured.map(({ code }) => code)).toEqual([0, 0])
  })

  it.each([
    ['the fastest', ['--batch', '128', '--eta', '0']],
    ['the cheapest', ['--batch', '128']],
    ['the thriftiest, which leaves a board out', ['--batch', '96', '--eta', '1']],
    [
      'the cheapest within watts and in micro-batches',
      ['--batch', '256', '--budget-power', '400', '--micro-batch', 'rtx=48', '--micro-batch', 'a100=96'],
    ],
  ])('%s plan takes what it says, within 3 %% in time and energy', async (_, options) => {
    const { promised, run, compared } = await loop(...options)
    expect(run.name).toBe('run, simulated')
    expect(Math.abs(run.timeS / promised.timeS - 1)).toBeLessThan(0.03)
    expect(Math.abs(run.energyJ / promised.energyJ - 1)).toBeLessThan(0.03)
    expect(compared.stderr).toBe('')
  })

  it('says what locking clocks saves, and is right about it', async () => {
    const limitsOnly = ['--sm-clocks', 'rtx=none', '--sm-clocks', 'a100=none']
    const free = await loop('--batch', '64', '--eta', '1')
    const limited = await loop('--batch', '64', '--eta', '1', ...limitsOnly)
    expect(free.plan.gpus.some(({ smClockMhz }: { smClockMhz: number | null }) => smClockMhz !== null)).toBe(true)
    const { cost } = free.plan.compared['best without locked clocks']
    expect(cost).toBeCloseTo(limited.plan.cost, 9)
    expect(limited.plan.gpus.map(({ smClockMhz }: { smClockMhz: null }) => smClockMhz)).toEqual([null, null])
    expect(limited.plan.compared).not.toHaveProperty('best without locked clocks')
    const saved = limited.run.energyJ / free.run.energyJ
    expect(saved).toBeGreaterThan(1)
    expect(Math.abs(saved / (cost / free.plan.cost) - 1)).toBeLessThan(0.03)
  })

  it('warns of an exchange that was not measured, and is right where it was', async () => {
    const { plan, promised, run } = await loop('--batch', '128', '--all-reduce', '0.02')
    const warning = plan.warnings.find((text: string) => text.includes('gradients are exchanged'))
    const [, maxJ] = /up to ([\d.]+) J per step/.exec(warning)!
    expect(run.energyJ).toBeGreaterThan(1.05 * promised.energyJ)
    expect(run.energyJ).toBeLessThan(1.01 * Number(maxJ))
    await collect(
      '3080Ti',
      '350,250,200',
      '16,48,96',
      'rtx-waiting.json',
      '--sm-clocks',
      '1350',
      '--all-reduce',
      '0.02',
    )
    await collect('A100', '250,190,160', '16,48,96', 'a100-waiting.json', '--sm-clocks', '1050', '--all-reduce', '0.02')
    const measured = await loopWith(gpusIn('-waiting'), ['--all-reduce', '0.02'], '--batch', '128')
    expect(Math.abs(measured.run.timeS / measured.promised.timeS - 1)).toBeLessThan(0.03)
    expect(Math.abs(measured.run.energyJ / measured.promised.energyJ - 1)).toBeLessThan(0.03)
  })

  it('is the same again, and another unit of a board is another', async () => {
    const again = async (gpu: string) => {
      expect((await collect(gpu, '200', '16,32', 'again.json')).code).toBe(0)
      return readProfile(file('again.json')).rows
    }
    const first = await again('A100~v2')
    expect(await again('A100~v2')).toEqual(first)
    expect(await again('A100~v2#7')).not.toEqual(first)
  })

  it('says what was not measured', async () => {
    const { plan } = await loop('--batch', '96', '--eta', '1')
    expect(plan.gpus[0]).toMatchObject({ name: 'rtx', share: 0 })
    const alone = ['--device', 'a100=A100', '--output', file('alone.json')]
    expect((await call('launch', '--plan', file('plan.json'), ...sim, ...alone)).code).toBe(0)
    const { stderr, stdout } = await call('compare', file('plan.json'), file('alone.json'), '--json')
    expect(stderr).toMatch(/alone: the energy of rtx was not measured; what the plan says of its idling counts/)
    const [promised, run]: Compared[] = JSON.parse(stdout)
    expect(Math.abs(run!.energyJ / promised!.energyJ - 1)).toBeLessThan(0.03)
  })

  it('takes no run of another plan for its own', async () => {
    await loop('--batch', '128')
    const other = await call('plan', ...gpus, '--batch', '24', '--json')
    writeFileSync(file('other.json'), other.stdout)
    const { code, stderr } = await call('compare', file('other.json'), file('run.json'))
    expect(code).toBe(2)
    expect(stderr).toMatch(
      /^.*run: not a run of this plan: rtx has no share in the plan and \d+ samples at \d+ W.* in the run/,
    )
    // Beside the plan's own it may stand.
    await loop('--batch', '24')
    writeFileSync(file('own.json'), readFileSync(file('run.json')))
    await loop('--batch', '128')
    expect((await call('compare', file('other.json'), file('own.json'), file('run.json'))).code).toBe(0)
  })

  it('says where a share does not fit', async () => {
    const plan = JSON.parse((await call('plan', ...gpus, '--batch', '2000', '--json')).stdout)
    writeFileSync(file('large.json'), JSON.stringify(plan))
    const { code, stderr } = await call('launch', '--plan', file('large.json'), ...sim, ...devices)
    expect(code).toBe(1)
    expect(stderr).toMatch(/samples on .*: out of memory/)
  })

  it.each([
    [['collect', ...sim, '--gpu', 'T1000', '--limits', '100'], /unknown GPU 'T1000'/i],
    [['collect', '--backend', 'sim', '--gpu', 'A100', '--limits', '200'], /needs --model, the network to train/],
    [['collect', '--backend', 'sim', '--model', 'lenet', '--gpu', 'A100', '--limits', '200'], /unknown .*'lenet'/],
    [['collect', ...sim, '--gpu', 'A100', '--limits', '200', '--', 'python', 'train.py'], /omit 'python'/],
    [['collect', '--gpu', '0', '--limits', '200'], /no training command; give it after --/],
    [['collect', ...sim, '--gpu', 'A100#99999999999999999', '--limits', '200'], /unit: got 'A100#9+', .* at most 9007/],
    [['collect', ...sim, '--gpu', 'A100', '--limits', '200', '--step-pattern', 'x'], /--step-pattern: of no use with/],
    [['collect', ...sim, '--gpu', 'A100', '--limits', '200', '--lease-dir', 'x'], /--lease-dir: of no use with/],
  ])('%# refuses what cannot be meant', async ([command = '', ...argv], message) => {
    const { code, stderr } = await call(command, '--batches', '8,16', '--output', file('none.json'), ...argv)
    expect(stderr).toMatch(message)
    expect(code).toBe(2)
  })

  it('asks for no limit or clock that the board has not, before anything is measured', async () => {
    for (const [more, message] of [
      [['--limits', '200,9000'], /powerLimitsW: got 9000/],
      [['--limits', '200', '--sm-clocks', '1050,9999'], /smClocksMhz: got 9999/],
    ] as const) {
      const words = ['collect', ...sim, '--gpu', 'A100', '--batches', '8,16', ...more, '--output', file('none.json')]
      const { code, stderr } = await call(...words)
      expect(stderr).toMatch(message)
      expect([code, stderr]).toEqual([1, expect.not.stringMatching(/^batch/m)])
    }
  })

  it('launches only what can be run there', async () => {
    const plan = ['launch', '--plan', file('plan.json'), ...devices]
    for (const [words, message] of [
      [[...plan, ...sim, '--step-pattern', 'x'], '--step-pattern: of no use with --backend sim'],
      [[...plan, '--all-reduce', '1', '--', 'true'], '--all-reduce: only for --backend sim'],
      [[...plan, '--steps', '9', '--', 'true'], '--steps: only for --backend sim'],
      [[...plan, ...sim, '--device', 'x=A100#2'], "the plan has no GPU 'x'; it has rtx, a100"],
    ] as const) {
      expect(await call(...words)).toMatchObject({ code: 2, stderr: expect.stringContaining(message) })
    }
    expect(readFileSync(file('plan.json'), 'utf8')).toContain('"allReduceS": 0')
  })
})

it('answers what the README shows', async () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
  const block = [...readme.matchAll(/```console\n([\s\S]*?)```/g)].map(([, text]) => text!)
  const shown = block.find((text) => text.includes('--backend sim'))!
  for (const part of shown.split(/^\$ pctodl hetero /m).slice(1)) {
    const [line = '', ...lines] = part.trimEnd().split('\n')
    const [words = '', output] = line.split(' > ')
    const argv = words.split(' ').map((word) => word.replace(/([\w-]+\.json)$/, (name) => file(name)))
    const { code, stdout } = await call(...argv)
    expect(code).toBe(0)
    if (output !== undefined) writeFileSync(file(output), stdout)
    const answered = stdout.replaceAll(`${folder}${path.sep}`, '').split('\n')
    for (const each of lines) if (each !== '...') expect(answered).toContain(each)
  }
})
