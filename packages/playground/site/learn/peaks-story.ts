import { SimulatedGpu } from '@pctodl/gpu-sim'
import { PacedClock } from '../run/paced-clock.js'
import type { Teller } from './story.js'

const STEP_MS = 20
const LENGTH_MS = 9000
/** Length of the beginning of the run that is not shown, because it still contains the board's previous state, ms. */
const SETTLED_MS = 3000
/** The load comes in bursts. Length of a burst, and time from the start of one burst to the next, ms. */
const BURST_MS = 400
const EVERY_MS = 1200

/** Compares the true power of a bursty load with the board's power reading. */
export const tellOfPeaks: Teller = async (predictor, model) => {
  const clock = new PacedClock()
  const gpu = new SimulatedGpu(predictor.spec.key, { clock })
  clock.allow(Number.POSITIVE_INFINITY)
  const process = gpu.launch({ model, mpsPercent: 100, batchSize: 32 })
  await clock.sleep(process.readyAtMs - clock.now() + 500)
  const times: number[] = []
  const shownFromMs = clock.now() + SETTLED_MS
  const trueW: number[] = []
  const readW: (number | null)[] = []
  for (let timeMs = 0; timeMs < LENGTH_MS; timeMs += STEP_MS) {
    // A hung process creates no load, so hanging it again and again switches the load on and off.
    if (timeMs % EVERY_MS === 0) {
      gpu.strike({ kind: 'client-hung', tenant: 0, atMs: BURST_MS, durationMs: EVERY_MS - BURST_MS })
    }
    await clock.sleep(STEP_MS)
    const { powerAverageW } = await gpu.sample()
    if (clock.now() < shownFromMs) continue
    times.push((clock.now() - shownFromMs) / 1000)
    trueW.push(gpu.truth().powerW)
    readW.push(powerAverageW)
  }
  const peak = Math.max(...trueW)
  const read = Math.max(...readW.map((value) => value ?? 0))
  const hidden =
    predictor.spec.powerReading === 'one-second-average'
      ? 'The reading is an average over one second'
      : 'The sensor measures only part of the time'
  return {
    question: "What does a board's power reading hide?",
    why: 'A policy that uses only this reading reacts late. All policies here are judged by true power.',
    finding: `Bursts of ${BURST_MS / 1000} s reach ${peak.toFixed(0)} W, but this board's power reading never shows more than ${read.toFixed(0)} W. ${hidden}.`,
    plot: {
      description: `True power and the board's reading over ${(LENGTH_MS - SETTLED_MS) / 1000} s of bursts`,
      xLabel: 's',
      yLabel: 'W',
      curves: [
        { label: 'true power', color: '--network-5' },
        { label: "the board's reading", color: '--network-6' },
      ],
      values: [times, trueW, readW],
    },
  }
}
