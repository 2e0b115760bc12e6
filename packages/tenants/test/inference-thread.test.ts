import { describe, expect, it } from 'vitest'
import type { StartCommand } from '../src/protocol/messages.js'
import { type InferenceThread, obeying } from '../src/worker/inference-program.js'
import {
  type FromInference,
  type InferencePort,
  inferOn,
  type LoadedModel,
  MissingRuntime,
  type ToInference,
} from '../src/worker/inference-thread.js'
import { OutOfMemory } from '../src/worker/memory-guard.js'

const free = { type: 'start', version: 1, model: 'a', batchSize: 8, logFile: 'log' } as unknown as StartCommand
const onRequest = { ...free, version: 2, mode: 'on-request', batchSizes: [1, 2, 8] } as unknown as StartCommand

/** A port whose other end is the test: what was said, and a promise of its end. */
class TestPort implements InferencePort {
  readonly said: FromInference[] = []
  tell: (message: ToInference) => void = () => {}
  #told = () => {}

  on(_: 'message', listener: (message: ToInference) => void): void {
    this.tell = listener
  }

  postMessage(message: FromInference): void {
    this.said.push(message)
    this.#told()
  }

  /** Until so many messages of a kind were said. */
  async heard(kind: FromInference['kind'], count = 1): Promise<void> {
    while (this.said.filter((message) => message.kind === kind).length < count) {
      await new Promise<void>((resolve) => {
        this.#told = resolve
      })
    }
  }

  get kinds(): string[] {
    return this.said.map(({ kind }) => kind)
  }
}

/** A model that takes two milliseconds a batch, and what it ran. */
function model(run: (batchSize: number) => void = () => {}): LoadedModel & { readonly ran: number[] } {
  const ran: number[] = []
  return {
    runtime: 'test 1',
    device: 'cpu',
    note: 'slow',
    ran,
    run: async (batchSize) => {
      ran.push(batchSize)
      run(batchSize)
      await new Promise((resolve) => setTimeout(resolve, 2))
    },
  }
}

describe('the thread for inference', () => {
  it('says what it infers with, tries a batch that nobody waits for, and runs one after the other until it is told to stop', async () => {
    const port = new TestPort()
    const loaded = model()
    const ended = inferOn(port, free, async () => loaded)
    await port.heard('completed')
    port.tell({ kind: 'batch', batchSize: 4 })
    await port.heard('completed', 3)
    port.tell({ kind: 'stop' })
    await ended
    expect(port.said.slice(0, 2)).toEqual([
      { kind: 'hello', runtime: 'test 1', device: 'cpu', note: 'slow' },
      { kind: 'ready', batchSize: 8 },
    ])
    expect(port.said.at(-1)).toEqual({ kind: 'stopped' })
    const completed = port.said.filter((message) => message.kind === 'completed')
    expect(completed.map(({ samples }) => samples)).toEqual(loaded.ran.slice(1))
    expect(completed.at(-1)!.samples).toBe(4)
    for (const { batchMs, atMs } of completed) {
      expect(batchMs).toBeGreaterThan(0)
      expect(batchMs).toBeLessThan(atMs)
    }
  })

  it('tries every size of those it may be asked for, and answers what it is asked', async () => {
    const port = new TestPort()
    const loaded = model()
    const ended = inferOn(port, onRequest, async () => loaded)
    await port.heard('ready')
    expect(loaded.ran).toEqual([1, 2, 8])
    port.tell({ kind: 'run', id: 5, requests: 2, batchSize: 2 })
    await port.heard('answered')
    port.tell({ kind: 'run', id: 6, requests: 7, batchSize: 8 })
    // What was asked before is done before it stops.
    port.tell({ kind: 'stop' })
    await ended
    expect(port.kinds).toEqual(['hello', 'ready', 'answered', 'answered', 'stopped'])
    expect(port.said.slice(2, 4)).toMatchObject([
      { id: 5, requests: 2, batchSize: 2 },
      { id: 6, requests: 7, batchSize: 8 },
    ])
  })

  it('says what is missing, what went wrong, and which batch still fits', async () => {
    const failureOf = async (load: () => Promise<LoadedModel>) => {
      const port = new TestPort()
      await inferOn(port, free, load)
      return port.said.at(-1)
    }
    const failing = (error: Error) => () => Promise.reject(error)
    expect(await failureOf(failing(new MissingRuntime('npm install it')))).toEqual({
      kind: 'failed',
      failure: { type: 'failed', reason: 'missing', message: 'npm install it' },
    })
    expect(await failureOf(failing(new Error('no such file')))).toMatchObject({ failure: { reason: 'error' } })
    const small = model((batchSize) => {
      if (batchSize > 2) throw new OutOfMemory('is too large')
    })
    expect(await failureOf(async () => small)).toEqual({
      kind: 'failed',
      failure: {
        type: 'failed',
        reason: 'out-of-memory',
        message: 'a at batch 8 is too large',
        batchSize: 8,
        largestBatchSize: 2,
      },
    })
    expect(small.ran).toEqual([8, 4, 2])
  })
})

describe('the main thread of a worker', () => {
  function worker() {
    const told: unknown[][] = []
    const posted: ToInference[] = []
    const listeners: Record<string, (message: never) => void> = {}
    const noting = (name: string) =>
      ((...words: unknown[]) => {
        told.push([name, ...words])
      }) as never
    const names = ['logTo', 'hello', 'ready', 'completed', 'answered', 'report', 'drained', 'fail'] as const
    const side = Object.fromEntries(names.map((name) => [name, noting(name)])) as unknown as Parameters<
      typeof obeying
    >[0]
    const thread: InferenceThread = {
      on: (event: string, listener: (message: never) => void) => {
        listeners[event] = listener
      },
      postMessage: (message) => posted.push(message),
    }
    const obey = obeying(side, () => thread)
    const say = (message: FromInference) => listeners['message']!(message as never)
    return { obey, told, posted, say, error: (error: Error) => listeners['error']!(error as never) }
  }

  it('tells the pool what the thread says', () => {
    const { obey, told, say, error } = worker()
    obey(onRequest)
    say({ kind: 'hello', runtime: 'r', device: 'd', note: undefined })
    say({ kind: 'ready', batchSize: 8 })
    say({ kind: 'completed', samples: 8, batchMs: 3, atMs: 50 })
    say({ kind: 'answered', id: 4, requests: 6, batchSize: 8, batchMs: 3, atMs: 60 })
    say({ kind: 'failed', failure: { type: 'failed', reason: 'error', message: 'lost' } })
    error(new Error('it ended'))
    expect(told).toEqual([
      ['logTo', 'log'],
      ['hello', 'r', 'd', undefined],
      ['ready', 8],
      ['completed', 8, 3, 50],
      ['answered', 4, 6, 3, 60],
      ['fail', { type: 'failed', reason: 'error', message: 'lost' }],
      ['fail', { type: 'failed', reason: 'error', message: 'it ended' }],
    ])
  })

  it('passes on what concerns inference, and is drained when that has stopped', () => {
    const { obey, told, posted, say } = worker()
    obey(onRequest)
    obey({ type: 'batch', id: 1, batchSize: 4 })
    obey({ type: 'run', id: 2, requests: 3, batchSize: 4 })
    obey({ type: 'report', id: 3 })
    obey({ type: 'drain', id: 9 })
    expect(posted).toEqual([
      { kind: 'batch', batchSize: 4 },
      { kind: 'run', id: 2, requests: 3, batchSize: 4 },
      { kind: 'stop' },
    ])
    expect(told.slice(1)).toEqual([['report', 3]])
    say({ kind: 'stopped' })
    expect(told.at(-1)).toEqual(['drained', 9])
  })

  it('is drained at once before it has started, and runs nothing that it is not there for', () => {
    const { obey, told } = worker()
    const run = { type: 'run', id: 2, requests: 3, batchSize: 4 } as const
    expect(() => obey(run)).toThrow(/started on request/)
    obey({ type: 'drain', id: 9 })
    expect(told).toEqual([['drained', 9]])
    obey(free)
    expect(() => obey(run)).toThrow(/started on request/)
  })
})
