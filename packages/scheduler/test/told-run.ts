import { type Fault, SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import { type CapSchedule, VirtualClock } from '@pctodl/platform'
import { evaluate, RunRecorder } from '@pctodl/report/evaluate'
import { type PowerCapPolicy, type RunEvent, type RunOptions, runPolicy } from '../src/index.js'

interface Run {
  readonly policy: PowerCapPolicy
  readonly caps: CapSchedule
  readonly iterations: number
  readonly faults?: readonly Fault[]
  readonly services?: (gpu: SimulatedGpu) => RunOptions['services']
}

/** What was decided and asked for when, and how the run is judged. */
export async function told({ policy, caps, iterations, faults = [], services }: Run): Promise<string[]> {
  const clock = new VirtualClock()
  const gpu = new SimulatedGpu('3080Ti', { clock, seed: 3, faults: { faults } })
  const recorder = new RunRecorder(() => gpu.truth().meteredEnergyJ)
  const lines: string[] = []
  const clocks: unknown[] = []
  const served = services?.(gpu)
  await runPolicy({
    gpu,
    pool: new SimulatedTenants(gpu),
    clock,
    policy,
    caps,
    iterations,
    ...(served ? { services: served } : {}),
    onEvent: (event) => {
      recorder.add(event)
      const line = lineOf(event)
      if (line !== undefined) lines.push(line)
      if (event.type === 'action' && event.action.smClockMhz !== undefined) clocks.push(event.action.smClockMhz)
    },
  })
  lines.push(`clocks ${clocks.join(' ')}`)
  const { steady, whole, ...rest } = evaluate(recorder.recording())
  return [...lines, shown({ steady, whole, ...rest })]
}

function lineOf(event: RunEvent): string | undefined {
  // What the clock's status is comes and goes with each reading; the clocks themselves are told below.
  if (event.type === 'decision' && event.decision.kind === 'clock-status') return undefined
  if (event.type === 'decision') return `${event.timeMs} ${event.decision.kind}: ${event.decision.reason}`
  if (event.type !== 'action' || (event.action.tenants === undefined && event.action.memClockMhz === undefined)) return
  const { tenants, memClockMhz, reason } = event.action
  const what = tenants?.map(({ model: network, mpsPercent, batchSize }) => `${network} ${mpsPercent}:${batchSize}`)
  return `${event.timeMs} ${event.source}: ${what?.join(', ') ?? '-'} at ${memClockMhz ?? '-'} MHz; ${reason}`
}

/** To six digits. */
function shown(value: unknown): string {
  return JSON.stringify(value, (_, each) => (typeof each === 'number' ? Number(each.toPrecision(6)) : each))
}
