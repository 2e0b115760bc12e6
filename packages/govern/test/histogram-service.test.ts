import { expect, it } from 'vitest'
import { HistogramService } from '../src/law/histogram-service.js'

const boundsMs = [50, 75, 100, 150, 200, 300, 500, 1000, 2000]
const topMhz = 1980

/** Mean latency of a server with one queue, whose requests take 50 ms each at the highest clock. */
function trueMeanMs(clockMhz: number, perS: number): number {
  const serviceMs = (50 * topMhz) / clockMhz
  return serviceMs / (1 - (perS * serviceMs) / 1000)
}

it('foresees that latency grows faster than linearly where a lower clock hardly keeps up', () => {
  const goal = { name: 'm', objectiveMs: 500, attainment: 0.95, limits: null }
  const service = new HistogramService(goal, topMhz)
  const counts = boundsMs.map(() => 0).concat(0)
  let [completed, latencyMs, late] = [0, 0, 0]
  for (let second = 0; second < 240; second++) {
    const clockMhz = Math.floor(second / 20) % 2 === 0 ? topMhz : 1320
    const perS = Math.floor(second / 40) % 2 === 0 ? 2 : 10
    const meanMs = trueMeanMs(clockMhz, perS)
    const judged = { boundsMs, counts: [...counts], sumMs: latencyMs }
    const { objectiveMs } = goal
    const sample = { completed, failed: 0, queued: 0, running: 0, latencyMs, late, judged, objectiveMs }
    service.update(sample, 1000 * second, { seconds: 1, clockMhz, busyShare: 0.5 })
    completed += perS
    latencyMs += perS * meanMs
    // Exponential latencies, as cumulative counts.
    boundsMs.forEach((bound, i) => {
      counts[i]! += perS * (1 - Math.exp(-bound / meanMs))
    })
    counts[boundsMs.length]! += perS
    late += perS * Math.exp(-goal.objectiveMs / meanMs)
  }
  expect(service.known).toBe(true)
  const attained = (clockMhz: number) => 1 - Math.exp(-goal.objectiveMs / trueMeanMs(clockMhz, 10))
  for (const clockMhz of [topMhz, 1320])
    expect(Math.abs(service.attainmentAt(clockMhz, 10) - attained(clockMhz)), `${clockMhz} MHz`).toBeLessThan(0.06)
  // Clocks that it has never seen; a latency linear in rate and clock would promise .88.
  expect(service.attainmentAt(1090, 10)).toBeLessThan(0.75)
})
