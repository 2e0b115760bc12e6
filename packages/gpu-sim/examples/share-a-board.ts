import { SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import { VirtualClock } from '@pctodl/platform'

const clock = new VirtualClock()
const gpu = new SimulatedGpu('A100', { clock, seed: 7 })
const pool = new SimulatedTenants(gpu)
const lease = await gpu.acquire()
try {
  await pool.apply([
    { model: 'resnet50', mpsPercent: 60, batchSize: 32 },
    { model: 'mobilenet_v2', mpsPercent: 40, batchSize: 16 },
  ])
  await lease.lockSmClock(1005)
  await clock.sleep(60_000) // a minute of the board's time, some milliseconds of yours

  const { powerAverageW, smClockMhz } = await gpu.sample() // what NVML would say
  const truth = gpu.truth() // what is so; for tests and reports
  console.log(`${smClockMhz} MHz, ${powerAverageW} W read, ${truth.powerW.toFixed(1)} W drawn`)
  console.log(pool.counters().map(({ tenant, samples }) => `${tenant.model}: ${samples} samples`))
} finally {
  await lease.release()
  await pool.stop()
}
