import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { callCommand } from '../../../test/call-command.js'
import { pctodlHetero } from '../src/commands.js'
import { chooseGlobalBatch, fitConvergence, readProfile, replan, startReplanning } from '../src/index.js'
import { madeUpTrace } from './made-up-trace.js'

const folder = mkdtempSync(path.join(tmpdir(), 'batch-and-replan-'))
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
const file = (name: string) => path.join(folder, name)
const call = (...argv: string[]) => callCommand('pctodl-hetero', pctodlHetero, argv)

/** As `collect` writes it: windows of a step each. */
function profile(name: string, samplesPerS: number, limitsW: number[]): void {
  const rows = Object.entries(madeUpTrace({ samplesPerS, limitsW })).flatMap(([batchSize, windows]) =>
    windows.map(({ power_limit, energy, time }) => ({
      ...{ batchSize: Number(batchSize), powerLimitW: power_limit, steps: 1, timeS: time, energyJ: energy, repeat: 1 },
    })),
  )
  const gpu = { name, uuid: name, driverVersion: null }
  const text = { format: 'pctodl-hetero-profile', version: 1, gpu, model: null, idlePowerW: 20, rows }
  writeFileSync(file(`${name}.json`), JSON.stringify(text))
}
profile('fast', 1200, [300, 200, 150])
profile('slow', 500, [70, 60])
const gpus = ['--gpu', `fast=${file('fast.json')}`, '--gpu', `slow=${file('slow.json')}`]
const job = {
  gpus: ['fast', 'slow'].map((name) => ({ profile: readProfile(file(`${name}.json`), { name }) })),
  eta: 0.7,
  mayLeaveOut: true,
}
const runs = ['--finished', '128=9000', '--finished', '1024=2500']

describe('pctodl-hetero batch', () => {
  it('chooses what the library chooses, and prints a plan that launch can carry out', async () => {
    const convergence = fitConvergence([
      { globalBatch: 128, steps: 9000 },
      { globalBatch: 1024, steps: 2500 },
    ])
    const chosen = chooseGlobalBatch(job, [128, 256, 512, 1024], convergence)
    const words = ['batch', ...gpus, '--batches', '128,256,512,1024', ...runs, '--eta', '0.7']
    const printed = await call(...words)
    expect(printed.stdout).toMatch(new RegExp(`^${chosen.globalBatch} < .* 0\\.0 %$`, 'm'))
    const { stdout } = await call(...words, '--json')
    expect(JSON.parse(stdout)).toMatchObject({
      globalBatch: chosen.globalBatch,
      convergence,
      energyJ: chosen.plan.energyJ,
    })
    writeFileSync(file('plan.json'), stdout)
    const script = await call(
      'launch',
      '--plan',
      file('plan.json'),
      '--device',
      'fast=0',
      '--device',
      'slow=1',
      '--',
      'train',
    )
    expect([script.code, script.stdout]).toEqual([0, expect.stringContaining('#!')])
  })

  it('says what is missing, twice or of no use', async () => {
    const refused = async (...more: string[]) => {
      const { code, stderr } = await call('batch', ...gpus, '--batches', '128,256', ...more)
      return `${code} ${stderr}`
    }
    expect(await refused()).toMatch(/^2 .*give --finished for two batches or more/s)
    expect(await refused('--finished', '128=9000')).toMatch(/^2 .*two different batches/s)
    expect(await refused(...runs, '--noise-scale', '3')).toMatch(/^2 .*give one kind/s)
    expect(await refused(...runs, '--batch', '64')).toMatch(/^2 .*--batch: of no use here/s)
    expect(await refused(...runs, '--budget-time', '1e-6')).toMatch(/^1 .*no plan/s)
  })
})

describe('pctodl-hetero replan', () => {
  it('keeps what is believed in a file, and answers call by call what the library answers', async () => {
    const state = file('state.json')
    const words = ['replan', '--state', state]
    const begun = await call(...words, ...gpus, '--batch', '512', '--eta', '0.7')
    expect([begun.code, begun.stdout]).toEqual([0, expect.stringMatching(/^begin\nGPU +share/)])
    let known = startReplanning({ ...job, globalBatch: 512 })
    const share = (name: string) => known.plan.gpus.find((gpu) => gpu.name === name)!
    for (const slower of [2, 2, 2, 2]) {
      const times = { fast: slower * share('fast').timeS, slow: Math.max(1e-3, share('slow').timeS) }
      const reports = Object.entries(times).map(([name, timeS]) => ({ name, timeS }))
      const answer = replan(known, reports)
      const { stdout } = await call(
        ...words,
        ...reports.flatMap(({ name, timeS }) => ['--report', `${name}=${timeS}`]),
        '--json',
      )
      expect(JSON.parse(stdout)).toMatchObject({
        action: answer.action,
        gain: answer.gain,
        gpus: answer.state.plan.gpus.map(({ name, share }) => ({ name, share })),
      })
      known = answer.state
    }
    const gone = await call(...words, '--report', 'fast=gone', '--report', 'slow=0.5')
    expect(gone.stdout).toMatch(/^change: another split would save all\n(.*\n)fast +0 +left out .* gone\nslow +512 /)
    const back = await call(...words, '--report', 'fast=back', '--report', 'slow=0.5')
    expect(back.stdout).toMatch(/^keep: .*\n(.*\n)fast +0 +left out .* 1\.000x\n/)
    expect((await call(...words, '--report', 'slow=back')).stderr).toMatch(/slow: got 'back', expected its time/)
  })

  it('says what is wrong with its state or its reports', async () => {
    const early = await call('replan', '--state', file('none.json'), '--report', 'fast=1')
    expect([early.code, early.stderr, existsSync(file('none.json'))]).toEqual([
      2,
      expect.stringContaining('there is no'),
      false,
    ])
    writeFileSync(file('bad.json'), '{"format":"other"}')
    const bad = await call('replan', '--state', file('bad.json'), '--report', 'fast=1')
    expect([bad.code, bad.stderr]).toEqual([2, expect.stringMatching(/bad\.json: format/)])
    await call('replan', '--state', file('good.json'), ...gpus, '--batch', '512')
    const before = readFileSync(file('good.json'), 'utf8')
    const unknown = await call('replan', '--state', file('good.json'), '--report', 'other=1')
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('GPUs that take part: fast, slow')])
    expect(readFileSync(file('good.json'), 'utf8')).toBe(before)
    const rebatched = await call('replan', '--state', file('good.json'), '--batch', '64', '--report', 'fast=1')
    expect([rebatched.code, rebatched.stderr]).toEqual([2, expect.stringMatching(/--batch: the job is that of .*good/)])
    const rounds = await call('replan', '--state', file('none.json'), ...gpus, '--batch', '512', '--rounds', '2')
    expect([rounds.code, rounds.stderr]).toEqual([2, expect.stringContaining('--rounds: of no use before')])
  })
})

describe('a state that was changed by hand', () => {
  it('is refused by file and field, and left as it is', async () => {
    const state = file('by-hand.json')
    await call('replan', '--state', state, ...gpus, '--batch', '512')
    const good = readFileSync(state, 'utf8')
    type State = {
      job: object
      plan: { gpus: { name: string; share: number; powerLimitW: number }[] }
      slowdowns: Record<string, number>
    }
    for (const [change, message] of [
      [({ plan }) => plan.gpus.pop(), /plan\.gpus: got 'fast', expected the GPUs of its job: fast, slow/],
      [
        ({ plan }) => Object.assign(plan.gpus[0]!, { powerLimitW: 123 }),
        /fast: powerLimitW: got 123, expected a limit/,
      ],
      [({ plan }) => Object.assign(plan.gpus[0]!, { share: -3 }), /fast: share: got -3/],
      [({ slowdowns }) => Object.assign(slowdowns, { x: 1 }), /slowdowns: got 'x', expected GPUs of its job/],
      [({ job }) => Object.assign(job, { eta: 7 }), /eta: got 7/],
    ] as [(state: State) => unknown, RegExp][]) {
      const changed = JSON.parse(good) as State
      change(changed)
      writeFileSync(state, JSON.stringify(changed))
      const { stderr } = await call('replan', '--state', state, '--report', 'fast=0.2', '--report', 'slow=0.2')
      expect(stderr).toMatch(message)
      expect(stderr).toContain('by-hand.json')
      expect(readFileSync(state, 'utf8')).toBe(JSON.stringify(changed))
    }
  })
})

describe('a budget that nothing keeps any more', () => {
  it('ends as it does where a plan is made: 1, and not as an error of usage', async () => {
    const state = file('budget.json')
    const fastest = Number(JSON.parse((await call(...gpus, '--batch', '512', '--eta', '0', '--json')).stdout).timeS)
    await call('replan', '--state', state, ...gpus, '--batch', '512', '--budget-time', `${1.05 * fastest}`)
    const { code, stderr } = await call('replan', '--state', state, '--report', 'fast=gone', '--report', 'slow=0.2')
    expect([code, stderr]).toEqual([1, expect.stringContaining('no plan takes at most')])
    const all = await call('replan', '--state', state, '--report', 'fast=gone', '--report', 'slow=gone')
    expect([all.code, all.stderr]).toEqual([1, expect.stringContaining('no GPU is left')])
  })
})

describe('a plan file that was changed by hand', () => {
  it.each([
    ['a share without a limit', { powerLimitW: null }, 'a powerLimitW for each GPU that has a share'],
    ['a name told twice', { name: 'slow' }, 'a different name for each GPU'],
  ])('is refused: %s', async (_, change, message) => {
    const { stdout } = await call(...gpus, '--batch', '512', '--json')
    const plan = JSON.parse(stdout)
    Object.assign(plan.gpus[0], change)
    writeFileSync(file('plan-by-hand.json'), JSON.stringify(plan))
    const { code, stderr } = await call('launch', '--plan', file('plan-by-hand.json'), '--', 'true')
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)])
  })
})
