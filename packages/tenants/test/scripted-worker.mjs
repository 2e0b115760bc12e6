/**
 * A worker of the tests that speaks the protocol and needs no model: batches of a fixed time per sample. Its options say how it
 * behaves: perSampleMs, memoryBatch (largest batch that fits), prepareMs (once for each batch size), dieAfterBatches, hangAfterBatches, stallAfterBatches
 * and stallMs (heartbeats go on), fallAfterBatches, garbage, loadMs, eventLog, speaks (the version that it says it speaks),
 * answersTwice, readyAfterFailing (it says that it has failed, and then that it is ready), strayMs (a child that holds its output
 * open for so long).
 */
import { spawn } from 'node:child_process'
import { appendFileSync, writeSync } from 'node:fs'
import { createInterface } from 'node:readline'

const now = () => Number(process.hrtime.bigint()) / 1e6
const send = (report) => writeSync(1, `${JSON.stringify(report)}\n`)
let start
let batchSize
let prepared
let completed
let drain
let silent = false
const counters = { samples: 0, batches: 0, latencySumMs: 0, lastCompletionMs: 0 }
let latenciesMs = []
const asked = []
let wake

function report(id) {
  send({ type: 'progress', ...counters, batchSize: completed, latenciesMs, ...(id === undefined ? {} : { id }) })
  latenciesMs = []
  const { samples, batches } = counters
  if (start.logFile) appendFileSync(start.logFile, `${JSON.stringify({ samples, batches })}\n`)
}

function note(what, pid = process.pid) {
  const { model, mpsPercent, options } = start
  if (options.eventLog)
    appendFileSync(options.eventLog, `${JSON.stringify({ what, model, mpsPercent, atMs: now(), pid })}\n`)
}

function end(code) {
  note('end')
  process.exit(code)
}

const input = createInterface({ input: process.stdin })
input.on('close', () => process.exit(0))
input.on('line', (line) => {
  const command = JSON.parse(line)
  if (command.type === 'start') begin(command)
  else if (command.type === 'batch') batchSize = command.batchSize
  else if (command.type === 'report') report(command.id)
  else if (command.type === 'run') {
    asked.push(command)
    wake?.()
  } else {
    drain = command.id
    wake?.()
  }
})
setInterval(() => silent || send({ type: 'heartbeat', atMs: now() }), 100)

function begin(command) {
  start = command
  batchSize = command.batchSize
  completed = batchSize
  note('start')
  send({ type: 'hello', version: start.options.speaks ?? start.version, runtime: 'scripted', device: 'none' })
  if (start.options.garbage) writeSync(1, `${start.options.garbage}\n`)
  if (start.options.strayMs) {
    const stray = `setTimeout(() => {}, ${start.options.strayMs})`
    const { pid } = spawn(process.execPath, ['-e', stray], { stdio: ['ignore', 'inherit', 'inherit'] })
    note('stray', pid)
  }
  if (start.options.readyAfterFailing) {
    const failed = { type: 'failed', reason: 'error', message: 'no board' }
    writeSync(1, `${JSON.stringify(failed)}\n${JSON.stringify({ type: 'ready', atMs: now() })}\n`)
  }
  setTimeout(() => {
    if (!fits()) return
    counters.lastCompletionMs = now()
    send({ type: 'ready', atMs: counters.lastCompletionMs })
    next()
  }, start.options.loadMs ?? 0)
}

function fits() {
  const { memoryBatch = Number.POSITIVE_INFINITY } = start.options
  if (batchSize <= memoryBatch) return true
  let largest = Math.floor(batchSize / 2)
  while (largest > memoryBatch) largest = Math.floor(largest / 2)
  send({
    type: 'failed',
    reason: 'out-of-memory',
    message: `${start.model} at batch ${batchSize}`,
    batchSize,
    largestBatchSize: largest >= 1 ? largest : null,
  })
  end(1)
}

function next() {
  const {
    perSampleMs = 1,
    dieAfterBatches,
    hangAfterBatches,
    stallAfterBatches,
    stallMs,
    fallAfterBatches,
  } = start.options
  const onRequest = start.mode === 'on-request'
  if (onRequest && asked.length === 0 && drain === undefined) {
    wake = () => {
      wake = undefined
      next()
    }
    return
  }
  const run = asked.shift()
  if (run) batchSize = run.batchSize
  if (drain !== undefined && !run) {
    report(drain)
    send({ type: 'drained', id: drain })
    end(0)
  }
  if (!fits()) return
  const size = batchSize
  const prepareMs = size === prepared ? 0 : (start.options.prepareMs ?? 0)
  prepared = size
  const startedMs = now()
  setTimeout(
    () => {
      const atMs = now()
      completed = size
      counters.samples += run?.requests ?? size
      counters.batches++
      counters.latencySumMs += atMs - startedMs
      counters.lastCompletionMs = atMs
      latenciesMs.push(atMs - startedMs)
      report()
      if (counters.batches === dieAfterBatches) end(3)
      if (run && counters.batches !== stallAfterBatches) {
        const answer = { type: 'answered', id: run.id, atMs, batchMs: atMs - startedMs }
        send(answer)
        if (start.options.answersTwice) send(answer)
      }
      if (counters.batches === hangAfterBatches) {
        silent = true
        return
      }
      if (counters.batches === fallAfterBatches) {
        counters.samples = 0
        counters.batches = 0
      }
      if (counters.batches === stallAfterBatches) {
        if (stallMs !== undefined) setTimeout(next, stallMs)
        return
      }
      next()
    },
    prepareMs + perSampleMs * size,
  )
}
