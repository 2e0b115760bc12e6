/** How long it takes from SIGSTOP of a worker until the pool has noticed and it is gone. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { commandWorker, InferencePool, syntheticImages } from '@pctodl/tenants'

const TRIES = 20
const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-notice-'))
const program = path.resolve(import.meta.dirname, '../test/scripted-worker.mjs')
const worker = commandWorker([process.execPath, program], { options: { perSampleMs: 5 } })
const pool = new InferencePool({ worker, images: await syntheticImages({ folder, count: 1 }), backOffMs: 50 })
const tookMs: number[] = []
try {
  for (let i = 0; i < TRIES; i++) {
    // Anew each time, so that no wait grows; at another phase of the heartbeat.
    await pool.apply([{ model: `network ${i}`, mpsPercent: 50, batchSize: 2 }])
    await pause(300 + 37 * (i % 5))
    const before = pool.ended().length
    process.kill(pool.pids()[0]!, 'SIGSTOP')
    const startedMs = performance.now()
    while (pool.ended().length === before) await pause(2)
    tookMs.push(performance.now() - startedMs)
  }
} finally {
  await pool.stop()
  rmSync(folder, { recursive: true, force: true })
}
tookMs.sort((a, b) => a - b)
console.log(`median ${tookMs[TRIES / 2]!.toFixed(0)} ms, longest ${tookMs.at(-1)!.toFixed(0)} ms of ${TRIES}`)
