import { describe, expect, it } from 'vitest'
import { type ReportedRun, reportContent } from '../src/page/report-content.js'
import { textReport } from '../src/page/text-report.js'
import { algorithmTable } from '../src/table/algorithm-table.js'
import { textTable } from '../src/table/report-table.js'
import { rankRuns } from '../src/verdict/ranking.js'
import { type RunSummary, summarizeRun, taskKey } from '../src/verdict/run-summary.js'
import { fixedSetting, manners, syntheticRun } from './synthetic-runs.js'

const template = summarizeRun(syntheticRun({ ...fixedSetting, durationMs: 20_000 }, manners[0]!))

function summary(
  algorithm: string,
  throughput: number,
  status: RunSummary['verdict']['status'] = 'holds',
  rest: Partial<RunSummary> = {},
): RunSummary {
  return {
    ...template,
    algorithm,
    throughput,
    energyPerSampleJ: 100 / throughput,
    verdict: { status, reason: `because of ${algorithm}` },
    ...rest,
  }
}

const reported = (run: RunSummary): ReportedRun => ({
  task: { board: run.board, id: run.taskId, model: run.model, dataset: run.dataset, capsW: [180], stem: taskKey(run) },
  summary: run,
  repetition: 1,
  record: () => expect.fail('a text has no chart'),
  madeBy: 'a test',
})

const textOf = (runs: readonly RunSummary[], oracle?: number) =>
  textReport(
    reportContent({
      runs: runs.map(reported),
      ...(oracle === undefined ? {} : { oracle: { throughput: () => oracle, explanation: 'Made up.' } }),
    }),
  )

const task = [
  summary('morak', 900, 'violates', { timeAboveCapPercent: 17.97, steadyThroughput: null }),
  summary('powercap', 500),
  summary('pctodl', 800, 'holds', { notes: ['power limit raised \u2191 to 150 W'] }),
  summary('blind', 950, 'unknown', { timeAboveCapPercent: null, meanPowerW: null, peakPowerW: null }),
]

describe('ranking', () => {
  it('puts runs that hold first, then the unknown, then violating ones', () => {
    expect(rankRuns(task).map((run) => run.algorithm)).toEqual(['pctodl', 'powercap', 'blind', 'morak'])
  })
})

describe('the table of a task', () => {
  it('is plain ASCII with violations marked and explained', () => {
    const text = textOf(task)
    expect(text).toMatch(/^[ -~\n]*$/)
    const lines = text.split('\n')
    expect(lines).toContain('Task 20: resnet50 on imagenet, NVIDIA A100-PCIE-40GB, 180 W')
    const rowOf = (name: string) => lines.find((line) => line.startsWith(`| ${name} `))!
    expect(rowOf('morak')).toMatch(/900\.0 \| +- \|.* 17\.97 \|.* VIOLATES \|$/)
    expect(rowOf('pctodl')).toMatch(/holds \|$/)
    expect(rowOf('blind')).toMatch(/ unknown \|$/)
    expect(lines.indexOf(rowOf('pctodl'))).toBeLessThan(lines.indexOf(rowOf('morak')))
    expect(lines).toContain('morak: because of morak')
    expect(lines).toContain('pctodl: power limit raised ? to 150 W')
    expect(text).not.toContain('because of pctodl')
    expect(new Set(lines.filter((line) => /^[|+-]{2}|^\| /.test(line)).map((line) => line.length)).size).toBe(1)
    // No run of the task has a latency, an oracle or services.
    expect(text).not.toMatch(/p99|of oracle|attainment|shed/)
  })

  it('lets no control character of a note through to the terminal', () => {
    const text = textOf([summary('pctodl', 1, 'holds', { notes: ['a\u001B[2Jb'] })])
    expect(text).toContain('pctodl: a?[2Jb')
  })

  it('lets no control character of a name through to the terminal, even for many tasks', () => {
    const named = [1, 2, 3, 4, 5].map((taskId) => summary('mine\u001B[2J', 1, 'holds', { taskId, board: 'A\u001B[2J' }))
    for (const text of [textOf(named), textOf(named.slice(0, 2))]) expect(text).toMatch(/^[ -~\n]*$/)
  })

  it('of services shows the worst attainment, and the requests that were shed', () => {
    const service = { goodputPerS: 50, objectiveMet: true, p99Ms: 9, failed: 0 }
    const requests = {
      services: [
        { ...service, service: 'chat', attainment: 0.999, shed: 3 },
        { ...service, service: 'search', attainment: 0.95, shed: 4 },
      ],
      meanPowerW: 100,
      energyPerRequestJ: 1,
      maxLoad: 2.5,
    }
    expect(textOf([summary('pctodl', 100, 'holds', { requests })])).toMatch(
      /\| pctodl +\| +100\.0 \| +2\.50 \| +95\.00 % search \| +7 \|/,
    )
    const nothing = { requests: { ...requests, services: [] } }
    expect(textOf([summary('pctodl', 100, 'holds', nothing)])).toContain('| pctodl')
  })

  it('shows no figure where there is none, also for runs that completed nothing', () => {
    const nothing = { energyPerSampleJ: null, steadyThroughput: 0 }
    const runs = ['pctodl', 'powercap'].flatMap((name) =>
      [1, 2].map((taskId) => summary(name, 0, 'holds', { ...nothing, taskId })),
    )
    expect(textOf(runs, 0)).not.toMatch(/NaN|Infinity/)
  })

  it('of many tasks is that of the algorithms of each board', () => {
    const runs = [1, 2, 3, 4, 5].flatMap((taskId) => [
      summary('pctodl', 800, 'holds', { taskId }),
      summary('powercap', 400, 'holds', { taskId }),
    ])
    const text = textOf(runs)
    expect(text).toMatch(/^Against the best other algorithm of each task\n/)
    expect(text).toMatch(/\| pctodl +\| +5 \| +0 \| +5 \| +2\.000 \|/)
    expect(text).not.toContain('Task 1:')
    expect(textOf([])).toBe('')
  })
})

describe('the table of the algorithms', () => {
  const matrix = [
    summary('powercap', 100, 'holds', { taskId: 1 }),
    summary('powercap', 100, 'holds', { taskId: 2 }),
    summary('powercap', 100, 'violates', { taskId: 3 }),
    summary('pctodl', 200, 'holds', { taskId: 1 }),
    summary('pctodl', 800, 'holds', { taskId: 2 }),
    summary('pctodl', 5000, 'holds', { taskId: 3 }),
    summary('morak', 900, 'violates', { taskId: 1 }),
    summary('morak', 50, 'unknown', { taskId: 2 }),
  ]

  const rowOf = (runs: readonly RunSummary[], baseline: string, algorithm: string) =>
    algorithmTable(runs, baseline).rows.find(([name]) => name === algorithm)

  it('compares geometrically, over the tasks that both hold', () => {
    expect(rowOf(matrix, 'powercap', 'powercap')).toEqual(['powercap', '3', '1', '2', '1.000', '1.000'])
    expect(rowOf(matrix, 'powercap', 'pctodl')).toEqual(['pctodl', '3', '0', '2', '4.000', '0.250'])
    expect(rowOf(matrix, 'powercap', 'morak')).toEqual(['morak', '2', '1 (+ 1 unknown)', '0', '-', '-'])
  })

  it('gives the reciprocal when algorithm and baseline change places', () => {
    expect(rowOf(matrix, 'pctodl', 'powercap')).toEqual(['powercap', '3', '1', '2', '0.250', '4.000'])
  })

  it('knows the same task number on two boards apart', () => {
    const twoBoards = [...matrix, ...matrix.map((run) => ({ ...run, board: 'other' }))]
    expect(rowOf(twoBoards, 'powercap', 'pctodl')!.slice(1, 4)).toEqual(['6', '0', '4'])
  })

  it('is plain ASCII', () => {
    expect(textTable(algorithmTable(matrix, 'powercap'))).toMatch(/^[ -~\n]*$/)
  })
})
