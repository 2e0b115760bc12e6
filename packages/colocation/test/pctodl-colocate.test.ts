import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { callCommand } from '../../../test/call-command.js'
import { pctodlColocate } from '../src/commands.js'
import { formatColocationTable, formatWorkloadTable } from '../src/index.js'
import { allPairs, lawfulColocation, syntheticWorkloads } from './synthetic-board.js'

const workloads = syntheticWorkloads(8)
const pairs = allPairs(workloads).map(lawfulColocation)
let study = ''

beforeAll(() => {
  study = mkdtempSync(path.join(tmpdir(), 'pctodl-colocate-'))
  writeFileSync(path.join(study, 'workloads.csv'), formatWorkloadTable(workloads))
  writeFileSync(path.join(study, 'colocations2.csv'), formatColocationTable(pairs))
})

afterAll(() => rmSync(study, { recursive: true, force: true, maxRetries: 5 }))

const call = (...argv: string[]) => callCommand('pctodl-colocate', pctodlColocate, argv)

describe('pctodl-colocate', () => {
  const members = `${workloads[0]!.name},${workloads[5]!.name}`

  it('predicts a colocation', async () => {
    const { code, stdout } = await call('predict', '--study', study, '--members', members)
    expect(code).toBe(0)
    expect(stdout).toContain('90 % interval')
    expect(stdout).toContain(workloads[5]!.name)
  })

  it('predicts as JSON', async () => {
    const { stdout } = await call('predict', '--study', study, '--members', members, '--level', '0.8', '--json')
    const prediction = JSON.parse(stdout)
    expect(prediction).toMatchObject({ members: members.split(','), level: 0.8 })
    const measured = lawfulColocation([workloads[0]!, workloads[5]!]).throughputs.reduce((a, b) => a + b)
    expect(Math.abs(prediction.throughputSum / measured - 1)).toBeLessThan(0.1)
  })

  it('evaluates the methods on published splits and on workloads left out, and says which it has to leave out', async () => {
    mkdirSync(path.join(study, 'splits2'))
    const rows = pairs.map((_, row) => row)
    const train = rows.filter((row) => row % 3 > 0)
    const test = rows.filter((row) => row % 3 === 0)
    writeFileSync(path.join(study, 'splits2', 'n_occur_splits.json'), JSON.stringify({ 3: { 10: { train, test } } }))
    const { code, stdout, stderr } = await call('evaluate', '--study', study, '--json')
    expect(code).toBe(0)
    const [published, unseen] = JSON.parse(stdout)
    expect(published).toMatchObject({ title: 'pairs, n_occur 3', splits: 1 })
    expect(unseen).toMatchObject({ title: 'unseen workload, 2 members', splits: 8 })
    const of = (section: { evaluations: { method: string; gain: number; poolGain: number }[] }, name: string) =>
      section.evaluations.find(({ method }) => method === name)
    expect(of(published, 'oracle')).toMatchObject({ gain: 1, poolGain: 1 })
    expect(of(published, 'slowdown model')!.poolGain).toBeGreaterThan(0.97)
    expect(of(unseen, 'slowdown model')!.gain).toBeGreaterThan(of(unseen, 'min memcap')!.gain)
    expect(of(unseen, 'linear model, honest')).toBeUndefined()
    expect(stderr).toContain('linear model, honest is left out: features: got')
    rmSync(path.join(study, 'splits2'), { recursive: true })
  })

  it('divides a pool, ranks company and draws the slowdowns', async () => {
    const picture = path.join(study, 'heat.svg')
    const { code, stdout, stderr } = await call('pair', '--study', study, '--heat-map', picture)
    expect(code).toBe(0)
    expect(stderr).toBe(`written: ${picture}\n`)
    expect(stdout).toMatch(/4 GPUs, \d\.\d\d in sum: the best there is, as predicted\n$/)
    expect(readFileSync(picture, 'utf8')).toContain(`>${workloads[3]!.name}<`)
    const grouping = JSON.parse((await call('pair', '--study', study, '--size', '3', '--json')).stdout)
    expect(grouping.groups.flatMap((group: { members: string[] }) => group.members).sort()).toEqual(
      workloads.map(({ name }) => name).sort(),
    )
    const target = workloads[2]!.name
    const ranked = JSON.parse((await call('pair', '--study', study, '--for', target, '--json')).stdout)
    expect(ranked.pairs).toHaveLength(8)
    expect(ranked.pairs[0].members[0]).toBe(target)
    expect(ranked.pairs[0].value).toBeGreaterThanOrEqual(ranked.pairs[7].value)
    expect(await call('pair', '--study', study, '--for', target, '--least-kept', '1')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no company keeps the limits'),
    })
  })

  it('says of a pool with too many ways to divide it that it searched, and what no grouping exceeds', async () => {
    const pool = Array.from({ length: 24 }, (_, i) => workloads[i % 8]!.name).join(',')
    const { code, stdout } = await call('pair', '--study', study, '--pool', pool, '--size', '12')
    expect(code).toBe(0)
    const said = /2 GPUs, (\S+) in sum: found by search; no grouping exceeds (\S+) \(gap (\S+) %\)\n$/.exec(stdout)!
    const [value, bound, gapPercent] = said.slice(1).map(Number) as [number, number, number]
    expect(bound).toBeGreaterThanOrEqual(value)
    expect(gapPercent).toBeCloseTo(100 * (1 - value / bound), 0)
  })

  it('tells its version and its commands, and that is no failure', async () => {
    const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
    expect(await call('--version')).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
    for (const asked of ['--help', 'help']) {
      expect(await call(asked)).toMatchObject({ code: 0, stdout: expect.stringContaining('Commands:'), stderr: '' })
    }
  })

  it('says what is wrong with a call', async () => {
    expect(await call()).toMatchObject({ code: 2, stderr: expect.stringContaining('no command; expected predict') })
    expect(await call('marry')).toMatchObject({ code: 2, stderr: expect.stringContaining("unknown command 'marry'") })
    expect(await call('toString')).toMatchObject({ code: 2 })
    expect(await call('predict', '--study', study)).toMatchObject({ code: 2 })
    expect(await call('predict', '--study', study, '--members', 'x')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("unknown workload 'x'; known: net0_batch2-train"),
    })
    expect(await call('predict', '--study', path.join(study, 'none'), '--members', members)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('has no workloads.csv'),
    })
    expect(await call('pair', '--study', study, '--memory-gib', '0.1')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no grouping of 8 jobs on 4 GPUs keeps the limits'),
    })
    expect(await call('pair', '--study', study, '--gpus', '2')).toMatchObject({ code: 2 })
    expect(await call('pair', '--study', study, '--heat-map', 'x.gif')).toMatchObject({ code: 2 })
    writeFileSync(path.join(study, 'colocations3.csv'), 'workload1,workload2\n')
    expect(await call('pair', '--study', study)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('colocations3.csv: no rows'),
    })
    rmSync(path.join(study, 'colocations3.csv'))
    expect(await call('predict', '--help')).toMatchObject({ code: 0, stdout: expect.stringContaining('Example:') })
  })
})
