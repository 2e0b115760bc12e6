import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { oracleKey, oracleThroughput, trueWatts } from '../src/oracle-throughput.js'
import { runTask } from '../src/run-cell.js'
import { everyTask, tasksOf } from '../src/tasks.js'

const folder = mkdtempSync(path.join(tmpdir(), 'oracle-'))
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

const [task] = tasksOf('A100', [20])

describe('the oracle of a report', () => {
  it("counts watts as the board's own sensor does, in which caps are set", () => {
    const seeds = [1, 2, 3, 4]
    const factors = seeds.map((seed) => trueWatts({ task: task!, seed }, 150) / 150)
    const throughputs = seeds.map((seed) => oracleThroughput([{ task: task!, seed }], folder).get(oracleKey(task!))!)
    const order = (values: readonly number[]) => seeds.map((_, i) => i).sort((a, b) => values[a]! - values[b]!)
    expect(order(throughputs)).toEqual(order(factors))
    expect(Math.max(...factors)).toBeGreaterThan(Math.min(...factors))
    // Of several boards the mean.
    const all = oracleThroughput(
      seeds.map((seed) => ({ task: task!, seed })),
      folder,
    ).get(oracleKey(task!))!
    expect(all).toBeCloseTo(throughputs.reduce((sum, value) => sum + value) / seeds.length, 6)
    expect(Object.keys(JSON.parse(readFileSync(path.join(folder, 'oracle.json'), 'utf8')))).toHaveLength(seeds.length)
  })

  it('is passed by no algorithm by more than half a percent', async () => {
    const best = oracleThroughput([{ task: task!, seed: 1 }], folder).get(oracleKey(task!))!
    for (const algorithm of ['pctodl', 'directcap', 'plan-limit'] as const) {
      const { windows } = await runTask(task!, algorithm, { iterations: 36, seed: 1 })
      const warm = windows.slice(24)
      const throughput = warm.reduce((sum, window) => sum + window.throughput, 0) / warm.length
      expect(throughput, algorithm).toBeLessThanOrEqual(1.005 * best)
      expect(throughput, algorithm).toBeGreaterThan(0.9 * best)
    }
  })

  it('is none where several networks or a latency objective count', () => {
    const others = everyTask.filter(({ set, board }) => board === 'A100' && (set === 'mixed' || set === 'latency'))
    const found = oracleThroughput(
      [others[0]!, others.at(-1)!].map((other) => ({ task: other, seed: 1 })),
      folder,
    )
    expect([...found.values()]).toEqual([null, null])
  })
})
