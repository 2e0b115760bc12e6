/**
 * The law against fixed clocks in virtual time.
 *
 *   pnpm evaluate-govern [--traces 20] [--seed 1] [--seconds 300] [--kind flash-crowds]
 *
 * Traces of each kind: joules against the best fixed clock in hindsight, the one that holds the peak, and the board left alone.
 */
import { parseArgs } from 'node:util'
import { mean, quantile } from '@pctodl/numerics'
import { drawTrial, type Judged, judgeTrial, kinds } from '../test/virtual-trials.js'

const { values } = parseArgs({
  options: {
    traces: { type: 'string', default: '20' },
    seed: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '300' },
    kind: { type: 'string' },
  },
})
const percent = (share: number) => (100 * share).toFixed(2)
const all: Judged[] = []
const rows: Record<string, string | number>[] = []
for (const kind of kinds.filter((each) => each === (values.kind ?? each))) {
  const judged: Judged[] = []
  for (let i = 0; i < Number(values.traces); i++) {
    const result = await judgeTrial(drawTrial(kind, Number(values.seed) + i, Number(values.seconds)))
    const { attainment, alone, ofBest, ofPeak, peakOverMean } = result
    process.stderr.write(
      `${kind} ${Number(values.seed) + i}: ${percent(attainment)} % (alone ${percent(alone)}), ${ofBest.toFixed(3)} of best, ${ofPeak.toFixed(3)} of peak, peak over mean ${peakOverMean.toFixed(2)}\n`,
    )
    judged.push(result)
  }
  all.push(...judged)
  rows.push(row(kind, judged))
}
rows.push(row('all', all))
console.table(rows)

function row(kind: string, judged: readonly Judged[]): Record<string, string | number> {
  const steep = judged.filter(({ peakOverMean }) => peakOverMean >= 1.5)
  const ofBest = judged.map((each) => each.ofBest)
  return {
    kind,
    traces: judged.length,
    'objective kept': judged.filter(({ kept }) => kept).length,
    'of best, mean': mean(ofBest).toFixed(3),
    'of best, p95': quantile(ofBest, 0.95).toFixed(3),
    'at most 1.03': ofBest.filter((ratio) => ratio <= 1.03).length,
    'steep peaks': steep.length,
    'of peak, mean': steep.length === 0 ? '' : mean(steep.map(({ ofPeak }) => ofPeak)).toFixed(3),
    'at most 0.92': steep.filter(({ ofPeak }) => ofPeak <= 0.92).length,
    'of alone': mean(judged.map((each) => each.ofAlone)).toFixed(3),
  }
}
