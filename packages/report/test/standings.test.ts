import { describe, expect, it } from 'vitest'
import { textTable } from '../src/table/report-table.js'
import { headlineTable, standingsCaption, standingsTable } from '../src/table/standings-table.js'
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
    expect(found.outcomes).toMatchObject({ win: 1, tie: 0, loss: 1 })
    expect(found.ratio!.value).toBeCloseTo(Math.sqrt(1.1 * 0.8), 12)
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

  it('wins nothing where nobody else holds, or where nobody does', () => {
    const alone = only([run(1, 'pctodl', 1), run(1, 'morak', 9, 'violates')])
    expect(alone).toMatchObject({ rival: null, ratio: null, outcome: 'no-opponent' })
    expect(only([run(1, 'pctodl', 1, 'violates'), run(1, 'morak', 9, 'violates')]).outcome).toBe('nobody')
  })

  it('pairs repeated runs: differences between boards do not widen the range', () => {
    const boards = [100, 130, 160, 190]
    const runs = boards.flatMap((throughput, i) => [
      run(1, 'pctodl', throughput * (1.02 + 0.001 * (i % 2))),
      run(1, 'morak', throughput),
    ])
    const { ratio, outcome } = only(runs)
    expect(ratio!.value).toBeCloseTo(1.0205, 3)
    expect(ratio!.spread).toMatchObject({ kind: 'range', boards: 4 })
    expect(ratio!.spread!.low).toBeCloseTo(1.02, 9)
    expect(ratio!.spread!.high).toBeCloseTo(1.021, 9)
    expect(outcome).toBe('win')
  })

  it('ties where the range has 1 in it, however large the mean', () => {
    const factors = [0.9, 1.3, 0.95, 1.25]
    const runs = factors.flatMap((factor) => [run(1, 'pctodl', 100 * factor), run(1, 'morak', 100)])
    const { ratio, outcome } = only(runs)
    expect(ratio!.value).toBeCloseTo((0.9 * 1.3 * 0.95 * 1.25) ** 0.25, 10)
    expect(outcome).toBe('tie')
  })

  it('calls an interval what 16 boards give, by the t distribution over whole boards', () => {
    const factors = Array.from({ length: 16 }, (_, i) => (i % 2 === 0 ? 1.02 : 1.04))
    const runs = [1, 2, 3].flatMap((task) =>
      factors.flatMap((factor) => [run(task, 'pctodl', 100 * factor), run(task, 'morak', 100)]),
    )
    const found = standings(runs)!
    // However many tasks meet them: 16 boards.
    for (const { spread } of [found.ratio!, found.tasks[0]!.ratio!]) {
      expect(spread).toMatchObject({ kind: 'interval', boards: 16 })
      // log(1.04 / 1.02) / 2 = 0.009709; times sqrt(16 / 15), t(0.975, 15) = 2.1314, over 4.
      expect(Math.log(spread!.high / spread!.low) / 2).toBeCloseTo(0.005343, 5)
    }
  })

  it('chooses the opponent of a board by the other boards, among those that hold on it', () => {
    const boards = [
      { morak: 100, powercap: 99 },
      { morak: 100, powercap: 99 },
      { morak: 90, powercap: 99 },
    ]
    const runs = boards.flatMap(({ morak, powercap }) => [
      run(1, 'pctodl', 100),
      run(1, 'morak', morak),
      run(1, 'powercap', powercap),
    ])
    // On the third board the two others say morak, although powercap does more there.
    expect([...only(runs).rivals.values()]).toEqual(['powercap', 'powercap', 'morak'])
    const broken = runs.map((each) =>
      each.throughput === 90 ? { ...each, verdict: { status: 'violates' as const, reason: '' } } : each,
    )
    expect(only(broken).rivals.get('run 3')).toBe('powercap')
    expect(only(broken).outcome).not.toBe('no-opponent')
  })

  it('tells planning from control', () => {
    const { planning, control, ratio } = only([
      run(1, 'pctodl', 110),
      run(1, 'plan-limit-step', 105),
      run(1, 'plan-limit', 107),
      run(1, 'equal-split-step', 100),
    ])
    expect([planning!.value, control!.value, ratio!.value]).toEqual([1.05, 110 / 105, 110 / 107])
  })

  it('counts a missed latency as a broken cap, and knows who does not compete', () => {
    const late = { status: 'violates' as const, breaks: 'latency' as const, reason: 'late' }
    const found = standings([
      { ...run(1, 'pctodl', 90), set: 'latency' },
      { ...run(1, 'morak', 100), set: 'latency', verdict: late },
      { ...run(1, 'equal-split', 60), set: 'latency' },
      { ...run(1, 'static-best', 120), set: 'latency' },
    ])!
    expect(found.tasks[0]).toMatchObject({ outcome: 'win', rival: { algorithm: 'equal-split' } })
    expect(textTable(headlineTable(found))).toMatch(
      /with a latency objective \| [^|]+ \| 1 \| +1 \/ 0 \/ 0 \| +1\.500 \|/,
    )
  })

  it('is nothing without the algorithm or without others', () => {
    expect(standings([run(1, 'morak', 1), run(1, 'powercap', 1)])).toBeUndefined()
    expect(standings([run(1, 'pctodl', 1), run(2, 'pctodl', 1)])).toBeUndefined()
    expect(standings([run(1, 'morak', 3), run(1, 'powercap', 1)], 'morak')).toMatchObject({
      subject: 'morak',
      outcomes: { win: 1 },
    })
  })

  it('says losses as plainly as wins', () => {
    const found = standings([
      run(6, 'pctodl', 90),
      run(6, 'equal-split', 100),
      run(7, 'pctodl', 9, 'violates'),
      run(7, 'morak', 5),
    ])!
    const text = textTable(standingsTable(found))
    expect(text).toMatch(/^[ -~\n]*$/)
    expect(text).toMatch(
      /6 resnet50 +\| +180 W \| +90\.0 \| +- \| +equal-split \| +100\.0 \| +- \| 0\.900 \|.* loss \|/,
    )
    expect(text).toMatch(/breaks the cap \| +- \| +morak \| +5\.0 \| +- \| +- \|.* loss \|/)
    expect(standingsCaption(found)).toContain('win 0, tie 0, loss 2; geometric mean of the ratios 0.900')
  })
})
