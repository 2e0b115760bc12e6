import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Backend, openSimulated } from '@pctodl/backend'
import { fitPerfModel, PerfModel } from '@pctodl/perf-model'
import { PctodlError, type TenantPool } from '@pctodl/platform'
import { parseTraceCsv } from '@pctodl/platform/trace-csv'
import { afterAll, describe, expect, it } from 'vitest'
import { longTests, someOf } from '../../../test/long-tests.js'
import type { Proof } from '../src/prove/proof.js'
import { type ProveOptions, prove } from '../src/prove/prove.js'
import { profileTable } from '../src/trace/trace-tables.js'

const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-prove-'))
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

const simulated = (gpu: string, board: { readonly mps?: 'off' } = {}) =>
  openSimulated({ gpu, board: { host: 'eager-pytorch-nchw', launch: 'graph', ...board } })

function proofIn(name: string, open: (mps: boolean) => Backend, options: Partial<ProveOptions> = {}): Promise<Proof> {
  const quiet = { signal: new AbortController().signal, note: () => {} }
  const defaults = { seed: 1, minutes: 9, mps: true, allowSettings: false, ...quiet }
  return prove(async (mps) => open(mps), { out: path.join(folder, name), ...defaults, ...options })
}

/** A board that does not live in this process, as far as resuming is concerned. */
const likeReal = (backend: Backend, more: Partial<Backend> = {}): Backend => ({
  ...backend,
  kind: 'nvml',
  livesInProcess: false,
  ...more,
})

/** A pool whose methods are those of another, but for some. */
function poolLike(pool: TenantPool, more: Partial<TenantPool>): TenantPool {
  return {
    apply: pool.apply.bind(pool),
    counters: pool.counters.bind(pool),
    stop: pool.stop.bind(pool),
    ...more,
  }
}

/** Linear between order statistics, as tables of percentiles have it. */
function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  const place = ((sorted.length - 1) * percent) / 100
  const below = Math.floor(place)
  return sorted[below]! + (place - below) * ((sorted[below + 1] ?? sorted[below]!) - sorted[below]!)
}

describe('a proof of a board', () => {
  it.each(someOf(['A100', 'H200'], 'H200'))(
    'is measured on a simulated %s in a few calls of some minutes, and its errors are those of an evaluation apart from it',
    async (gpu) => {
      const opened: Backend[] = []
      const open = () => {
        const backend = simulated(gpu)
        opened.push(backend)
        return backend
      }
      // Each fits the predictor anew where it has rows enough, which takes most of this test's time.
      const allowed = longTests ? [9, 9, 9] : [2, 24]
      const proofs: Proof[] = []
      for (const minutes of allowed) proofs.push(await proofIn(gpu, open, { minutes }))
      const lefts = proofs.map(({ left }) => left)
      expect(lefts).toEqual(lefts.toSorted((a, b) => b - a))
      expect(lefts[0]).toBeGreaterThan(0)
      expect(lefts.at(-1)).toBe(0)
      // Each goes through what the calls before it measured, and then measures for its minutes at most.
      const minutes = opened.map(({ clock }) => clock.now() / 60_000)
      for (const [i, most] of allowed.entries()) expect(minutes[i]! - (minutes[i - 1] ?? 0)).toBeLessThan(most + 1)
      expect(minutes.at(-1)).toBeLessThan(25)

      const { evaluation, sensorStep, skipped } = proofs.at(-1)!
      expect(skipped).toEqual([])
      expect(sensorStep!.average?.fromW).toBeGreaterThan(2 * sensorStep!.average!.toW)

      const read = (name: string) => readFileSync(path.join(folder, gpu, name), 'utf8')
      const rows = parseTraceCsv(read('fit.csv')).filter((row) => !row.failed)
      const unseen = parseTraceCsv(read('test.csv')).filter((row) => !row.failed)
      expect([rows.length, unseen.length]).toEqual([evaluation!.fitted, evaluation!.tested])
      expect(unseen.length).toBe(60)
      const { spec } = opened[0]!.gpu
      const model = new PerfModel(fitPerfModel(rows, spec, { source: 'another', starts: 1 }).parameters)
      const samples: number[] = []
      const watts: number[] = []
      let [within, withinPower, above] = [0, 0, 0]
      for (const { tenants, memClockMhz, throughput, powerAverageW } of unseen) {
        const clocks = spec.clockStates.find((state) => state.memClockMhz === memClockMhz)!.smClocksMhz
        const kept = clocks.filter(
          (smClockMhz) => model.predict({ tenants, smClockMhz, memClockMhz }).powerW <= spec.powerLimitW.default,
        )
        const configuration = { tenants, smClockMhz: Math.max(...kept), memClockMhz }
        const predicted = model.predict(configuration)
        const low = model.quantiles(configuration, [0.05])
        const high = model.quantiles(configuration, [0.95])
        samples.push((100 * Math.abs(predicted.throughput - throughput)) / throughput)
        watts.push((100 * Math.abs(predicted.powerW - powerAverageW)) / powerAverageW)
        if (low.throughput[0]! <= throughput && throughput <= high.throughput[0]!) within++
        if (low.powerW[0]! <= powerAverageW && powerAverageW <= high.powerW[0]!) withinPower++
        if (powerAverageW > high.powerW[0]!) above++
      }
      const figures = [
        [percentile(samples, 50), percentile(samples, 95), (100 * within) / 60],
        [percentile(watts, 50), percentile(watts, 95), (100 * withinPower) / 60],
      ]
      // The files hold fewer digits than the rows in memory had.
      const printed = [evaluation!.throughput, evaluation!.power].map((errors) => Object.values(errors) as number[])
      for (const [i, values] of printed.entries()) {
        for (const [j, value] of values.entries()) expect(value).toBeCloseTo(figures[i]![j]!, 2)
      }
      expect(evaluation!.plansAtRisk).toBe(above)
      const page = read('proof.md')
      for (const [i, name] of ['throughput', 'power'].entries()) {
        const [median, p95, covered] = figures[i]!
        expect(page).toContain(
          `| ${name} | ${median!.toFixed(2)} % | ${p95!.toFixed(2)} % | ${covered!.toFixed(1)} % |`,
        )
      }
      expect(page).toMatch(/\| gemm_8192 \| \d+\.\d \|/)
    },
    1_200_000,
  )

  it('says what is missing where no process can infer, and measures it once one can', async () => {
    const withoutTorch = () => {
      const backend = simulated('A100')
      const pool = backend.tenants
      const counters = () =>
        pool.counters().map((c) => ({ ...c, state: 'failed' as const, failure: 'this worker needs PyTorch' }))
      return likeReal(backend, { tenants: poolLike(pool, { counters }) })
    }
    const first = await proofIn('torch', withoutTorch)
    expect(first.rows.map(({ sweep, status }) => [sweep, status])).toEqual([['static', 'ok']])
    expect(first.skipped).toEqual([{ rows: first.planned - 1, because: 'this worker needs PyTorch' }])
    expect(first.notEvaluated).toMatch(/too few/)
    const second = await proofIn('torch', () => likeReal(simulated('A100')), { minutes: 2 })
    expect(second.skipped).toEqual([])
    expect(second.rows.length).toBeGreaterThan(5)
    expect(second.left).toBe(second.planned - second.rows.length)
  })

  it('measures what one tenant does where there is no MPS daemon', async () => {
    const open = (mps: boolean) => {
      if (!mps) return likeReal(simulated('A100', { mps: 'off' }))
      const backend = simulated('A100')
      const apply = async () => {
        throw new PctodlError('NO_MPS', 'nvidia-cuda-mps-control was not found')
      }
      return likeReal(backend, { tenants: poolLike(backend.tenants, { apply }) })
    }
    const proof = await proofIn('mps', open)
    expect(new Set(proof.rows.map(({ sweep }) => sweep))).toEqual(new Set(['static', 'micro', 'single']))
    expect(proof).toMatchObject({ left: 0, preflight: { mps: { works: false }, tenants: { works: true } } })
    expect(proof.skipped).toEqual([
      { rows: proof.planned - proof.rows.length, because: 'no MPS: nvidia-cuda-mps-control was not found' },
    ])
    expect(await proofIn('mps', () => likeReal(simulated('A100')), { minutes: 1 })).toMatchObject({ skipped: [] })
  })

  it('goes on where the first process starts slowly', async () => {
    const backend = simulated('A100')
    let calls = 0
    const apply: TenantPool['apply'] = (tenants) =>
      ++calls === 1 ? Promise.reject(new DOMException('', 'TimeoutError')) : backend.tenants.apply(tenants)
    const open = () => likeReal(backend, { tenants: poolLike(backend.tenants, { apply }) })
    const proof = await proofIn('slow', open, { minutes: 1 })
    expect(proof.preflight.mps).toMatchObject({ works: true, because: expect.stringMatching(/rows will be tried/) })
    expect(proof.rows.length).toBeGreaterThan(1)
  })

  it('keeps rows where the driver hides processes, and marks them', async () => {
    const open = () =>
      likeReal(simulated('A100'), {
        occupancy: () => ({ processes: [], tenants: [{ pid: 5, device: 'NVIDIA A100', isOnBoard: null }] }),
      })
    const proof = await proofIn('pids', open, { minutes: 2 })
    expect(proof.preflight.pids).toMatchObject({ works: false })
    expect(proof.rows.slice(1).every(({ status, failed }) => status === 'unknown' && !failed)).toBe(true)
    expect(proof.rows.length).toBeGreaterThan(5)
  })

  it('measures failed rows again', async () => {
    const crashing = () => {
      const backend = simulated('A100')
      const pool = backend.tenants
      const counters = () =>
        pool
          .counters()
          .map((c) =>
            c.tenant.model === 'stream_copy' ? { ...c, state: 'failed' as const, failure: 'it crashed' } : c,
          )
      return likeReal(backend, { tenants: poolLike(pool, { counters }) })
    }
    const statusIn = ({ rows }: Proof) => rows.find(({ tenants }) => tenants[0]?.model === 'stream_copy')?.status
    // Without MPS there are few rows.
    const few = { mps: false, minutes: 1.5 }
    expect(statusIn(await proofIn('again', crashing, few))).toBe('crashed')
    const whole = await proofIn('again', () => likeReal(simulated('A100')), { ...few, minutes: 9 })
    expect(statusIn(whole)).toBe('ok')
    // First came what had never been tried.
    const lines = profileTable.parse(readFileSync(path.join(folder, 'again', 'rows.csv'), 'utf8'))
    expect(lines.filter(({ tenants }) => tenants[0]!.model === 'stream_copy')).toHaveLength(2)
    expect(lines.at(-1)!.tenants[0]!.model).toBe('stream_copy')
    expect(lines.at(-2)!.sweep).toBe('single')
  })

  it('changes no setting unless that is allowed, and then puts it back', async () => {
    const refusing = simulated('A100')
    refusing.gpu.acquire = () => Promise.reject(new PctodlError('NOT_ALLOWED', 'nobody may change it'))
    const proof = await proofIn('default', () => refusing, { minutes: 1 })
    expect(proof.preflight.settings.works).toBe(false)
    expect(proof.rows.every(({ targetSmClockMhz }) => targetSmClockMhz === null)).toBe(true)

    const board = simulated('A100')
    const allowed = await proofIn('allowed', () => board, { minutes: 5, allowSettings: true })
    expect(allowed.rows.some(({ targetSmClockMhz }) => targetSmClockMhz !== null)).toBe(true)
    await (await board.gpu.acquire()).release()
    expect(existsSync(path.join(folder, 'allowed', 'proof.md'))).toBe(true)
  })
})
