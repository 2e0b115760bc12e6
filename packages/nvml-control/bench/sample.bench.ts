/**
 * What one sample costs beyond the driver's own time, and what a change costs through either path.
 *
 *   pnpm --filter @pctodl/nvml-control bench
 *
 * The library is sim-host's stand-in: its times are no driver's. What is ours is measured with every call answering at once.
 */
import { Bench } from 'tinybench'
import { applyChange } from '../src/control/apply-change.js'
import { loadNvml } from '../src/index.js'
import { readTelemetry } from '../src/nvml/telemetry.js'
import { buildFaultyNvml } from '../test/faulty-nvml.js'
import { startHost } from '../test/simulated-host.js'

const host = await startHost()
const instant = buildFaultyNvml(host.libraryPath)
Object.assign(process.env, host.environment)
try {
  const samples = new Bench({ time: 2000, warmupTime: 500 })
  const fast = loadNvml({ libraryPath: instant.libraryPath }).device(0)
  instant.instant(true)
  samples.add('one sample, all fields, calls that answer at once: our own cost', () => void readTelemetry(fast))
  const whole = loadNvml({ libraryPath: host.libraryPath }).device(0)
  samples.add("one sample, all fields, sim-host's library", () => void readTelemetry(whole))
  await print(samples)

  const device = loadNvml({ libraryPath: host.libraryPath }).device(0)
  const changes = new Bench({ time: 3000, warmupTime: 200 })
  let limitW = 250
  changes.add('power limit through NVML', () =>
    applyChange(device, { kind: 'power-limit', powerLimitW: 250 + (limitW++ % 50) }),
  )
  await print(changes)
} finally {
  instant.remove()
  await host.stop()
}

async function print(bench: Bench): Promise<void> {
  await bench.run()
  console.table(
    bench.tasks.map(({ name, result }) => {
      if (result.state !== 'completed') throw new Error(`${name}: ${result.state}`)
      const { p50, p99 } = result.latency
      return { task: name, 'median us': (1000 * p50).toFixed(1), 'p99 us': (1000 * p99).toFixed(1) }
    }),
  )
}
