import { exhaustive, type PartitionOptions, partition } from '@pctodl/greedy-partition'
import { gapPercent, printSummary, scoreOf, timed } from '../../greedy-partition/bench/summary.js'
import { loadPublishedParameters } from '../src/index.js'
import { publishedOptima, publishedRuns } from '../test/published-cases.js'
import { PublishedBoard, publishedOn, publishedSpaceOf, searchWith } from '../test/reference-board.js'

// The published predictor's 31 cases: the published search's figure, ours, the best there is, and the times. Our searches go
// where the published one does not, so they need whole ensembles: without a folder with all of them (`pctodl-params`, as the
// first argument) the cases are those of which an optimum is published.
const [folder] = process.argv.slice(2)
if (folder !== undefined) searchWith(loadPublishedParameters(folder))

function main(): void {
  const optima = new Map(publishedOptima().map((optimum) => [optimum.caseId, optimum]))
  const gaps = { step10: [] as number[], step5: [] as number[], step5In50Ms: [] as number[], published: [] as number[] }
  let overCap = 0
  let publishedOverCap = 0

  const runs = publishedRuns().filter((run) => run.variant === 'standard')
  const cases = runs.filter((run) => folder !== undefined || optima.has(run.caseId))
  if (cases.length < runs.length) {
    console.log(
      `${cases.length} of ${runs.length} cases: name a folder with all of the published parameters for the others`,
    )
  }
  const rows = cases.map((run) => {
    const board = new PublishedBoard(run)
    const at = (sharePercentStep: number): PartitionOptions => ({ ...publishedSpaceOf(run), sharePercentStep })
    const published = timed(() => publishedOn(run))
    const ours = timed(() => partition(board, at(run.sharePercentStep)))
    const in50Ms = partition(board, { ...at(run.sharePercentStep), now: () => performance.now() })
    const ours10 = partition(board, at(10))
    const best10 = timed(() => exhaustive(board, at(10)))
    gaps.step10.push(gapPercent(scoreOf(ours10), scoreOf(best10.result)))
    const optimum = optima.get(run.caseId)
    if (optimum !== undefined && run.sharePercentStep === 5) {
      gaps.step5.push(gapPercent(scoreOf(ours.result), optimum.throughput))
      gaps.step5In50Ms.push(gapPercent(scoreOf(in50Ms), optimum.throughput))
      gaps.published.push(gapPercent(run.throughput ?? 0, optimum.throughput))
    }
    if (published.result.overCap) publishedOverCap++
    for (const result of [ours.result, in50Ms, ours10]) {
      if (result.feasible && result.prediction.powerW > run.powerCapW) overCap++
    }
    return {
      case: `${run.caseId} ${run.model} ${run.platform} ${run.powerCapW} W`,
      step: run.sharePercentStep,
      published:
        run.throughput === null
          ? 'nothing'
          : `${run.throughput.toFixed(0)} @ ${run.powerW!.toFixed(1)}${published.result.overCap ? ' OVER' : ''}`,
      'its ms there': run.cpuMs.toFixed(0),
      'and here': published.ms.toFixed(0),
      ours: ours.result.feasible
        ? `${scoreOf(ours.result).toFixed(0)} @ ${ours.result.prediction.powerW.toFixed(1)}`
        : ours.result.reason,
      'our ms': ours.ms.toFixed(0),
      'in 50 ms': scoreOf(in50Ms).toFixed(0),
      best: optimum?.throughput.toFixed(0) ?? '-',
      'gap %': optimum === undefined ? '-' : gapPercent(scoreOf(ours.result), optimum.throughput).toFixed(3),
      'ours at 10': scoreOf(ours10).toFixed(0),
      'best at 10': scoreOf(best10.result).toFixed(0),
      'gap at 10 %': gaps.step10.at(-1)!.toFixed(3),
      'best at 10 ms': best10.ms.toFixed(0),
    }
  })

  console.table(rows)
  printSummary('gap at step 10 to the enumeration', gaps.step10, '%', 3)
  printSummary('gap at step 5 to the published enumeration', gaps.step5, '%', 3)
  printSummary('the same within 50 ms', gaps.step5In50Ms, '%', 3)
  printSummary('the same of the published search (negative: over the cap)', gaps.published, '%', 3)
  console.log(`above the cap: ours ${overCap} of ${3 * rows.length}, published ${publishedOverCap} of ${rows.length}`)
}

main()
