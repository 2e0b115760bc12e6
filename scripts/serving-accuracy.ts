/**
 * Measures how well `@pctodl/perf-model/serving` predicts the latencies of requests. The reference is the event
 * simulation of `gpu-sim`, with batch times from the same predictor, so that only the queueing approximation differs.
 * Each case is simulated until the service with the lowest rate has had the given number of requests. Prints the table
 * of the README.
 * Usage: `tsx --conditions=@pctodl/source scripts/serving-accuracy.ts [cases] [requests]`
 */
import { SeededRandom } from '@pctodl/numerics'
import { accuracyTable, servingCases } from './serving-accuracy/cases.js'

const [count, requests] = [Number(process.argv[2] ?? 40), Number(process.argv[3] ?? 10_000)]
console.table(accuracyTable(servingCases(count, new SeededRandom(1)), requests))
