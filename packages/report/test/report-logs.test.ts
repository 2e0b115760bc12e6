import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { RunEvent, RunEventBody } from '@pctodl/scheduler'
import { afterAll, describe, expect, it } from 'vitest'
import { callCommand } from '../../../test/call-command.js'
import { parseRunEvents, recordOfEvents, reportContent, runsOfLogs, summarizeRun } from '../src/index.js'
import { markdownReport } from '../src/page/markdown-report.js'
import type { JudgedEvent } from '../src/record/judged-event.js'
import { pctodlReport } from '../src/report-logs.js'

const folder = mkdtempSync(path.join(tmpdir(), 'report-logs-'))
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

const start = {
  timeMs: 0,
  type: 'run-start',
  version: 1,
  board: 'A100',
  policy: 'mine',
  startedAt: '2026-01-01T00:00:00.000Z',
} as const
const end: JudgedEvent = { timeMs: 30_000, type: 'run-end', outcome: 'done' }

/** Half a minute at one power, ten readings a second, 20 samples a reading. */
function steady(powerAverageW: number | null, powerCapW = 150): JudgedEvent[] {
  return Array.from({ length: 300 }, (_, i) => ({
    timeMs: 100 * (i + 1),
    type: 'sample' as const,
    powerCapW,
    telemetry: { powerAverageW },
    completed: 20 * (i + 1),
  }))
}

const asText = (events: readonly unknown[]) => events.map((event) => `${JSON.stringify(event)}\n`).join('')

const call = (...argv: string[]) => callCommand('pctodl report', pctodlReport, argv)

describe('a log', () => {
  it('may describe actions in a form of its own', () => {
    const action = { timeMs: 30_000, type: 'action', action: { tenants: 3 } }
    const events = parseRunEvents(asText([start, ...steady(140), action, end]), 'a.jsonl')
    expect(recordOfEvents(events)).toEqual(recordOfEvents([start, ...steady(140), end]))
  })

  it('of a start and samples is enough to judge a run', () => {
    const record = recordOfEvents([start, ...steady(140), end])
    expect(record.windows.map(({ startMs, endMs }) => [startMs, endMs])).toEqual(
      Array.from({ length: 6 }, (_, i) => [5000 * i, 5000 * (i + 1)]),
    )
    expect(record.windows[1]).toMatchObject({ throughput: 200, samples: 1000, powerAverageW: 140, reconfigured: false })
    expect(record.windows[1]!.startedAt.toISOString()).toBe('2026-01-01T00:00:05.000Z')
    expect(summarizeRun(record)).toMatchObject({
      algorithm: 'mine',
      capW: 150,
      throughput: 200,
      powerSource: 'sensor',
      energyPerSampleJ: 0.7,
      verdict: { status: 'holds' },
      notes: [],
    })
    expect(summarizeRun(recordOfEvents([start, ...steady(160), end])).verdict.status).toBe('violates')
    expect(summarizeRun(recordOfEvents([start, ...steady(null), end])).verdict.status).toBe('unknown')
  })

  it('may have windows of its own, and says which networks it served', () => {
    const window = {
      iteration: 1,
      startMs: 0,
      endMs: 7000,
      powerCapW: 150,
      powerAverageW: 139,
      powerMaxW: 141,
      smClockMhz: 900,
      memClockMhz: 1215,
      smUtilPercent: 90,
      memUtilPercent: 40,
      throughput: 321,
      samples: 2247,
      tenants: ['resnet50', 'vgg19', 'resnet50'].map((model) => ({
        tenant: { model, mpsPercent: 30, batchSize: 8 },
        throughput: 107,
        latencyMs: 12,
        failure: null,
      })),
      applied: { tenants: [], smClockMhz: 900, memClockMhz: 1215, powerLimitW: 250 },
      reconfigured: false,
    }
    // A whole `RunEvent` of the scheduler is an event that can be judged.
    const body: RunEventBody = { type: 'window', window }
    const event: RunEvent = { timeMs: 7000, ...body }
    const record = recordOfEvents([start, ...steady(140), event, end])
    expect(record.windows).toHaveLength(1)
    expect(record.windows[0]).toMatchObject({ throughput: 321, samples: 2247 })
    expect(record.model).toBe('resnet50+vgg19')
  })

  it('leaves its last line out where that is not whole, and says that it breaks off', () => {
    const text = `${asText([start, ...steady(140)])}{"timeMs":30100,"type":"sam`
    const record = recordOfEvents(parseRunEvents(text, 'log'))
    expect(record.durationMs).toBe(30_000)
    expect(record.notes).toEqual(['its log breaks off'])
  })

  it('says what failed', () => {
    const failed: JudgedEvent = { timeMs: 9, type: 'tenant', state: 'failed', failure: 'out of memory' }
    const { notes } = recordOfEvents([
      start,
      failed,
      ...steady(140),
      { ...end, outcome: 'failed', message: 'no board' },
    ])
    expect(notes).toEqual(['a tenant failed: out of memory', 'failed: no board'])
  })

  it.each([
    ['no JSON', 'x\n', "log, line 1: got 'x'"],
    ['another version', asText([{ ...start, version: 2 }]), 'log, line 1: version'],
    ['a start without a date', asText([{ ...start, startedAt: 'today' }]), 'log, line 1: startedAt'],
    ['an unknown event', asText([start, { timeMs: 1, type: 'guess' }]), 'log, line 2: type'],
    ['a sample without power', asText([start, { ...steady(1)[0], telemetry: {} }]), 'line 2: telemetry.powerAverageW'],
    ['no sample', asText([start, end]), 'expected at least one sample'],
    ['no start', asText([end]), "expected 'run-start'"],
    ['time that goes back', asText([start, ...steady(1).reverse()]), 'sample 2: timeMs: got 29900'],
  ])('that is none is refused: %s', (_, text, message) => {
    expect(() => recordOfEvents(parseRunEvents(text, 'log'))).toThrow(message)
  })
})

describe('logs as a report', () => {
  it('puts runs under the same caps side by side and takes second ones for repetitions', () => {
    const caps = [{ atMs: 0, powerCapW: 120 }]
    const runs = runsOfLogs([
      { events: [start, ...steady(140), end] },
      { algorithm: 'other', events: [start, ...steady(130), end] },
      { events: [start, ...steady(144), end] },
      // What was to hold counts, not what was reached of it.
      { events: [{ ...start, caps: [...caps, { atMs: 9e9, powerCapW: 90 }] }, ...steady(115, 120)] },
    ])
    expect(runs.map(({ task, summary, repetition }) => [task.id, summary.algorithm, repetition])).toEqual([
      [1, 'mine', 1],
      [1, 'other', 1],
      [1, 'mine', 2],
      [2, 'mine', 1],
    ])
    expect(runs[3]!.task).toMatchObject({ capsW: [120, 90], stem: 'A100_2_unnamed-network_unnamed-data' })
    const content = reportContent({ runs })
    const markdown = markdownReport(content, { pictures: false })
    expect(markdown).toMatch(/\| mine \| 200\.0 \| range 200\.0 to 200\.0 \|.*\n\| other \| 200\.0 \| - \|/)
    expect(markdown).toContain("Power: readings of the board's sensor.")
  })

  it('show names and messages of other programs as they are, and nothing where no power is known', () => {
    const start = {
      timeMs: 0,
      type: 'run-start',
      version: 1,
      board: 'A100',
      policy: '<i>|\n# x',
      startedAt: '',
    } as const
    const sample = { type: 'sample', powerCapW: 150, telemetry: { powerAverageW: null } } as const
    const events: JudgedEvent[] = [
      start,
      ...Array.from({ length: 300 }, (_, i) => ({ ...sample, timeMs: 100 * (i + 1), completed: i })),
      { timeMs: 30_000, type: 'run-end', outcome: 'failed', message: '<script>\n\n# y' },
    ]
    const markdown = markdownReport(reportContent({ runs: runsOfLogs([{ events }]) }), { pictures: false })
    expect(markdown).toMatch(/^\| &lt;i>\\\| # x \|[ .\d|-]*\| unknown \|$/m)
    expect(markdown).toContain('failed: &lt;script>  # y')
    expect(markdown).not.toContain('excess, J')
  })

  it('are set by one command', async () => {
    const logs = [140, 160].map((powerW) => {
      const file = path.join(folder, `${powerW}.events.jsonl`)
      writeFileSync(file, asText([start, ...steady(powerW), end]))
      return file
    })
    const out = path.join(folder, 'out')
    writeFileSync(path.join(folder, 'cut'), asText([start, ...steady(130)]))
    const cut = `cut=${path.join(folder, 'cut')}`
    const { code, stdout, stderr } = await call(logs[0]!, `hot=${logs[1]}`, cut, '--out', out, '--json')
    expect(stderr).toBe('')
    expect(code).toBe(0)
    expect(JSON.parse(stdout).files).toContain(path.join(out, 'index.html'))
    const markdown = readFileSync(path.join(out, 'report.md'), 'utf8')
    expect(markdown).toMatch(/\| mine \| 200\.0 \|.*\| holds \|/)
    expect(markdown).toMatch(/\| hot \| 200\.0 \|.*\| VIOLATES \|/)
    expect(markdown).toMatch(/\n- hot: 1 s average more than 1 % above the cap/)
    expect(markdown).toContain('\n- cut: its log breaks off\n')
    expect(markdown).toContain('Made by mine on A100, begun 2026-01-01T00:00:00.000Z.')
  })

  it('stay in their folders, whatever a log calls its board', async () => {
    const logs = [140, 160].map((powerW) => {
      const file = path.join(folder, `outside ${powerW}.jsonl`)
      const about = { dataset: `${powerW}` }
      writeFileSync(file, asText([{ ...start, board: '../../evil', about }, ...steady(powerW), end]))
      return file
    })
    const out = path.join(folder, 'deep/in')
    const { stdout } = await call(...logs, '--out', out, '--pictures', '--json')
    const { files } = JSON.parse(stdout) as { files: string[] }
    expect(files.filter((file) => !file.startsWith(out + path.sep))).toEqual([])
    expect(files).toContain(path.join(out, '..-..-evil_algorithms.csv'))
    expect(new Set(files.map((file) => path.extname(file)))).toEqual(
      new Set(['.html', '.md', '.csv', '.svg', '.png', '.pdf']),
    )
    const markdown = readFileSync(path.join(out, 'report.md'), 'utf8')
    const pictures = [...markdown.matchAll(/\]\((charts\/[^)]+)\)/g)].map(([, picture]) => path.join(out, picture!))
    expect(pictures).toHaveLength(3)
    expect(files).toEqual(expect.arrayContaining(pictures))
  })

  it.each([
    ['no log', [], 2, "missing required argument 'logs'"],
    ['no such file', ['nowhere.jsonl'], 2, 'nowhere.jsonl: not a file that can be read'],
    ['an empty log', [path.join(folder, 'empty')], 1, "begins with 'run-start'"],
  ])('%s is answered with a line', async (_, argv, code, message) => {
    writeFileSync(path.join(folder, 'empty'), '')
    expect(await call(...argv)).toEqual({ code, stdout: '', stderr: expect.stringContaining(message) })
  })
})
