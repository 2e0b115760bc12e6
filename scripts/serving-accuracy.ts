/**
 * How well `@pctodl/perf-model/serving` predicts what requests meet: against the event simulation of `gpu-sim` whose batches take
 * what the same predictor says at each instant, so that only the queueing approximation is between them. Each case is simulated until the rarest service has had so many requests. Prints the table of the
 * README. Usage: `tsx --conditions=@pctodl/source scripts/serving-accuracy.ts [cases] [requests]`
 */
import { SeededRandom } from '@pctodl/numerics'
import { accuracyTable, servingCases } from './serving-accuracy/cases.js'

const [count, requests] = [Number(process.argv[2] ?? 40), Number(process.argv[3] ?? 10_000)]
console.table(accuracyTable(servingCases(count, new SeededRandom(1)), requests))
