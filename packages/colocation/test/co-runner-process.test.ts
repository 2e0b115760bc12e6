import { describe, expect, it } from 'vitest'
import { SlowdownModel } from '../src/index.js'
import { CoRunnerProcess } from '../src/model/co-runner-process.js'
import { allPairs, lawfulColocation, syntheticWorkloads } from './synthetic-board.js'

const workloads = syntheticWorkloads(10)
const { fitted } = SlowdownModel.fit(allPairs(workloads).map(lawfulColocation))

describe('the Gaussian process of groups of co-runners', () => {
  const process = new CoRunnerProcess(fitted, 448)
  /** Variance of what one workload loses beside another. */
  const spreadOf = (one: CoRunnerProcess) => {
    const view = one.view(workloads)
    return view.covarianceOf([view.row(workloads[0]!, [workloads[5]!])])[0]![0]!
  }

  it('says of a left-out colocation what a process without it says', () => {
    for (const colocation of [0, 7, 23]) {
      const rows = fitted.rows.filter((row) => row.colocation === colocation)
      const left = process.leaveEachOut()[colocation]!
      const others = new CoRunnerProcess(
        { ...fitted, rows: fitted.rows.filter((row) => row.colocation !== colocation) },
        448,
      )
      const view = others.view(fitted.workloads)
      rows.forEach((row, i) => {
        const workload = (index: number) => fitted.workloads[index]!
        const asked = view.row(workload(row.own), row.others.map(workload))
        expect(row.exponent - view.mean(asked)).toBeCloseTo(left.errors[i]!, 6)
        // A row that stands for two members has half their noise.
        if (row.count > 1) return
        const spread = view.covarianceOf([asked])[0]![0]!
        expect(spread / left.covariance[i * rows.length + i]!).toBeCloseTo(1, 4)
      })
    }
  })

  it('is less sure the less it has seen', () => {
    const few = new CoRunnerProcess(
      { ...fitted, rows: fitted.rows.filter(({ colocation }) => colocation % 4 === 0) },
      448,
    )
    expect(spreadOf(process)).toBeLessThan(spreadOf(few))
  })

  it('is surer of rows that stand for more members', () => {
    // What a lawful board shows has no noise; here each row has some.
    const variances = fitted.variances.map((variance) => Math.max(variance, 1e-3))
    const spreads = [0.1, 1, 10, 1000].map((times) => {
      const rows = fitted.rows.map((row) => ({ ...row, count: times * row.count }))
      return spreadOf(new CoRunnerProcess({ ...fitted, variances, rows }, 448))
    })
    expect(spreads).toEqual([...spreads].sort((a, b) => b - a))
    expect(new Set(spreads).size).toBe(4)
  })
})
