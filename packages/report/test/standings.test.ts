import { describe, expect, it } from 'vitest'
import { formatStandings } from '../src/table/summary-table.js'
import { type RunSummary, summarizeRun } from '../src/verdict/run-summary.js'
import { standings } from '../src/verdict/standings.js'
import { fixedSetting, manners, syntheticRun } from './synthetic-runs.js'

const template = summarizeRun(syntheticRun({ ...fixedSetting, durationMs: 20_000 }, manners[0]!))

function run(taskId: number, algorithm: string, throughput: number, status: RunSummary['verdict']['status'] = 'holds') {
  return { ...template, taskId, algorithm, throughput, verdict: { status, reason: 'made up' } }
}

/** The standing of one task. */
function only(runs: readonly RunSummary[]) {
  const [task] = standings(runs)!.tasks
  return task!
}

describe('standings', () => {
  it('sets pctodl against the fastest other one that holds, another one in each task', () => {
    const found = standings([
      run(1, 'pctodl', 110),
      run(1, 'morak', 100),
      run(1, 'powercap', 90),
      run(1, 'batchdvfs', 500, 'violates'),
      run(2, 'pctodl', 80),
      run(2, 'morak', 70),
      run(2, 'powercap', 100),
    ])!
    expect(found.tasks.map(({ rival, outcome }) => [rival?.algorithm, outcome])).toEqual([
      ['morak', 'win'],
      ['powercap', 'loss'],
    ])
    expect([found.wins, found.ties, found.losses]).toEqual([1, 0, 1])
    expect(found.throughputRatio).toBeCloseTo(Math.sqrt(1.1 * 0.8), 12)
  })

  it('calls half a percent a tie, either way', () => {
    expect(only([run(1, 'pctodl', 100.4), run(1, 'morak', 100)]).outcome).toBe('tie')
    expect(only([run(1, 'pctodl', 99.6), run(1, 'morak', 100)]).outcome).toBe('tie')
    expect(only([run(1, 'pctodl', 100.6), run(1, 'morak', 100)]).outcome).toBe('win')
    expect(only([run(1, 'pctodl', 99.4), run(1, 'morak', 100)]).outcome).toBe('loss')
  })

  it('counts a broken cap and a missing result as lost where another holds', () => {
    const broken = only([run(1, 'pctodl', 200, 'violates'), run(1, 'morak', 100)])
    expect(broken).toMatchObject({ ratio: null, outcome: 'loss' })
    const unknown = only([run(1, 'pctodl', 200, 'unknown'), run(1, 'morak', 100)])
    expect(unknown.outcome).toBe('loss')
    const found = standings([run(1, 'pctodl', 1), run(1, 'morak', 1), run(2, 'morak', 1)])!
    expect(found.tasks[1]).toMatchObject({ own: null, outcome: 'loss' })
  })

  it('wins where nobody else holds, and leaves open where nobody does', () => {
    expect(only([run(1, 'pctodl', 1), run(1, 'morak', 9, 'violates')])).toMatchObject({ rival: null, outcome: 'win' })
    expect(only([run(1, 'pctodl', 1, 'violates'), run(1, 'morak', 9, 'violates')]).outcome).toBe('open')
  })

  it('pairs repeated runs: differences between boards do not widen the interval', () => {
    const boards = [100, 130, 160, 190]
    const runs = boards.flatMap((throughput, i) => [
      run(1, 'pctodl', throughput * (1.02 + 0.001 * (i % 2))),
      run(1, 'morak', throughput),
    ])
    const { ratio, interval95, outcome } = only(runs)
    expect(ratio).toBeCloseTo(1.0205, 3)
    expect(interval95![0]).toBeGreaterThan(1.019)
    expect(interval95![1]).toBeLessThan(1.022)
    expect(outcome).toBe('win')
  })

  it('ties where the interval has 1 in it, however large the mean', () => {
    const factors = [0.9, 1.3, 0.95, 1.25]
    const runs = factors.flatMap((factor) => [run(1, 'pctodl', 100 * factor), run(1, 'morak', 100)])
    const { ratio, interval95, outcome } = only(runs)
    expect(ratio).toBeCloseTo(1.1, 10)
    expect(interval95![0]).toBeLessThan(1)
    expect(outcome).toBe('tie')
    // Unlike numbers of runs do not pair.
    expect(only(runs.slice(0, -1)).interval95).toBeNull()
  })

  it('draws whole boards for the interval of the mean over tasks', () => {
    // On board 2 every task is 4 % better: what differs between boards stays, however many tasks there are.
    const runs = [1, 2, 3, 4, 5, 6].flatMap((task) =>
      [1, 1.04, 1, 1.04].flatMap((factor) => [run(task, 'pctodl', 100 * factor), run(task, 'morak', 100)]),
    )
    const { throughputRatio, interval95 } = standings(runs)!
    expect(throughputRatio).toBeCloseTo(1.02, 3)
    expect(interval95![0]).toBeCloseTo(1, 6)
    expect(interval95![1]).toBeCloseTo(1.04, 6)
  })

  it('counts a missed latency as a broken cap, and knows who does not compete', () => {
    const late = { status: 'violates' as const, breaks: 'latency' as const, reason: 'late' }
    const found = standings([
      { ...run(1, 'pctodl', 90), set: 'latency' },
      { ...run(1, 'morak', 100), set: 'latency', verdict: late },
      { ...run(1, 'equal-split', 60), set: 'latency' },
      { ...run(1, 'static-best', 120), set: 'latency' },
    ])!
    expect(found.tasks[0]).toMatchObject({ outcome: 'win', rival: { algorithm: 'equal-split' }, overEqualSplit: 1.5 })
    const text = formatStandings(found, 'plain')
    expect(text).toMatch(
      /with a latency objective \| [^|]+ \| +1 \| +1 \| +0 \| +0 \| +1\.500 \| +- \| +1\.500 \(1\) \|/,
    )
  })

  it('is nothing without the algorithm or without others', () => {
    expect(standings([run(1, 'morak', 1), run(1, 'powercap', 1)])).toBeUndefined()
    expect(standings([run(1, 'pctodl', 1), run(2, 'pctodl', 1)])).toBeUndefined()
    expect(standings([run(1, 'morak', 3), run(1, 'powercap', 1)], 'morak')).toMatchObject({ subject: 'morak', wins: 1 })
  })

  it('says losses as plainly as wins', () => {
    const text = formatStandings(
      standings([
        run(6, 'pctodl', 90),
        run(6, 'equal-split', 100),
        run(7, 'pctodl', 9, 'violates'),
        run(7, 'morak', 5),
      ])!,
      'plain',
    )
    expect(text).toMatch(/^[ -~\n]*$/)
    expect(text).toMatch(
      /6 resnet50 +\| +180 W \| +90\.0 \| +- \| +equal-split \| +100\.0 \| +- \| 0\.900 \| +- \| +loss \|/,
    )
    expect(text).toMatch(/breaks the cap \| +- \| +morak \| +5\.0 \| +- \| +- \| +- \| +loss \|/)
    expect(text).toContain('0 wins, 0 ties, 2 losses; geometric mean of the ratios 0.900')
  })
})
