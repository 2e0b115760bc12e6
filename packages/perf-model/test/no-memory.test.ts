import { loadPerfModel, PerfModel } from '@pctodl/perf-model'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { arbitraryTenants } from './arbitrary-tenants.js'

describe('a prediction', () => {
  const model = loadPerfModel('3080Ti')
  const memClock = fc.constantFrom(...model.memClocksMhz)
  const configuration = fc.record({
    tenants: fc.oneof(
      arbitraryTenants(model),
      // Like tenants, whose uncertainty is another one.
      arbitraryTenants(model, 20).map(([first]) => [first!, first!]),
    ),
    smClockMhz: fc.constantFrom(600, 1500),
    memClockMhz: memClock,
  })

  it('does not depend on what was asked before', () => {
    fc.assert(
      fc.property(fc.array(configuration, { minLength: 2, maxLength: 4 }), (asked) => {
        const answers = asked.map((one) => model.predict(one))
        // Standard deviations are computed when JSON reads them, after all predictions.
        const fresh = asked.map((one) => JSON.stringify(new PerfModel(model.parameters).predict(one)))
        expect(answers.map((answer) => JSON.stringify(answer))).toEqual(fresh)
      }),
      { numRuns: 40 },
    )
  })
})
