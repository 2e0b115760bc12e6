/**
 * Worker program for a simulated host (`--worker pctodl-host-worker`). It attaches to the simulated board as `pctodl
 * sim tenant` does, and uses the worker protocol of `@pctodl/tenants`. It reports the sample and batch counts of the
 * simulated process.
 */
import { writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { given } from '@pctodl/platform'
import { attachProcess } from '../attached-process.js'
import type { CountersReply } from '../control-protocol.js'
import type { MessageClient } from '../message-socket.js'

const now = () => Number(process.hrtime.bigint()) / 1e6
const send = (report: unknown) => writeSync(1, `${JSON.stringify(report)}\n`)
let drain: number | undefined
let asked: number | undefined
let batchSize = 0
let board: MessageClient | undefined

const input = createInterface({ input: process.stdin })
input.on('close', () => process.kill(process.pid, 'SIGKILL'))
input.on('line', (line) => {
  const command = JSON.parse(line)
  if (command.type === 'start') void work(command)
  else if (command.type === 'batch') {
    batchSize = command.batchSize
    void board?.request({ kind: 'batch-size', batchSize })
  } else if (command.type === 'report') asked = command.id
  else drain = command.id
})

function fail(reason: string, message: string, more = {}): never {
  send({ type: 'failed', reason, message, ...more })
  process.exit(1)
}

async function work(start: { model: string; batchSize: number }): Promise<void> {
  batchSize = start.batchSize
  const { model } = start
  // Tests set this variable to simulate a worker that uses the wrong board.
  const place = { name: model, model, batchSize, gpu: process.env['PCTODL_TEST_GPU'] ?? '0' }
  const { client, attached } = await attachProcess(process.env, place).catch(({ message }) => fail('error', message))
  board = client
  send({ type: 'hello', version: 1, runtime: 'simulated process', device: `${attached.mpsPercent} % of the SMs` })
  setInterval(() => send({ type: 'heartbeat', atMs: now() }), 100)
  let ready = false
  let before = { batches: 0, latencySumMs: 0 }
  let completedMs = 0
  for (;;) {
    const counters = await client.request<CountersReply>({ kind: 'counters' })
    if (counters.state === 'failed') {
      const message = (counters.failure ?? '').replace('out of memory: ', '')
      if (counters.failureKind === 'out-of-memory') fail('out-of-memory', message, { batchSize })
      fail('error', counters.failure ?? 'it failed')
    }
    if (counters.state === 'running' && !ready) {
      ready = true
      completedMs = now()
      send({ type: 'ready', atMs: completedMs })
    }
    const batches = counters.batches - before.batches
    if (batches > 0) completedMs = now()
    const latency = (counters.latencySumMs - before.latencySumMs) / batches
    if (batches > 0 || asked !== undefined || drain !== undefined) {
      send({
        type: 'progress',
        samples: counters.samples,
        batches: counters.batches,
        latencySumMs: counters.latencySumMs,
        lastCompletionMs: completedMs,
        batchSize: counters.lastBatchSize || batchSize,
        latenciesMs: Array(batches).fill(latency),
        ...given({ id: asked }),
      })
      asked = undefined
      before = counters
    }
    if (drain !== undefined) {
      send({ type: 'drained', id: drain })
      process.exit(0)
    }
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
