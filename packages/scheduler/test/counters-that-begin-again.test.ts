import { describe, expect, it } from 'vitest'
import { Admission } from '../src/services/admission.js'
import { ServicePressure } from '../src/services/service-pressure.js'

/** Readings of a service of 300 requests/s, 98 % of them in time, whose counters begin again after six seconds. */
function* readings(queued = 0) {
  const counts = { arrived: 1e6, completed: 1e6, late: 0 }
  for (let timeMs = 0; timeMs < 12_000; timeMs += 100) {
    if (timeMs === 6000) Object.assign(counts, { arrived: 0, completed: 0, late: 0 })
    counts.arrived += 100
    counts.completed += 100
    counts.late += 2
    yield { timeMs, reading: { service: 'search', ...counts, shed: 0, failed: 0, queued, running: 0 } }
  }
}

describe('counters that begin again', () => {
  it('say nothing of the time before: attainment is a share, and what it was', () => {
    const pressure = new ServicePressure()
    for (const { timeMs, reading } of readings()) {
      pressure.update(timeMs, reading, false)
      const { attainment } = pressure
      if (attainment !== null) expect(attainment).toBeCloseTo(0.98, 9)
    }
  })

  it('let in no more than before, where a queue is as long', () => {
    const admission = new Admission(60)
    const shares: number[] = []
    for (const { timeMs, reading } of readings(200)) {
      admission.update(timeMs, reading, true)
      if (timeMs >= 2000) shares.push(admission.share)
    }
    for (const [i, share] of shares.entries()) expect(share).toBeLessThanOrEqual(shares[i - 1] ?? 1)
  })
})
