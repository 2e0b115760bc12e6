import { loadPerfModel } from '@pctodl/perf-model'
import { capSchedule } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { told } from '../../scheduler/test/told-run.js'
import { PublishedPolicy } from '../src/index.js'

const model = loadPerfModel('3080Ti')

// The whole loop in virtual time, as in the scheduler's test of the same name.
describe('the same runs as before', () => {
  it('are those of the published policy', async () => {
    const policy = new PublishedPolicy({ predictor: model, model: 'resnet50' })
    const caps = capSchedule([
      { atMs: 0, powerCapW: 200 },
      { atMs: 30_000, powerCapW: 160 },
    ])
    expect(await told({ policy, caps, iterations: 12 })).toMatchSnapshot()
  })
})
