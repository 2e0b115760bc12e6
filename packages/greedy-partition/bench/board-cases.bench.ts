import { loadPerfModel } from '@pctodl/perf-model'
import { smClocksAt } from '@pctodl/platform'
import { exhaustive, type PartitionOptions, partition } from '../src/index.js'
import { gapPercent, printSummary, scoreOf, timed, timedMin } from './summary.js'

// Our models of both boards, seven networks, six caps: ours, the best there is, the times.

const capsW = [100, 130, 170, 200, 250, 320]
const now = () => performance.now()

function boardCases(key: string): void {
  const predictor = loadPerfModel(key)
  const values = {
    gap10: [] as number[],
    gap5: [] as number[],
    gap5In50Ms: [] as number[],
    greedyGap: [] as number[],
    lostByHigherCap: [] as number[],
    greedyMs: [] as number[],
    oursMs: [] as number[],
    greedyEvaluations: [] as number[],
    evaluations: [] as number[],
  }
  let overCap = 0
  let noState = 0
  // The times are those of compiled code.
  for (const models of predictor.networks) partition(predictor, { models, powerCapW: 200 })

  const rows = predictor.networks.flatMap((models) => {
    let before = 0
    return capsW.map((powerCapW) => {
      const options: PartitionOptions = { models, powerCapW }
      const greedy = timedMin(10, () => partition(predictor, { ...options, improve: false }))
      const ours = timedMin(3, () => partition(predictor, options))
      const in50Ms = partition(predictor, { ...options, now, budgetEvaluations: 1e9 })
      const seeds = [2, 3, 4].map((seed) => partition(predictor, { ...options, seed, budgetEvaluations: 20000 }))
      const ours10 = partition(predictor, { ...options, sharePercentStep: 10 })
      const best10 = timed(() => exhaustive(predictor, { ...options, sharePercentStep: 10 }))
      const found = scoreOf(ours.result)
      const best = Math.max(found, scoreOf(in50Ms), ...seeds.map(scoreOf))
      values.lostByHigherCap.push(Math.max(0, gapPercent(found, before)))
      before = found
      if (ours.result.feasible) {
        values.gap10.push(gapPercent(scoreOf(ours10), scoreOf(best10.result)))
        values.gap5.push(gapPercent(found, best))
        values.gap5In50Ms.push(gapPercent(scoreOf(in50Ms), best))
        values.greedyGap.push(gapPercent(scoreOf(greedy.result), best))
        values.greedyMs.push(greedy.ms)
        values.oursMs.push(ours.ms)
        values.greedyEvaluations.push(greedy.result.evaluations)
        values.evaluations.push(ours.result.evaluations)
      }
      for (const result of [greedy.result, ours.result, in50Ms, ours10, ...seeds]) {
        if (!result.feasible) continue
        const { smClockMhz, memClockMhz } = result.configuration
        if (result.prediction.powerW > powerCapW) overCap++
        if (!smClocksAt(predictor.spec, memClockMhz)!.includes(smClockMhz)) noState++
      }
      return {
        case: `${models} ${powerCapW} W`,
        greedy: scoreOf(greedy.result).toFixed(0),
        'greedy ms': greedy.ms.toFixed(2),
        ours: ours.result.feasible ? `${found.toFixed(0)} @ ${ours.result.prediction.powerW.toFixed(1)}` : 'nothing',
        'our ms': ours.ms.toFixed(1),
        'in 50 ms': scoreOf(in50Ms).toFixed(0),
        evaluations: ours.result.evaluations,
        'ours at 10': scoreOf(ours10).toFixed(0),
        'best at 10': scoreOf(best10.result).toFixed(0),
        'best at 10 ms': best10.ms.toFixed(0),
      }
    })
  })

  console.log(`\n${predictor.spec.name}`)
  console.table(rows)
  printSummary('gap at step 10 to the enumeration', values.gap10, '%', 3)
  printSummary('gap at step 5 to the best of four other searches, three of five times the budget', values.gap5, '%', 3)
  printSummary('the same within 50 ms', values.gap5In50Ms, '%', 3)
  printSummary('the same of the greedy stage alone', values.greedyGap, '%', 3)
  printSummary('throughput lost by the next higher cap', values.lostByHigherCap, '%', 3)
  printSummary('greedy stage, least of ten runs', values.greedyMs, 'ms', 2)
  printSummary('whole search, least of three runs', values.oursMs, 'ms', 1)
  printSummary('evaluations of the greedy stage', values.greedyEvaluations, '', 0)
  printSummary('evaluations of the whole search', values.evaluations, '', 0)
  console.log(`above the cap: ${overCap} of ${rows.length}`)
  console.log(`at clocks that the board does not have: ${noState} of ${rows.length}`)
}

const boards = process.argv.slice(2)
for (const key of boards.length > 0 ? boards : ['3080Ti', 'A100']) boardCases(key)
