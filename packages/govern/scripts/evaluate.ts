/**
 * Compares the law with fixed clocks, in virtual time.
 *
 *   pnpm evaluate-govern [--traces 20] [--seed 1] [--seconds 300] [--kind flash-crowds]
 *
 * For the traces of each kind, it prints energy relative to three references: the best fixed clock in hindsight, the
 * fixed clock that can serve the peak, and the uncontrolled board. It prints the same for a fixed clock at the usual
 * knee, and for plain feedback of latencies.
 */
import { parseArgs } from 'node:util'
import { mean, quantile } from '@pctodl/numerics'
import { drawLlm, llmKinds, runLlm } from '../test/virtual-llm.js'
import {
  drawTrial,
  type Judged,
  judge,
  judgeTrial,
  kinds,
  plainKneeMhz,
  runFeedback,
  runFixed,
} from '../test/virtual-trials.js'

const { values } = parseArgs({
  options: {
    traces: { type: 'string', default: '20' },
    seed: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '300' },
    kind: { type: 'string' },
  },
})
const percent = (share: number) => (100 * share).toFixed(2)
interface Result extends Judged {
  readonly rivals: { readonly knee: Rival; readonly feedback: Rival }
}
type Rival = Pick<Judged, 'kept' | 'ofBest'>

const all: Result[] = []
const rows: Record<string, string | number>[] = []
const llms = llmKinds.map((kind) => {
  return [
    `llm-${kind}`,
    async (seed: number, seconds: number): Promise<Result> => {
      const trial = await drawLlm(kind, seed, seconds)
      const { board } = trial
      const judged = await judge(
        board,
        (clock) => runLlm(trial, clock),
        () => runLlm(trial, 'law'),
      )
      const knee = judged.against(await runLlm(trial, plainKneeMhz(board)))
      return { ...judged, rivals: { knee, feedback: judged.against(await runLlm(trial, 'feedback')) } }
    },
  ] as const
})
const tritons = kinds.map((kind) => {
  return [
    kind,
    async (seed: number, seconds: number): Promise<Result> => {
      const trial = drawTrial(kind, seed, seconds)
      const judged = await judgeTrial(trial)
      const knee = judged.against(await runFixed(trial, plainKneeMhz(trial.board)))
      return { ...judged, rivals: { knee, feedback: judged.against(await runFeedback(trial)) } }
    },
  ] as const
})
for (const [kind, run] of [...tritons, ...llms].filter(([kind]) => kind === (values.kind ?? kind))) {
  const results: Result[] = []
  for (let i = 0; i < Number(values.traces); i++) {
    const result = await run(Number(values.seed) + i, Number(values.seconds))
    const { attainment, alone, ofBest, ofPeak, peakOverMean } = result
    process.stderr.write(
      `${kind} ${Number(values.seed) + i}: ${percent(attainment)} % (alone ${percent(alone)}), ${ofBest.toFixed(3)} of best, ${ofPeak.toFixed(3)} of peak, peak over mean ${peakOverMean.toFixed(2)}; knee ${said(result.rivals.knee)}, feedback ${said(result.rivals.feedback)}\n`,
    )
    results.push(result)
  }
  all.push(...results)
  rows.push(row(kind, results))
}
rows.push(row('all', all))
console.table(rows)

function said({ kept, ofBest }: Rival): string {
  return `${ofBest.toFixed(3)}${kept ? '' : ' (lost)'}`
}

function rivalRow(rivals: readonly Rival[]): string {
  return `${mean(rivals.map(({ ofBest }) => ofBest)).toFixed(3)}, keeps ${rivals.filter(({ kept }) => kept).length}`
}

function row(kind: string, judged: readonly Result[]): Record<string, string | number> {
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
    'fixed knee, of best': rivalRow(judged.map(({ rivals }) => rivals.knee)),
    'feedback, of best': rivalRow(judged.map(({ rivals }) => rivals.feedback)),
  }
}
