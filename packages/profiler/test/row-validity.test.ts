import { SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import { type BoardOccupancy, type Tenant, VirtualClock } from '@pctodl/platform'
import { makePlan, type ProfileRow, runPlan } from '@pctodl/profiler'
import { describe, expect, it } from 'vitest'
import { doubtOf } from '../src/measure/row-status.js'
import { profileTable, staticTable } from '../src/trace/trace-tables.js'
import { observe } from './observations.js'

const quarter: Tenant = { model: 'resnet50', mpsPercent: 25, batchSize: 16 }
const ours = { pid: 100, name: 'python3', isOurs: true }
const intruder = { pid: 77, name: 'train.py', isOurs: false }
const place = { pid: 100, device: 'NVIDIA A100-PCIE-40GB', isOnBoard: true }

/** A row, with who is on the board as a function of time. */
async function rowWith(occupancy: (nowMs: number) => BoardOccupancy, tenants: readonly Tenant[] = [quarter]) {
  const clock = new VirtualClock()
  const gpu = new SimulatedGpu('A100', { clock })
  const board = { gpu, clock, tenants: new SimulatedTenants(gpu), occupancy: () => occupancy(clock.now()) }
  const load =
    tenants.length > 0
      ? ({ sweep: 'single', smClockMhz: 1005 } as const)
      : ({ sweep: 'static', smClockMhz: 210 } as const)
  const plan = makePlan(gpu.spec, [{ ...load, tenants, memClockMhz: 1215, repeat: 0 }], { seed: 1 })
  const rows: ProfileRow[] = []
  await runPlan(board, plan, { onRow: (row) => rows.push(row) })
  return rows[0]!
}

describe('a row of a board that others can be on', () => {
  it('says who was there and where inference ran', async () => {
    const row = await rowWith(() => ({ processes: [ours], tenants: [place] }))
    expect(row).toMatchObject({
      status: 'ok',
      failed: false,
      boardProcesses: '100 python3 (ours)',
      devices: ['NVIDIA A100-PCIE-40GB'],
    })
    expect(row.batches[0]).toBeGreaterThan(2)
    expect(profileTable.parse(`${profileTable.header}\n${profileTable.format(row)}\n`)[0]).toMatchObject({
      boardProcesses: row.boardProcesses,
      devices: row.devices,
      batches: row.batches,
    })
  })

  it('is foreign where someone else was on the board, if only for a moment', async () => {
    let lastMs = 0
    await rowWith((nowMs) => {
      lastMs = nowMs
      return { processes: [ours], tenants: [place] }
    })
    // One reading in the midst of the same window.
    const row = await rowWith((nowMs) => {
      const isThere = Math.abs(nowMs - (lastMs - 2000)) < 50
      return { processes: isThere ? [ours, intruder] : [ours], tenants: [place] }
    })
    expect(row).toMatchObject({ status: 'foreign', failed: true, powerAverageW: Number.NaN, throughput: Number.NaN })
    expect(row.message).toBe('not ours and on the board: 77 train.py (foreign)')
    expect(row.boardProcesses).toBe('100 python3 (ours), 77 train.py (foreign)')
  })

  it('takes no power without work while someone else works', async () => {
    const row = await rowWith(() => ({ processes: [intruder], tenants: [] }), [])
    expect(row).toMatchObject({ status: 'foreign', failed: true, powerAverageW: Number.NaN })
    const read = staticTable.parse(`${staticTable.header}\n${staticTable.format(row)}\n`)[0]
    expect(read).toMatchObject({ status: 'foreign', failed: true, boardProcesses: '77 train.py (foreign)' })
  })

  it('is of the wrong device where a tenant infers elsewhere', async () => {
    const row = await rowWith(() => ({ processes: [], tenants: [{ pid: 100, device: 'cpu', isOnBoard: false }] }))
    expect(row).toMatchObject({ status: 'wrong-device', failed: true, devices: ['cpu'], throughput: Number.NaN })
    expect(row.message).toBe('process 100 infers on cpu, not on this board')
  })

  it('is unknown, and keeps its values, where the driver does not tell', async () => {
    const strange = await rowWith(() => ({ processes: [{ pid: 5, name: null, isOurs: null }], tenants: [place] }))
    expect(strange).toMatchObject({
      status: 'unknown',
      failed: false,
      message: expect.stringContaining('perhaps not ours: 5'),
    })
    expect(strange.throughput).toBeGreaterThan(0)
    const untold = await rowWith(() => ({ processes: [], tenants: [{ ...place, isOnBoard: null }] }))
    expect(untold).toMatchObject({ status: 'unknown', failed: false })
  })
})

describe('doubtOf', () => {
  it('calls a window too short in which a tenant completes no batch, and none in which all do', () => {
    const seen = observe(12, { batchMs: [() => 25, () => 5000] })
    expect(doubtOf(seen[59]!, seen.slice(60, 90))).toEqual({
      status: 'too-short',
      message: 'tenant 1 (resnet50, 25 %, batch 8): it completed not one batch in the window',
    })
    expect(doubtOf(seen[59]!, seen.slice(60))).toBeUndefined()
  })
})
