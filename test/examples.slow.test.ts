import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { type BoardAtClock, meetBudget } from '../examples/power-budget.js'

const root = path.resolve(import.meta.dirname, '..')
const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-examples-'))

afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

/** Run an example as its comment says, but with the packages as they are built, into a folder of its own. */
function run(name: string): { readonly stdout: string; readonly table: Map<string, number[]> } {
  const words = ['--import', import.meta.resolve('tsx'), path.join(root, 'examples', `${name}.ts`), folder]
  const { status, stdout, stderr } = spawnSync(process.execPath, words, { cwd: root, encoding: 'utf8' })
  expect(stderr).toBe('')
  expect(status).toBe(0)
  const rows = stdout.split('\n').map((line): [string, number[]] => {
    const [head = '', ...cells] = line.trim().split(/ {2,}/)
    return [head, cells.map((cell) => Number.parseFloat(cell))]
  })
  return { stdout, table: new Map(rows) }
}

function expectPicture(name: string) {
  expect(readFileSync(path.join(folder, `${name}.svg`), 'utf8')).toMatch(/^<svg[\s\S]*<\/svg>\s*$/)
  expect(
    readFileSync(path.join(folder, `${name}.png`))
      .subarray(1, 4)
      .toString(),
  ).toBe('PNG')
}

describe('examples', () => {
  it('what-if: partitions give more than one process, and the board does what was promised', () => {
    const { stdout } = run('what-if')
    const rows = [...stdout.matchAll(/^ *(\d+) {2}(partitioned|one process)(.*)$/gm)].map(([, capW, who, cells]) => {
      const [, , promised, truth, powerW, perJoule] = cells!.trim().split(/\s+/).map(Number)
      return { capW: Number(capW), who, promised: promised!, truth: truth!, powerW: powerW!, perJoule: perJoule! }
    })
    expect(rows).toHaveLength(18)
    for (const { capW, who, promised, truth, powerW, perJoule } of rows) {
      expect(Math.abs(promised / truth - 1), `${who} under ${capW} W`).toBeLessThan(0.1)
      // What the model is wrong by; a controller on the board takes it away.
      expect(powerW).toBeLessThan(1.07 * capW)
      const alone = rows.find((row) => row.who === 'one process' && row.capW === capW)!
      // A process alone may be faster where it draws more than the cap.
      expect(perJoule).toBeGreaterThanOrEqual(alone.perJoule)
    }
    expectPicture('what-if')
  })

  it('custom-policy: every policy is judged, pctodl holds the cap best', () => {
    const { table } = run('custom-policy')
    const policies = ['cautious-steps', 'pctodl', 'morak', 'batchdvfs', 'directcap', 'powercap']
    const within = policies.map((name) => table.get(name)![1]!)
    expect(Math.max(...within)).toBe(table.get('pctodl')![1])
    expect(table.get('pctodl')![2]).toBeLessThan(1)
    expect(table.get('cautious-steps')![2]).toBeGreaterThan(1)
    expectPicture('custom-policy')
  })

  it('cluster-packing: the budget is met, and every service delivers what is asked for in time', () => {
    const { stdout, table } = run('cluster-packing')
    const [, budgetW] = stdout.match(/budget (\d+) W/)!
    const [, totalW] = stdout.match(/^met: (\d+) W$/m)!
    expect(Number(totalW)).toBeLessThanOrEqual(Number(budgetW))
    for (const model of ['densenet201', 'efficientnet_v2_m', 'maxvit_t', 'mobilenet_v2', 'resnet50', 'vgg19']) {
      const [asked, delivered, batchMs, allowedMs] = table.get(model)!
      expect(delivered, model).toBeGreaterThanOrEqual(asked!)
      expect(batchMs, model).toBeLessThanOrEqual(allowedMs!)
    }
    expectPicture('power-budget')
    expect(readdirSync(folder)).toContain('cluster-map.svg')
  })

  it('serve-requests: the policy for services drives real processes, and no request is lost', () => {
    const { stdout, table } = run('serve-requests')
    expect(stdout).toMatch(/^tenants: .*search \d+ % x \d+: running/m)
    for (const name of ['search', 'photos']) {
      const row = table.get(name)!
      expect(row[0], `requests/s of ${name}`).toBeGreaterThan(0)
      expect(row.at(-1), `unaccounted of ${name}`).toBe(0)
    }
  })

  it('are the ones that the README names', () => {
    const readme = readFileSync(path.join(root, 'README.md'), 'utf8')
    for (const name of ['what-if', 'custom-policy', 'cluster-packing', 'serve-requests'])
      expect(readme).toContain(`examples/${name}.ts`)
  })
})

describe('meetBudget', () => {
  const at = (smClockMhz: number, powerW: number, throughput: number): BoardAtClock => ({
    smClockMhz,
    powerW,
    segments: [{ model: 'a', throughput, latencyMs: 10_000 / smClockMhz }],
  })
  const two = [
    [at(1000, 200, 100), at(900, 170, 90), at(800, 150, 80)],
    [at(1000, 200, 100), at(900, 190, 90), at(800, 130, 80)],
  ]
  const budget = (watts: number, rate: number, limitMs = 100) =>
    meetBudget(two, watts, new Map([['a', rate]]), new Map([['a', limitMs]]))

  it('changes nothing where the budget is kept already', () => {
    expect(budget(400, 0)).toEqual({ chosen: [0, 0], totalW: 400, met: true })
  })

  it('takes the step that saves most, and no more steps than it needs', () => {
    expect(budget(370, 0)).toEqual({ chosen: [1, 0], totalW: 370, met: true })
  })

  it('gives up watts rather than a rate or a latency', () => {
    expect(budget(100, 190)).toEqual({ chosen: [1, 0], totalW: 370, met: false })
    expect(budget(100, 0, 11.2)).toEqual({ chosen: [1, 1], totalW: 360, met: false })
  })

  it('ends at the lowest clocks where nothing else stops it', () => {
    expect(budget(0, 0)).toEqual({ chosen: [2, 2], totalW: 280, met: false })
  })
})
