import { Bench } from 'tinybench'
import { ClockController } from '../src/index.js'

// The longest clock table of the shipped boards, and the most expensive case: a new cap in every step.
const clocks = Array.from({ length: 127 }, (_, i) => 210 + 15 * i)
const powerAt = (clockMhz: number): number => 50 + 170 * ((clockMhz - 210) / 1890) ** 1.2

function controller(): ClockController {
  const made = new ClockController({ smClocksMhz: clocks, reading: 'one-second-average' })
  made.setPlant(clocks.map(powerAt))
  return made
}

const steady = controller()
const restless = controller()
let steadyMs = 0
let restlessMs = 0

const bench = new Bench({ time: 1000 })
bench
  .add('ClockController.step, steady', () => {
    steadyMs += 100
    steady.step({
      timeMs: steadyMs,
      powerCapW: 150,
      powerAverageW: 148 + (steadyMs % 7) / 10,
      powerInstantW: 147 + (steadyMs % 11) / 3,
      smClockMhz: null,
      loading: false,
    })
  })
  .add('ClockController.step, new cap in every step', () => {
    restlessMs += 100
    restless.step({
      timeMs: restlessMs,
      powerCapW: 120 + (restlessMs % 9) * 10,
      powerAverageW: 110 + (restlessMs % 7),
      powerInstantW: 110 + (restlessMs % 11),
      smClockMhz: null,
      loading: false,
    })
  })
await bench.run()
console.table(
  bench.tasks.map((task) => {
    const { result } = task
    if (!('latency' in result)) return { name: task.name, state: result.state }
    return {
      name: task.name,
      'mean us': (result.latency.mean * 1000).toFixed(2),
      'p99 us': (result.latency.p99 * 1000).toFixed(2),
      steps: result.latency.samplesCount,
    }
  }),
)
