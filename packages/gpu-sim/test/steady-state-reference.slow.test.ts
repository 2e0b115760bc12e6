import { findGpuSpec } from '@pctodl/platform'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { physicsOfBoard, simulatedBoards } from '../src/index.js'
import { SteadyStateSolver } from '../src/steady-state.js'
import { arbitraryConfiguration, arbitraryTenants } from './arbitrary-configuration.js'
import { referenceThroughputs } from './reference-steady-state.js'

describe.each(simulatedBoards)('the solver on %s', (board) => {
  const spec = findGpuSpec(board)
  const physics = physicsOfBoard(board)
  const solver = new SteadyStateSolver(spec, physics)
  const agrees = (configuration: Parameters<typeof solver.solve>[0]) => {
    const expected = referenceThroughputs(spec, physics, configuration)
    solver.solve(configuration).tenants.forEach(({ throughput }, i) => {
      expect(Math.abs(throughput / expected[i]! - 1)).toBeLessThan(1e-9)
    })
  }

  it('agrees with the formulas as they read', () => {
    fc.assert(fc.property(arbitraryConfiguration(board), agrees), { numRuns: 5 })
  })

  it('agrees where shares overlap', () => {
    const doubled = fc
      .tuple(arbitraryConfiguration(board, 3), arbitraryTenants(3))
      .map(([configuration, more]) => ({ ...configuration, tenants: [...configuration.tenants, ...more] }))
    fc.assert(fc.property(doubled, agrees), { numRuns: 4 })
  })

  it('does not care what it has solved before', () => {
    fc.assert(
      fc.property(arbitraryConfiguration(board), arbitraryConfiguration(board), (first, second) => {
        const fresh = new SteadyStateSolver(spec, physics).solve(second)
        solver.solve(first)
        expect(solver.solve(second)).toEqual(fresh)
      }),
      { numRuns: 8 },
    )
  })
})
