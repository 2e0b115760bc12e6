import { openGpu, Sampler, withLease } from '@pctodl/nvml-control'

const gpu = await openGpu(0)
const sampler = new Sampler(gpu, { periodMs: 20 })
sampler.start()
try {
  await withLease(gpu, async (lease) => {
    await lease.setPowerLimit(250)
    await lease.lockSmClock({ minMhz: 210, maxMhz: 1005 })
    const window = sampler.beginWindow('at most 1005 MHz')
    await new Promise((resolve) => setTimeout(resolve, 1000)) // your work
    const seen = window.end()
    if (seen.kind === 'empty') throw seen.lastError ?? new Error('not one sample succeeded')
    const { powerInstantW, smClockMhz, energy } = seen
    console.log(`${powerInstantW?.mean.toFixed(1)} W at ${smClockMhz?.mean.toFixed(0)} MHz, ${seen.samples} samples`)
    console.log(`${energy.counterJ?.toFixed(1)} J by the counter, ${energy.integralJ?.toFixed(1)} J by integration`)
  }) // the limit and the clocks are what they were
} finally {
  await sampler.stop()
}
