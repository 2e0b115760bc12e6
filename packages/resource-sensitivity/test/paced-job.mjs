// A training job that heeds the contract of the scheduler and goes as its profile says: `paced-job.mjs <profile.json> [start-up in s]`. Where the profile has
// rates by power limit, the limit is that of its start, or what `<checkpoint>.<run>.limit` says since.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'

const {
  PCTODL_CHECKPOINT: checkpoint,
  PCTODL_ITERATIONS: iterations,
  PCTODL_RUN: run,
  PCTODL_GPUS: gpus,
  PCTODL_CPUS: cpus,
} = process.env
const { cpusPerGpu, throughput, iterationS, ratesByLimitW } = JSON.parse(readFileSync(process.argv[2], 'utf8'))
// Nothing is done before it has come up.
let countedMs = performance.now() + 1000 * Number(process.argv[3] ?? 0)
let done = existsSync(checkpoint) ? JSON.parse(readFileSync(checkpoint, 'utf8')).doneIterations : 0

const share = Number(cpus) / Number(gpus)

function rate() {
  if (ratesByLimitW === undefined) {
    const at = cpusPerGpu.findLastIndex((level) => level <= share)
    return throughput[Math.max(0, at)][0] / iterationS
  }
  const file = `${checkpoint}.${run}.limit`
  // Who writes the file truncates it first: a limit that is not there yet changes nothing.
  const limitW = existsSync(file) ? readFileSync(file, 'utf8') : ''
  return ratesByLimitW[limitW] ?? rateNow ?? ratesByLimitW[process.env.PCTODL_POWER_LIMIT_W]
}
let rateNow
rateNow = rate()

function count() {
  const nowMs = performance.now()
  done = Math.min(Number(iterations), done + (rateNow * Math.max(0, nowMs - countedMs)) / 1000)
  countedMs = Math.max(countedMs, nowMs)
  rateNow = rate()
}

function save() {
  count()
  writeFileSync(`${checkpoint}.unfinished`, JSON.stringify({ doneIterations: done }))
  renameSync(`${checkpoint}.unfinished`, checkpoint)
}

process.on('SIGUSR1', () => {
  save()
  process.exit(85)
})

function goOn() {
  count()
  if (done >= Number(iterations)) process.exit(0)
  const leftMs = countedMs - performance.now() + ((Number(iterations) - done) / rateNow) * 1000
  setTimeout(goOn, ratesByLimitW === undefined ? leftMs : Math.min(leftMs, 20))
}
goOn()
