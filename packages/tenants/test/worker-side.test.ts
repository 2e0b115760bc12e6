import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { parseReport, type Report } from '../src/protocol/messages.js'
import { WorkerSide } from '../src/worker/worker-side.js'
import { eventually } from './eventually.js'

describe('the worker’s end of the protocol', () => {
  let folder: string
  let output: number
  let side: WorkerSide
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'pctodl-worker-side-'))
    output = openSync(path.join(folder, 'output'), 'w')
    side = new WorkerSide(output)
  })
  afterEach(() => {
    closeSync(output)
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })

  const linesOf = (name: string) => readFileSync(path.join(folder, name), 'utf8').split('\n').slice(0, -1)
  const reports = (): Report[] => linesOf('output').map(parseReport)

  it('goes on without its log if the disk is full', () => {
    side.logTo('/dev/full')
    side.ready(16)
    side.completed(16, 5, 1)
    side.report()
    side.report()
    expect(reports().map(({ type }) => type)).toEqual(['ready', 'progress', 'progress'])
  })

  it('counts from zero at ready, with the batch size that it starts with', () => {
    side.ready(16)
    side.report()
    const [ready, progress] = reports()
    if (ready?.type !== 'ready') throw new Error(`got ${ready?.type}`)
    expect(progress).toEqual({
      type: 'progress',
      samples: 0,
      batches: 0,
      latencySumMs: 0,
      lastCompletionMs: ready.atMs,
      batchSize: 16,
      latenciesMs: [],
    })
  })

  it('adds batches up, names the command that asked, and tells each latency once', () => {
    side.ready(1)
    side.completed(8, 3.5, 1000)
    side.completed(4, 2, 2000)
    side.report(7)
    side.completed(4, 1, 3000)
    side.report()
    const [, first, second] = reports()
    expect(first).toEqual({
      type: 'progress',
      samples: 12,
      batches: 2,
      latencySumMs: 5.5,
      lastCompletionMs: 2000,
      batchSize: 4,
      latenciesMs: [3.5, 2],
      id: 7,
    })
    expect(second).toEqual({
      type: 'progress',
      samples: 16,
      batches: 3,
      latencySumMs: 6.5,
      lastCompletionMs: 3000,
      batchSize: 4,
      latenciesMs: [1],
    })
  })

  it('reports by itself soon after a batch, several of them in one line', async () => {
    side.completed(8, 3, 1000)
    side.completed(8, 3, 1003)
    expect(reports()).toEqual([])
    await eventually(() => reports().length > 0, 'it reports')
    expect(reports()).toMatchObject([{ samples: 16, batches: 2, latenciesMs: [3, 3] }])
    side.completed(8, 3, 1006)
    await eventually(() => reports().length > 1, 'it reports again')
    expect(reports()[1]).toMatchObject({ samples: 24, batches: 3, latenciesMs: [3] })
  })

  it('writes what it has counted into its own log, line by line, where it has one', () => {
    side.report()
    side.logTo(path.join(folder, 'log'))
    side.completed(8, 3, 1000)
    side.report()
    side.completed(2, 3, 1000)
    side.report()
    expect(linesOf('log').map((line) => JSON.parse(line))).toEqual([
      { samples: 8, batches: 1 },
      { samples: 10, batches: 2 },
    ])
    new WorkerSide(output).logTo(null)
  })
})
