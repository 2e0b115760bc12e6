import { capAt, capSchedule, findGpuSpec, smClocksAt } from '@pctodl/platform'
import type { Told } from './harness.js'

const PERIOD_MS = 100
/** Shares of the cap and of the time in which a board counts as at its cap when a policy turns requests away. */
const AT_CAP = 0.85
const LAST_SECOND_MS = 1000

/**
 * What the record of a run must keep to, whatever happens in the run: it agrees with itself, with the caps, and with what the board did.
 *
 * @returns the events that break a promise, with its name
 */
export function brokenPromises({ events, tenths }: Told): string[] {
  const broken = new Set<string>()
  const start = events[0]
  if (start?.type !== 'run-start') return ['the first event is not the start']
  const expect = (isSo: boolean, what: string, timeMs: number) => isSo || broken.add(`${what}, at ${timeMs} ms`)
  const caps = capSchedule(start.caps)
  const spec = findGpuSpec(start.board.replace(/~.*/, ''))
  const asked: { smClockMhz?: number | 'unlocked'; memClockMhz?: number | 'unlocked'; powerLimitW?: number } = {}
  const pending = new Set<string>()
  let refusedSinceMs: number | undefined
  let lastMs = -1
  let sampleMs = 0
  let completed = 0
  let windowCompleted = 0
  let iteration = 0
  let watts: number[] = []
  const states = new Map<number, string>()
  for (const event of events) {
    const { timeMs } = event
    expect(timeMs >= lastMs, 'events are in order', timeMs)
    lastMs = timeMs
    if (event.type === 'sample') {
      expect(timeMs === sampleMs + PERIOD_MS, 'a sample each tenth of a second', timeMs)
      sampleMs = timeMs
      const capW = capAt(caps, Math.max(0, timeMs - 1))
      expect(event.powerCapW === capW || event.powerCapW === capAt(caps, timeMs), 'the cap of the schedule', timeMs)
      if (event.smClockRefusedMs === 0) refusedSinceMs = undefined
      else {
        refusedSinceMs ??= timeMs - event.smClockRefusedMs
        expect(
          event.smClockRefusedMs > 0 && timeMs - event.smClockRefusedMs === refusedSinceMs,
          'refused since',
          timeMs,
        )
      }
      for (const setter of ['smClockMhz', 'memClockMhz', 'powerLimitW'] as const) {
        const wanted = asked[setter]
        if (wanted === undefined) continue
        const isInForce = event.inForce[setter] === (wanted === 'unlocked' ? null : wanted)
        if (isInForce) pending.delete(setter)
        else expect(pending.has(setter), `in force: ${setter}`, timeMs)
      }
      expect(event.completed >= completed, 'samples are not lost', timeMs)
      completed = event.completed
      expect((event.stallNoticeMs ?? 0) < 30_000, 'a stall is noticed', timeMs)
      if (event.telemetry.powerAverageW !== null) watts.push(event.telemetry.powerAverageW)
      for (const { failure } of event.failures) expect(failure !== '', 'a failure has a reason', timeMs)
    } else if (event.type === 'action') {
      const { reason, tenants, smClockMhz, memClockMhz } = event.action
      if (tenants ?? smClockMhz ?? memClockMhz) expect((reason ?? '') !== '', 'a change has a reason', timeMs)
      for (const setter of ['smClockMhz', 'memClockMhz', 'powerLimitW'] as const) {
        const value = event.action[setter]
        if (value === undefined) continue
        Object.assign(asked, { [setter]: value })
      }
      if (typeof memClockMhz === 'number')
        expect(smClocksAt(spec, memClockMhz) !== undefined, 'a memory clock of the board', timeMs)
      if (typeof smClockMhz === 'number' && typeof asked.memClockMhz === 'number') {
        expect(smClocksAt(spec, asked.memClockMhz)!.includes(smClockMhz), 'a clock of the board', timeMs)
      }
      if (tenants?.some(({ service }) => service !== undefined)) {
        expect(tenants.reduce((sum, { mpsPercent }) => sum + mpsPercent, 0) <= 100.001, 'shares of 100 %', timeMs)
      }
      for (const share of Object.values(event.action.admitted ?? {})) {
        expect(share > 0 && share <= 1, 'an admitted share', timeMs)
        if (share === 1) continue
        const second = tenths.filter((tenth) => tenth.timeMs > timeMs - LAST_SECOND_MS && tenth.timeMs <= timeMs)
        const powerW = second.reduce((sum, tenth) => sum + tenth.powerW, 0) / second.length
        const top = smClocksAt(spec, asked.memClockMhz as number)!.at(-1)!
        const atTop = second.some((tenth) => tenth.smClockMhz >= top - 15)
        expect(
          atTop || powerW > AT_CAP * capAt(caps, timeMs),
          'requests are turned away at the cap or at the top clock',
          timeMs,
        )
      }
    } else if (event.type === 'decision') {
      expect(event.decision.reason !== '' && event.decision.kind !== '', 'a decision has a reason', timeMs)
    } else if (event.type === 'refused') {
      pending.add(event.setter)
    } else if (event.type === 'granted') {
      expect(pending.delete(event.setter), 'granted is what was refused', timeMs)
      expect((event.value ?? 'unlocked') === asked[event.setter], 'granted is what is wanted', timeMs)
    } else if (event.type === 'tenant') {
      const before = states.get(event.processId)
      expect(
        (before === undefined) === (event.state === 'loading') || before === 'failed',
        'a process loads first',
        timeMs,
      )
      expect((event.state === 'failed') === (event.failure !== undefined), 'a failure is told', timeMs)
      states.set(event.processId, event.state)
    } else if (event.type === 'window') {
      const { window } = event
      expect(window.iteration === ++iteration && window.endMs === timeMs, 'windows are in order', timeMs)
      expect(window.startMs === timeMs - start.windowMs, 'windows follow one another', timeMs)
      const meanW = watts.reduce((sum, watt) => sum + watt, 0) / watts.length
      const isMean = watts.length === 0 ? window.powerAverageW === null : Math.abs(window.powerAverageW! - meanW) < 0.01
      expect(isMean, 'power of the window', timeMs)
      expect(watts.length === 0 || window.powerMaxW === Math.max(...watts), 'highest power of the window', timeMs)
      expect(
        window.validity === 'unknown' || window.samples === completed - windowCompleted,
        'work of the window',
        timeMs,
      )
      windowCompleted = completed
      watts = []
    }
  }
  return [...broken]
}
