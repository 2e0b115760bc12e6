import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseProfileCsv } from '@pctodl/profiler'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { OneNodeSlurm, slurmHindrance } from '../../job-array/test/one-node-slurm.js'
import { cutPlan } from '../src/run-spread.js'
import { call } from './call.js'

const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-profile-spread-'))
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
const at = (name: string) => path.join(folder, name)
const sweep = '--backend sim --gpu A100 --models vgg19 --sweep --p 50 50 --f-start 300 --f-end 1300 --f-step 200'.split(
  ' ',
)

/** What is measured, without the readings, which depend on what a process measured before. */
const planned = (file: string) =>
  parseProfileCsv(readFileSync(file, 'utf8')).map(({ row, tenants, targetSmClockMhz, status }) => ({
    row,
    tenants,
    targetSmClockMhz,
    status,
  }))

describe('a plan that is cut into pieces', () => {
  it('loses no row and doubles none', () => {
    const plan = { rows: Array.from({ length: 11 }, (_, i) => i) } as unknown as Parameters<typeof cutPlan>[0]
    for (const pieces of [1, 2, 3, 10, 11, 40]) {
      const cut = cutPlan(plan, pieces)
      expect(cut).toHaveLength(Math.min(pieces, 11))
      expect(cut.flatMap((piece) => piece.plan.rows)).toEqual(plan.rows)
      expect(cut.map(({ offset }) => offset)).toEqual(cut.map((piece) => Number(piece.plan.rows[0])))
    }
  })

  it('is measured by several processes as by one', async () => {
    expect((await call([...sweep, '--out', at('one.csv')])).code).toBe(0)
    const { code, stderr } = await call([...sweep, '--out', at('several.csv'), '--jobs', '3'])
    expect(stderr).toContain('piece 3 of 3 measured')
    expect(code).toBe(0)
    expect(planned(at('several.csv'))).toEqual(planned(at('one.csv')))
    expect(readdirSync(folder).filter((name) => name.includes('pieces'))).toEqual([])
  })

  it('names the piece that failed, keeps the others and goes on', async () => {
    const out = at('broken.csv')
    const pieces = `${out}.pieces`
    // Somebody else's file where the second piece wants to write.
    mkdirSync(pieces)
    writeFileSync(path.join(pieces, '1.csv'), 'not a trace\n')
    const first = await call([...sweep, '--out', out, '--jobs', '2', '--resume'])
    expect(first.code).toBe(1)
    expect(first.stderr).toMatch(/1 of 2 pieces are not whole \(2: .*go on with --resume/)
    rmSync(path.join(pieces, '1.csv'))
    expect(existsSync(path.join(pieces, '0.csv'))).toBe(true)
    const second = await call([...sweep, '--out', out, '--jobs', '2', '--resume'])
    expect(second.code).toBe(0)
    expect(planned(out)).toEqual(planned(at('one.csv')))
  })
})

const hindrance = slurmHindrance()

describe.skipIf(hindrance)(`on a real one-node Slurm${hindrance ? ` (skipped: ${hindrance})` : ''}`, () => {
  const cluster = new OneNodeSlurm()
  const before = process.env['SLURM_CONF']
  beforeAll(async () => {
    await cluster.up()
    process.env['SLURM_CONF'] = cluster.configurationFile
  })
  afterAll(async () => {
    await cluster.down()
    if (before === undefined) delete process.env['SLURM_CONF']
    else process.env['SLURM_CONF'] = before
  })

  it('is measured by a job array', async () => {
    const args = ['--executor', 'slurm', '--slurm-elements', '2', '--slurm-argument=--gres=gpu:1']
    const { code, stderr } = await call([...sweep, '--out', at('cluster.csv'), ...args])
    expect(stderr).toContain('of 2 measured')
    expect(code).toBe(0)
    expect(planned(at('cluster.csv'))).toEqual(planned(at('one.csv')))
  })
})
