import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { loadPerfModel } from '@pctodl/perf-model'
import { pctodlRun } from '@pctodl/run/commands'
import { afterAll, describe, expect, it } from 'vitest'
import { readRecord } from '../site/run/read-record.js'
import { policyNames, type RunQuestion } from '../site/run/run-question.js'
import { SimulatedRun } from '../site/run/simulated-run.js'
import { runCommands, scheduleFile } from '../site/run/written-run.js'

const folder = mkdtempSync(path.join(tmpdir(), 'playground-run-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const question: RunQuestion = {
  board: '3080Ti',
  model: 'resnet50',
  caps: [
    { powerCapW: 220, atS: 0 },
    { powerCapW: 160, atS: 12.5 },
  ],
  policies: policyNames,
  seed: 4,
  durationS: 30,
  disturbances: [],
}

/** What `pctodl run` makes of a command as the page shows it, and its log. */
async function byCommand(command: string) {
  const schedule = scheduleFile(question)!
  writeFileSync(path.join(folder, schedule.name), schedule.text)
  const argv = command
    .split(' ')
    .slice(3)
    .map((word) => (word === schedule.name ? path.join(folder, word) : word))
  let stdout = ''
  const log = path.join(folder, 'run.csv')
  const code = await pctodlRun([...argv, '--json', '--log-file', log], {
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: () => {} },
    signal: new AbortController().signal,
    env: {},
  })
  expect(code).toBe(0)
  return { ...JSON.parse(stdout), log: readFileSync(log.replace('.csv', '.events.jsonl'), 'utf8') }
}

/** Run a policy as the page does, `stepMs` of the run at a time. */
async function byPage(asked: RunQuestion, policy: RunQuestion['policies'][number], stepMs: number) {
  const run = new SimulatedRun(asked, policy, loadPerfModel(asked.board))
  let over = false
  const outcome = run.run(new AbortController().signal).finally(() => {
    over = true
  })
  for (let untilMs = stepMs; !over; untilMs += stepMs) {
    run.allow(untilMs)
    while (!over && run.timeMs + 100 < untilMs) await new Promise(setImmediate)
    await new Promise(setImmediate)
  }
  return { ...(await outcome), record: run.record(), frame: run.frame()! }
}

describe('a run in the page', () => {
  it.each(runCommands(question).split('\n'))('is that of %s, to the last digit and event', async (command) => {
    const policy = policyNames.find((name) => command.includes(`--algorithm ${name} `))!
    const expected = await byCommand(command)
    const page = await byPage(question, policy, 700)
    expect(page.record).toBe(expected.log)
    expect(JSON.parse(JSON.stringify(page.evaluation))).toEqual(expected.evaluation)
  })

  it('is the same whatever its pace, and when disturbances come while it runs', async () => {
    const disturbed: RunQuestion = {
      ...question,
      disturbances: [
        { kind: 'kill', atS: 8.3 },
        { kind: 'bias', atS: 15 },
      ],
    }
    const inAdvance = await byPage(disturbed, 'pctodl', 30_000)
    const run = new SimulatedRun({ ...question, caps: question.caps.slice(0, 1) }, 'pctodl', loadPerfModel('3080Ti'))
    const outcome = run.run(new AbortController().signal)
    const until = async (timeMs: number) => {
      run.allow(timeMs)
      while (run.timeMs < timeMs - 100) await new Promise(setImmediate)
    }
    await until(6000)
    run.changeCaps(question.caps)
    run.disturb({ kind: 'kill', atS: 8.3 })
    await until(14_000)
    run.disturb({ kind: 'bias', atS: 15 })
    run.allow(Number.POSITIVE_INFINITY)
    await outcome
    // The first event says which caps were known when it began.
    const withoutStart = (record: string) => record.slice(record.indexOf('\n'))
    expect(withoutStart(run.record())).toBe(withoutStart(inAdvance.record))
    expect(inAdvance.record).toContain('"state":"failed"')
  })

  it('reads its record back, and one of the matrix, and says what is wrong with others', async () => {
    const { record, frame, evaluation } = await byPage({ ...question, durationS: 10 }, 'powercap', 10_000)
    const opened = readRecord('mine.events.jsonl', record)
    expect(opened).toMatchObject({ policy: 'powercap', board: 'NVIDIA GeForce RTX 3080 Ti', frame })
    expect(opened.outcome.evaluation!.whole.throughput).toEqual(evaluation!.whole.throughput)
    const lines = record.trimEnd().split('\n')
    const broken = [...lines.slice(0, 3), lines[3]!.replace('"completed":', '"done":'), '']
    expect(() => readRecord('x.jsonl', broken.join('\n'))).toThrow('x.jsonl, line 4: completed')
    expect(() => readRecord('x.jsonl', lines.slice(1).join('\n'))).toThrow("'run-start', with which a record begins")
    expect(() => readRecord('x.jsonl', 'GPU,W\n')).toThrow('x.jsonl, line 1')

    const { readings, windows } = frame
    const column = (i: 0 | 1 | 2 | 3) => readings.map((reading) => reading[i])
    const matrix = JSON.stringify({
      recordVersion: 1,
      board: '3080Ti',
      algorithm: 'powercap',
      windows: windows.map(({ endMs, throughput }) => ({
        startMs: endMs - 5000,
        endMs,
        throughput,
        samples: throughput * 5,
        tenants: [],
      })),
      power: { timeMs: column(0), sensorW: column(1), powerCapW: column(2), smClockMhz: column(3) },
    })
    const cell = readRecord('cell.record.json', matrix)
    expect(cell.frame.windows).toEqual(windows)
    expect(cell.frame.readings.map(([, powerW]) => powerW)).toEqual(column(1))
    expect(() => readRecord('cell.json', '{"recordVersion":1}')).toThrow('cell.json')
  })
})
