import { Bench } from 'tinybench'
import { groupPool, SlowdownModel } from '../src/index.js'
import { exampleStudy } from '../test/example-study.js'

// Times of learning, predicting and choosing on the example study.
const { catalog, pairs, triples, quadruples } = exampleStudy()
const workloads = [...catalog]
const model = SlowdownModel.fit(pairs.slice(0, 120))
const source = () => model.keptShareSource(workloads)
const pool = workloads.map((_, place) => place)
const twice = [...pool, ...pool]

const bench = new Bench({ time: 1000, warmupTime: 200 })
bench
  .add('fit 40 pairs', () => void SlowdownModel.fit(pairs.slice(0, 40)))
  .add('fit 120 pairs', () => void SlowdownModel.fit(pairs.slice(0, 120)))
  .add(`fit ${triples.length} triples`, () => void SlowdownModel.fit(triples))
  .add(
    'fit 231 pairs, 111 triples and 91 quadruples',
    () => void SlowdownModel.fit([...pairs, ...triples, ...quadruples]),
  )
  .add('predict a pair with intervals', () => void model.predict(workloads.slice(0, 2)))
  .add('21 jobs into pairs, exactly', () => groupPool(source(), pool, { objective: 'speedup', maxMembers: 2 }))
  .add('42 jobs into groups of up to 3, exactly', () =>
    groupPool(source(), twice, { objective: 'speedup', maxMembers: 3 }),
  )
  .add('42 jobs into groups of up to 4, by search', () =>
    groupPool(source(), twice, { objective: 'speedup', maxMembers: 4, maxCandidates: 1 }),
  )
await bench.run()
console.table(bench.table())
