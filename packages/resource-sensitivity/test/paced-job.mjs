// A training job that heeds the contract of the scheduler and goes as its profile says: `paced-job.mjs <profile.json>`.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'

const {
  PCTODL_CHECKPOINT: checkpoint,
  PCTODL_ITERATIONS: iterations,
  PCTODL_GPUS: gpus,
  PCTODL_CPUS: cpus,
} = process.env
const { cpusPerGpu, throughput, iterationS } = JSON.parse(readFileSync(process.argv[2], 'utf8'))
const begunMs = performance.now()
const done = existsSync(checkpoint) ? JSON.parse(readFileSync(checkpoint, 'utf8')).doneIterations : 0

const share = Number(cpus) / Number(gpus)
const at = cpusPerGpu.findLastIndex((level) => level <= share)
const rate = throughput[Math.max(0, at)][0] / iterationS

function save() {
  const now = Math.min(Number(iterations), done + (rate * (performance.now() - begunMs)) / 1000)
  writeFileSync(`${checkpoint}.unfinished`, JSON.stringify({ doneIterations: now }))
  renameSync(`${checkpoint}.unfinished`, checkpoint)
}

process.on('SIGUSR1', () => {
  save()
  process.exit(85)
})
setTimeout(() => process.exit(0), ((Number(iterations) - done) / rate) * 1000)
