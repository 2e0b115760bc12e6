/**
 * Time of a fit and of a refit. The rows have the size of what the Python code measures of one network at one memory clock (263
 * configurations and a sweep of 126), drawn from the shipped model with 1 % of noise.
 */
import { fitPerfModel, loadPerfModel, refit } from '@pctodl/perf-model'
import { Bench } from 'tinybench'
import { measuredRows } from '../test/synthetic-rows.js'

const truth = loadPerfModel('3080Ti')
const rows = measuredRows(truth, 1, 263 + 126, ['resnet50'])
const options = { source: 'bench', folds: 0 }
const model = loadPerfModel('3080Ti')
const few = Array.from({ length: 16 }, (_, i) => measuredRows(truth, 2 + i, 10))

const bench = new Bench({ name: 'one core', time: 2000, warmupTime: 1000, warmupIterations: 2 })
bench.add('fit of 389 rows of one network', () => void fitPerfModel(rows, truth.spec, options))
let i = 0
bench.add('refit to 10 rows of two networks', () => void refit(model, few[i++ & 15]!))
const mixed = Array.from({ length: 16 }, (_, k) => measuredRows(truth, 2 + k, 10, truth.networks))
let j = 0
bench.add('refit to 10 mixed rows of seven networks', () => void refit(model, mixed[j++ & 15]!))
await bench.run()
console.table(bench.table())
