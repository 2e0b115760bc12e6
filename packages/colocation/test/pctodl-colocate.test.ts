import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { exitCodeOf } from '@pctodl/command-line'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pctodlColocate } from '../src/commands.js'
import { formatColocationTable, formatWorkloadTable } from '../src/index.js'
import { allPairs, lawfulColocation, syntheticWorkloads } from './synthetic-board.js'

const workloads = syntheticWorkloads(14)
const pairs = allPairs(workloads).map(lawfulColocation)
let study = ''

beforeAll(() => {
  study = mkdtempSync(path.join(tmpdir(), 'pctodl-colocate-'))
  writeFileSync(path.join(study, 'workloads.csv'), formatWorkloadTable(workloads))
  writeFileSync(path.join(study, 'colocations2.csv'), formatColocationTable(pairs))
})

afterAll(() => rmSync(study, { recursive: true, force: true }))

async function call(...argv: string[]) {
  let stdout = ''
  let stderr = ''
  const code = await exitCodeOf('pctodl-colocate', pctodlColocate, argv, {
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: (text) => (stderr += text) },
    signal: new AbortController().signal,
    env: {},
  })
  return { code, stdout, stderr }
}

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

  it('evaluates the methods on workloads left out', async () => {
    const { code, stdout } = await call('evaluate', '--study', study, '--json')
    expect(code).toBe(0)
    const [section] = JSON.parse(stdout)
    expect(section).toMatchObject({ title: 'unseen workload, 2 members', splits: 14 })
    const gainOf = (name: string) => section.evaluations.find((e: { method: string }) => e.method === name).gain
    expect(gainOf('oracle')).toBe(1)
    expect(gainOf('slowdown model')).toBeGreaterThan(gainOf('min memcap'))
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
    expect(await call('predict', '--help')).toMatchObject({ code: 0, stdout: expect.stringContaining('Example:') })
  })
})
