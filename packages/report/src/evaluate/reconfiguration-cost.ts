import type { RunRecording } from './run-recording.js'

/** What one restart of tenants cost. */
export interface ReconfigurationCost {
  readonly atMs: number
  /** Samples not completed, against the rate of the five seconds before, until that rate is reached again (at most 30 s). */
  readonly lostSamples: number
  /** Energy above the cap in that time, J. */
  readonly excessEnergyJ: number
}

const BEFORE_MS = 5000
const LONGEST_MS = 30_000

/** The cost of every repartition but the first start. */
export function reconfigurationCosts(run: RunRecording): ReconfigurationCost[] {
  const { timeMs, powerCapW, trueW, sensorW } = run.power
  return run.actuations
    .filter(({ kind, timeMs: atMs }) => kind === 'repartition' && atMs >= BEFORE_MS)
    .map(({ timeMs: atMs }) => {
      const begin = indexAt(timeMs, atMs)
      const before = indexAt(timeMs, atMs - BEFORE_MS)
      const rate = (run.completed[begin]! - run.completed[before]!) / (timeMs[begin]! - timeMs[before]!)
      let lostSamples = 0
      let excessWms = 0
      for (let i = begin + 1; i < timeMs.length && timeMs[i]! - atMs <= LONGEST_MS; i++) {
        const spanMs = timeMs[i]! - timeMs[i - 1]!
        excessWms += Math.max(0, ((trueW ?? sensorW)[i] ?? 0) - powerCapW[i]!) * spanMs
        lostSamples = rate * (timeMs[i]! - atMs) - (run.completed[i]! - run.completed[begin]!)
        // Batches complete in lumps, hence the look back over two seconds.
        const back = indexAt(timeMs, timeMs[i]! - 2000)
        const recovered = (run.completed[i]! - run.completed[back]!) / (timeMs[i]! - timeMs[back]!) >= 0.95 * rate
        if (timeMs[i]! - atMs > 3000 && recovered) break
      }
      return { atMs, lostSamples: Math.max(0, lostSamples), excessEnergyJ: excessWms / 1000 }
    })
}

/** Index of the last time not after `atMs`; 0 where all are later. */
function indexAt(timesMs: readonly number[], atMs: number): number {
  let low = 0
  let high = timesMs.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (timesMs[middle]! <= atMs) low = middle + 1
    else high = middle
  }
  return Math.max(0, low - 1)
}
