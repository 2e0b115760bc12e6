import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { median } from '@pctodl/numerics'
import { profileJob } from '../src/job-profile.js'
import { measureDataset, measureMemoryGBps } from '../src/profile/measure-machine.js'
import { allowedCpus } from '../src/profile/run-limits.js'
import { runTraining } from '../src/profile/run-training.js'

/**
 * How far the profiler's matrix is from really running every cell of it: the image loader of examples/ on this machine, over all
 * cores and five cache sizes. Each pass profiles anew and then runs every cell once; errors are medians over the passes, since
 * other work on the machine comes and goes.
 *
 *   tsx --conditions=@pctodl/source scripts/compare-profile-with-sweep.ts [max cores] [passes]
 */

const STORAGE_MBPS = 6
const BATCH = 8
const PERCENTS = [0, 25, 50, 75, 100]
const example = (name: string) => path.resolve(import.meta.dirname, '../examples', name)
const passes = Number(process.argv[3] ?? 5)
const folder = mkdtempSync(path.join(os.tmpdir(), 'pctodl-sweep-'))
try {
  execFileSync(process.execPath, [example('make-images.mjs'), folder, '96', '640', '480'])
  const cpus = allowedCpus()
  const maxCpus = Number(process.argv[2] ?? cpus.length)
  const dataset = measureDataset(folder)
  const run = (count: number, percent: number) =>
    runTraining(
      {
        job: {
          name: 'sweep',
          script: example('image-loader.mjs'),
          args: [
            ...['--data', folder, '--step-ms', '12'],
            ...['--storage-mbps', String(STORAGE_MBPS), '--cached-percent', String(percent)],
          ],
          gpus: 1,
          batchPerGpu: BATCH,
          maxIterations: 71,
          nodes: 1,
          nodeRank: 0,
          masterAddress: '127.0.0.1',
          masterPort: 29500,
        },
        cpus,
        memoryGb: null,
        cgroup: null,
        container: null,
        workingFolder: folder,
        timeoutS: 300,
        env: process.env,
      },
      count,
    )
  const memoryGBps = new Map<number, number>()
  const cells = new Map<string, { cores: number; percent: number; predicted: number[]; measured: number[] }>()
  let runs = 0
  for (let pass = 0; pass < passes; pass++) {
    const matrix = await profileJob({
      job: 'loader',
      gpus: 1,
      batchPerGpu: BATCH,
      dataset: { gb: dataset.gb, samples: dataset.samples },
      residentGb: 0,
      storageMBps: STORAGE_MBPS,
      fairShare: { cpus: 1, memoryGb: dataset.gb },
      memoryPercents: PERCENTS,
      search: { maxCpus },
      run: (count) => run(count, 100),
      memoryGBps: async (count) => {
        const rate = memoryGBps.get(count) ?? (await measureMemoryGBps(cpus, count, process.env))
        memoryGBps.set(count, rate)
        return rate
      },
    })
    runs = matrix.runs
    for (const { cpu, memPercent, samplesPerSecond } of matrix.points) {
      const key = `${cpu}/${memPercent}`
      const cell = cells.get(key) ?? { cores: cpu, percent: memPercent, predicted: [], measured: [] }
      cell.predicted.push(samplesPerSecond)
      cell.measured.push(BATCH / (await run(cpu, memPercent)).iterationS.mean)
      cells.set(key, cell)
    }
  }
  const rows = [...cells.values()].map(({ cores, percent, predicted, measured }) => ({
    cores,
    cached: `${percent} %`,
    predicted: median(predicted).toFixed(1),
    measured: median(measured).toFixed(1),
    error: median(predicted.map((value, pass) => (value / measured[pass]! - 1) * 100)),
  }))
  console.table(rows.map((row) => ({ ...row, error: `${row.error.toFixed(1)} %` })))
  const errors = rows.map(({ error }) => Math.abs(error))
  console.log(
    `${runs} runs of the profiler against ${rows.length} of the full sweep, ${passes} passes; ` +
      `mean error ${(errors.reduce((sum, error) => sum + error, 0) / errors.length).toFixed(1)} %, largest ${Math.max(...errors).toFixed(1)} %`,
  )
} finally {
  rmSync(folder, { recursive: true, force: true })
}
