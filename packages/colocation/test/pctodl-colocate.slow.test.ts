import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
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

const call = (...argv: string[]) => callCommand('pctodl colocate', pctodlColocate, argv)

describe('pctodl colocate', () => {
  const members = `${workloads[0]!.name},${workloads[5]!.name}`

  it('predicts a colocation', async () => {
    const { code, stdout } = await call('predict', '--study', study, '--members', members)
    expect(code).toBe(0)
    expect(stdout).toContain('90 % interval')
    const rows = stdout.split('\n').map((line) =>
      line
        .split('│')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
    const told = JSON.parse((await call('predict', '--study', study, '--members', members, '--json')).stdout)
    const numbers = (throughput: number, { low, high }: { low: number; high: number }, kept: number) => [
      throughput.toFixed(1),
      `${low.toFixed(1)} - ${high.toFixed(1)}`,
      (100 * kept).toFixed(0),
    ]
    for (const [i, workload] of [workloads[0]!, workloads[5]!].entries()) {
      expect(rows.find(([name]) => name === workload.name)).toEqual([
        workload.name,
        workload.exclusiveThroughput.toFixed(1),
        ...numbers(told.throughputs[i], told.throughputIntervals[i], told.keptShares[i]),
      ])
    }
    expect(rows.find(([name]) => name === 'sum')).toEqual([
      'sum',
      '',
      ...numbers(told.throughputSum, told.throughputSumInterval, told.weightedSpeedup),
    ])
  })

  it('ranks groups of any size for a workload', async () => {
    const words = ['pair', '--study', study, '--for', workloads[0]!.name]
    const three = JSON.parse((await call(...words, '--size', '3', '--json')).stdout)
    expect(three.groups).toHaveLength((8 * 9) / 2)
    for (const [option, value, said] of [
      ['--gpus', '3', '--gpus divides a pool and --for ranks groups'],
      ['--size', '1', '--for ranks groups of two or more'],
    ]) {
      expect(await call(...words, option!, value!)).toMatchObject({ code: 2, stderr: expect.stringContaining(said!) })
    }
  })

  it('predicts as JSON', async () => {
    const { stdout } = await call('predict', '--study', study, '--members', members, '--level', '0.8', '--json')
    const prediction = JSON.parse(stdout)
    expect(prediction).toMatchObject({ members: members.split(','), level: 0.8 })
    const measured = lawfulColocation([workloads[0]!, workloads[5]!]).throughputs.reduce((a, b) => a + b)
    expect(Math.abs(prediction.throughputSum / measured - 1)).toBeLessThan(0.1)
  })

  it('evaluates what it predicts and chooses of what is left out', async () => {
    const evaluated = (only: string) => call('evaluate', '--study', study, '--json', '--only', only)
    const [left] = JSON.parse((await evaluated('left-out groups')).stdout)
    const [unseen] = JSON.parse((await evaluated('unseen network')).stdout)
    expect(left).toMatchObject({ title: 'left-out groups, 2 members, all sizes learnt', splits: 5 })
    expect(unseen).toMatchObject({ title: 'unseen network, 2 members', splits: 8 })
    expect(await evaluated('nothing')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        "no such section; known: 'left-out groups, 2 members, all sizes learnt', 'unseen batch size, 2 members', 'unseen network, 2 members'",
      ),
    })
    const of = (section: { evaluations: { method: string; gain: number }[] }, name: string) =>
      section.evaluations.find(({ method }) => method === name)!
    expect(of(left, 'slowdown model')).toMatchObject({ memberCoverage: expect.any(Number) })
    expect(of(left, 'slowdown model').gain).toBeGreaterThan(0.97)
    expect(of(unseen, 'slowdown model').gain).toBeGreaterThan(of(unseen, 'fastest alone').gain - 0.02)
    const table = await call('evaluate', '--study', study, '--only', 'unseen network')
    expect(table.stdout).toMatch(/^unseen network, 2 members /)
    expect(table.stdout).not.toContain('left-out')
  })

  it('divides a pool and ranks co-runners', async () => {
    const { code, stdout } = await call('pair', '--study', study)
    expect(code).toBe(0)
    expect(stdout).toMatch(/4 GPUs, \d\.\d\d in sum: the best there is, as predicted\n$/)
    const grouping = JSON.parse((await call('pair', '--study', study, '--size', '3', '--json')).stdout)
    expect(grouping.groups.flatMap((group: { members: string[] }) => group.members).sort()).toEqual(
      workloads.map(({ name }) => name).sort(),
    )
    const target = workloads[2]!.name
    const ranked = JSON.parse((await call('pair', '--study', study, '--for', target, '--json')).stdout)
    expect(ranked.groups).toHaveLength(8)
    expect(ranked.groups[0].members[0]).toBe(target)
    // Which of the first two to measure, where they could be the other way round.
    const firstTwo = ranked.groups.slice(0, 2).map(({ members }: { members: string[] }) => members)
    expect([null, ...firstTwo]).toContainEqual(ranked.undecided?.measure ?? null)
    const regrets = ranked.groups.map(({ expectedRegret }: { expectedRegret: number }) => expectedRegret)
    expect(regrets).toEqual([...regrets].sort((a, b) => a - b))
    expect((await call('pair', '--study', study, '--for', target)).stdout).toMatch(/90 % interval.*regret/)
    expect(await call('pair', '--study', study, '--for', target, '--min-kept', '1')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no co-runners of'),
    })
  })

  describe('with measured power', () => {
    const powered = workloads.map((workload, i) => ({ ...workload, powerW: 100 + 15 * i }))
    let folder = ''
    beforeAll(() => {
      folder = mkdtempSync(path.join(tmpdir(), 'pctodl-colocate-power-'))
      const groups = allPairs(powered).map((members) => {
        const colocation = lawfulColocation(members)
        const above = members.map(
          (member, i) => (colocation.throughputs[i]! / member.exclusiveThroughput) * (member.powerW! - 60),
        )
        return { ...colocation, powerW: 60 + above[0]! + above[1]! }
      })
      writeFileSync(path.join(folder, 'workloads.csv'), formatWorkloadTable(powered))
      writeFileSync(path.join(folder, 'colocations2.csv'), formatColocationTable(groups))
    })
    afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

    interface Group {
      readonly members: string[]
      readonly keptShares: number[]
      readonly powerW: number
    }
    const groupsOf = async (...options: string[]) => {
      const { code, stdout, stderr } = await call('pair', '--study', folder, '--gpus', '8', '--json', ...options)
      expect(stderr).toBe('')
      expect(code).toBe(0)
      return JSON.parse(stdout).groups as Group[]
    }

    it('tells watts and keeps a cap on them', async () => {
      const predicted = await call('predict', '--study', folder, '--members', members)
      expect(predicted.stdout).toMatch(/\npower: \d+ W \(off by \d\.\d % in the mean over 36 measured groups/)
      // The hottest workload alone draws 205 W, so a cap between that and the hottest pair changes the groups.
      const free = JSON.parse((await call('pair', '--study', folder, '--json')).stdout).groups as Group[]
      const hottestW = Math.max(...free.map(({ powerW }) => powerW))
      const capW = Math.max(206, hottestW - 5)
      const capped = await groupsOf('--power-cap', String(capW))
      for (const { powerW } of capped) expect(powerW).toBeLessThanOrEqual(capW)
      expect(await call('pair', '--study', folder, '--power-cap', '90')).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('allow more GPUs, more memory, more power'),
      })
    })

    it('keeps objectives', async () => {
      const { name, batchSize, exclusiveThroughput } = powered[3]!
      const aloneMs = (1000 * batchSize) / exclusiveThroughput
      const slo = `${name}=${(1.02 * aloneMs).toFixed(6)}`
      const kept = (groups: Group[]) =>
        groups.flatMap((group) => group.members.flatMap((one, i) => (one === name ? [group.keptShares[i]!] : [])))
      expect(kept(await groupsOf('--slo', slo))[0]).toBeGreaterThanOrEqual(1 / 1.0201)
      for (const [text, said] of [
        ['x', 'expected <workload>=<ms>'],
        [`${name}=-3`, 'ms'],
        ['nobody=5', "unknown workload with a batch time 'nobody'"],
        [`${slo},${slo}`, 'once per workload'],
        [`${name}=${0.5 * aloneMs}`, 'ms, its time alone'],
      ]) {
        expect(await call('pair', '--study', folder, '--slo', text!)).toMatchObject({
          code: 2,
          stderr: expect.stringContaining(said!),
        })
      }
    })
  })

  it('refuses a cap on power that nobody measured', async () => {
    expect(await call('pair', '--study', study, '--power-cap', '200')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("expected a column 'power' (W) in workloads.csv"),
    })
  })

  it('says of a pool with too many ways to divide it that it searched', async () => {
    const pool = Array.from({ length: 24 }, (_, i) => workloads[i % 8]!.name).join(',')
    const { code, stdout } = await call('pair', '--study', study, '--pool', pool, '--size', '12')
    expect(code).toBe(0)
    expect(stdout).toMatch(/2 GPUs, \d+\.\d\d in sum: found by search; a better grouping may exist\n$/)
  })

  it('tells its version and its commands, and that is no failure', async () => {
    const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
    expect(await call('--version')).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
    for (const asked of ['--help', 'help']) {
      expect(await call(asked)).toMatchObject({ code: 0, stdout: expect.stringContaining('Commands:'), stderr: '' })
    }
  })

  it('takes numbers up to their ends', async () => {
    const ends = ['--size', '2', '--min-kept', '0']
    expect((await call('pair', '--study', study, ...ends)).code).toBe(0)
  })

  it('says what is wrong with a call', async () => {
    expect(await call()).toMatchObject({ code: 2, stderr: expect.stringContaining('no command; one of predict') })
    expect(await call('marry')).toMatchObject({ code: 2, stderr: expect.stringContaining("unknown command 'marry'") })
    expect(await call('toString')).toMatchObject({ code: 2 })
    expect(await call('predict', '--study', study)).toMatchObject({ code: 2 })
    expect(await call('predict', '--study', study, '--members', 'x')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("unknown workload 'x'; known: net0_batch2-train"),
    })
    expect(await call('predict', '--study', path.join(study, 'none'), '--members', members)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('expected workloads.csv and colocations2.csv'),
    })
    expect(await call('pair', '--study', study, '--memory-gib', '0.1')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no grouping of 8 jobs on 4 GPUs meets the limits'),
    })
    expect(await call('pair', '--study', study, '--gpus', '2')).toMatchObject({ code: 2 })
    writeFileSync(path.join(study, 'colocations3.csv'), 'workload1,workload2\n')
    expect(await call('pair', '--study', study)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('colocations3.csv: no rows'),
    })
    rmSync(path.join(study, 'colocations3.csv'))
    expect(await call('predict', '--help')).toMatchObject({ code: 0, stdout: expect.stringContaining('Example:') })
  })
})
