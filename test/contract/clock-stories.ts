/**
 * A board reduced to what a clock controller observes, and random stories of it. A meter of the observer's own judges the true power.
 * Each kind of story has one disturbance, so that its figures show which behaviour has become worse.
 */
import { mean, SeededRandom, seedFrom } from '@pctodl/numerics'
import {
  type ClockAction,
  ClockController,
  type ClockControllerOptions,
  type ClockMechanism,
  type ClockObservation,
} from '@pctodl/thermo-dvfs'

const STEP_MS = 100
/** Share of a step until a request takes effect. */
const ACTUATION = 0.3
/** Time after which the caller notices that tenants stall, ms. */
const NOTICE_MS = 300

export const kinds = [
  'stands',
  'steps',
  'late',
  'limited',
  'pauses',
  'loads',
  'setters',
  'readings',
  'dark',
  'bias',
  'plants',
  'infeasible',
  'ceiling',
] as const
export type Kind = (typeof kinds)[number]

/** Figures of one run. Powers are true ones at full load; the best clock is the highest whose power is within the cap. */
export interface Judged {
  /** Percentage of the time in which the mean of a second is more than 1 % above the cap. */
  readonly above: number
  /** Power that the controller leaves unused below that of the best clock, percent. */
  readonly unused: number
  /** Changes of the clock, a minute. */
  readonly changes: number
  /** Error of the estimated power, percent. */
  readonly error: number
  /** Percentage of the time in which the controller reports what is not so. */
  readonly wrong: number
  /** Steps that break a promise which no disturbance excuses. */
  readonly broken: number
}

type Powers = readonly number[]
const round = (value: number, quantum: number): number => quantum * Math.round(value / quantum)

/** Lives through one story of a kind, and tells what the controller answers. */
export function live(
  kind: Kind,
  seed: number,
  without: readonly ClockMechanism[] = [],
  onAction: (action: ClockAction) => void = () => undefined,
): Judged {
  const random = new SeededRandom(seedFrom(kind, seed))
  const between = (low: number, high: number) => low + (high - low) * random.uniform()
  const one = <T>(list: readonly T[]): T => list[random.integer(list.length)]!
  const is = (...names: Kind[]) => names.includes(kind)

  // Half of the clocks began long before the story, as a machine's uptime does.
  const beginsMs = seed % 2 === 1 ? 7_654_300 : 0

  // The board and its model.
  const count = 30 + random.integer(60)
  const smClocksMhz = Array.from({ length: count }, (_, i) => 300 + 15 * i)
  const idleW = between(20, 50)
  const spanW = between(100, 250)
  const bend = between(1, 2.2)
  const modelOf = (share: number): Powers =>
    smClocksMhz.map((_, i) => idleW + 15 + share * spanW * (0.15 + 0.85 * (i / count) ** bend))
  const gain = between(0.75, 1.35)
  const tilt = between(0.9, 1.1)
  const truthOf = (modelW: Powers): Powers =>
    modelW.map((powerW) => gain * powerW * (1 + (tilt - 1) * (powerW / modelW.at(-1)! - 0.5)))
  let plantW = modelOf(1)
  let trueW = truthOf(plantW)
  const noise = one([0.001, 0.004, 0.008])
  const reads = one(['both', 'average', 'instant'] as const)
  const dropped = one([0, 0, 0.1])
  const ripple = is('stands', 'steps', 'ceiling') ? one([0, 0.01, 0.03]) : 0
  const lagSteps = is('late') || (is('pauses') && random.uniform() < 0.5) ? 1 + random.integer(18) : 0
  const limited = is('limited')
  const leak = limited && random.uniform() < 0.3 ? between(1.02, 1.06) : 1
  const counterRatio = between(0.97, 1.03)
  const [onMs, offMs] = one([
    [2000, 1000],
    [900, 500],
    [4000, 5000],
  ] as const)
  const meters = one(['counter', 'meter', 'both'] as const)

  // What happens: caps, and stretches of a disturbance.
  const capOf = (share: number) => trueW[0]! + share * (trueW.at(-1)! - trueW[0]!)
  const stays = is('stands', 'bias', 'pauses', 'loads', 'readings', 'setters', 'ceiling')
  const stretchSteps = () => Math.round(is('pauses') ? between(100, 200) : between(is('late', 'steps') ? 30 : 60, 120))
  const durationSteps = is('bias', 'late', 'pauses') ? 600 : 450
  const caps: number[] = []
  const disturbed: (number | null)[] = []
  const homeW = capOf(between(0.3, 0.85))
  for (let number = 0; caps.length < durationSteps; number++) {
    const steps = number === 0 ? 100 : stretchSteps()
    const odd = number % 2 === 1
    const capW =
      stays || number === 0
        ? homeW
        : is('infeasible') && odd
          ? between(0.7, 0.95) * trueW[0]!
          : is('dark', 'plants') && number % 3 > 0
            ? caps.at(-1)!
            : capOf(between(0.15, 0.95))
    const size = odd ? random.uniform() : null
    for (let i = 0; i < steps; i++) {
      caps.push(capW)
      disturbed.push(size)
    }
  }

  const reading = reads === 'instant' && random.uniform() < 0.5 ? 'part-time' : 'one-second-average'
  const options: ClockControllerOptions = { smClocksMhz, reading, without }
  const controller = new ClockController(options)
  controller.setPlant(plantW)

  let asked = 0
  let runs = 0
  let energyJ = 0
  let workedMs = 0
  let seconds: number[] = []
  let told: { averageW: number; instantW: number }[] = []
  let shown = { averageW: 0, instantW: 0 }
  let steppedMs = 0
  let changedMs = 0
  let since = Number.NEGATIVE_INFINITY
  let readMs = 0
  let planMs = 0
  let correction = 1
  const tallies = {
    judged: 0,
    above: 0,
    unused: [] as number[],
    error: [] as number[],
    changes: 0,
    wrong: 0,
    said: 0,
    broken: 0,
  }
  for (let step = 0; step < durationSteps; step++) {
    const timeMs = STEP_MS * step
    const powerCapW = caps[step]!
    const size = disturbed[step]!
    const previous = step === 0 ? null : disturbed[step - 1]!
    const begins = size !== previous || powerCapW !== (caps[step - 1] ?? powerCapW)
    if (begins) since = timeMs
    if (powerCapW !== caps[step - 1]) planMs = steppedMs = timeMs
    const spanMs = timeMs - since
    const what = size === null ? 0 : Math.floor(3 * size)
    const pausing = is('pauses') || (limited && leak > 1)
    const activity = !pausing || size === null ? 1 : timeMs % (onMs + offMs) < onMs ? 1 : what === 0 ? 0 : 0.4
    const isBlind = is('readings') && size !== null && what < 2
    const load = size === null ? 1 : is('loads') ? 0.75 + 0.5 * size : isBlind && what === 1 && spanMs > 500 ? 1.08 : 1
    if (activity === 1) workedMs = timeMs
    if (is('plants', 'infeasible') && begins) {
      const clockMhz = controller.clockBefore(powerCapW)
      plantW = modelOf(size === null ? 1 : 0.6 + 0.4 * size)
      trueW = truthOf(plantW)
      controller.setPlant(plantW)
      planMs = timeMs
      asked = Math.min(asked, smClocksMhz.indexOf(clockMhz))
    }

    // What the board runs: the request, the firmware's limit, or something else.
    const refused = is('setters') && size !== null && what === 0
    const lost = is('setters') && size !== null && what === 1
    const roof = is('setters') && size !== null && what === 2 ? Math.floor(count * 0.6 * size) : count - 1
    const before = runs
    if (lost) runs = begins ? Math.floor(count * size!) : runs
    else if (!refused) runs = Math.min(asked, roof)
    const loadedW = (index: number) => idleW + (trueW[index]! * load - idleW) * activity
    const limitW = limited ? powerCapW * leak : Number.POSITIVE_INFINITY
    let powerW = ACTUATION * loadedW(before) + (1 - ACTUATION) * loadedW(runs)
    let throttled = runs < asked && !lost && !refused
    if (powerW > limitW && runs > 0) {
      // The firmware alternates between two clocks, so that the mean is the limit.
      while (runs > 0 && loadedW(runs) > limitW) runs--
      const above = runs + 1 < count ? loadedW(runs + 1) : limitW
      if (random.uniform() < (limitW - loadedW(runs)) / (above - loadedW(runs))) runs++
      powerW = limitW
      throttled = true
    }
    powerW *= 1 + ripple * random.normal()
    energyJ += powerW / 10
    seconds = [...seconds.slice(-9), powerW]
    const secondW = mean(seconds)

    // What it reports.
    const biased = is('bias') && size !== null ? 0.86 + 0.08 * size : 1
    told = [
      ...told.slice(-20),
      {
        averageW: round(biased * secondW * (1 + 0.1 * noise * random.normal()), 0.01),
        instantW: round((is('bias') && what === 2 ? 1 : biased) * powerW * (1 + noise * random.normal()), 0.01),
      },
    ]
    const newest = told.at(-1 - lagSteps) ?? told[0]!
    const isFrozen = isBlind && what === 0
    shown = {
      averageW: isFrozen ? shown.averageW : newest.averageW,
      instantW: isFrozen && size < 0.2 ? shown.instantW : newest.instantW,
    }
    const missing =
      random.uniform() < dropped || (is('readings') && size !== null && what === 1) || (is('dark') && size !== null)
    const wild = is('readings') && size !== null && what === 2 && random.uniform() < 0.3 ? one([0, 20, 0.5, 1.5]) : 1
    const ceiling = is('ceiling') && size !== null ? Math.floor(count * size) : count - 1
    const active = timeMs - workedMs <= NOTICE_MS ? 1 : 0.5
    const seen: ClockObservation = {
      timeMs: beginsMs + timeMs + STEP_MS,
      powerCapW,
      powerAverageW:
        missing || (reads === 'instant' && reading !== 'part-time')
          ? null
          : reading === 'part-time'
            ? wild * shown.instantW
            : wild * shown.averageW,
      powerInstantW: missing || reads === 'average' || reading === 'part-time' ? null : wild * shown.instantW,
      smClockMhz: !is('setters') && random.uniform() < 0.02 ? null : smClocksMhz[runs]!,
      loading: false,
      // What is not so is not mentioned.
      ...(refused && runs !== asked ? { refused: true } : {}),
      ...(throttled ? { throttled } : {}),
      ...(is('stands') ? {} : { activeShare: active, stallNoticeMs: NOTICE_MS }),
      ...(activity === 0 ? { idle: true } : {}),
      ...(is('ceiling') && size !== null ? { ceilingMhz: smClocksMhz[ceiling]! } : {}),
      ...(meters === 'meter' ? {} : { energyJ: energyJ * counterRatio }),
      ...(meters === 'counter' ? {} : { meterPowerW: powerW * counterRatio }),
      powerLimitW: limited ? powerCapW : null,
    }
    if (!missing) readMs = timeMs
    const action = controller.step(seen)
    onAction(action)
    const next = smClocksMhz.indexOf(action.smClockMhz)

    const saysWrong = (): boolean => {
      const { status, estimatedPowerW, biasW, clockMismatch } = action
      const { sensor, clock, delayMs } = action.seen
      if (Math.abs(estimatedPowerW - biasW - plantW[next]!) > 0.001) return true
      if (!is('pauses') && Math.abs(delayMs - STEP_MS * lagSteps) > 250) return true
      if (status === 'settled' && timeMs - changedMs < 2900) return true
      if (isBlind && what === 1) return status !== 'blind' || sensor !== 'missing'
      if (is('readings', 'bias') && size !== null) return false
      if (activity === 1 && (status === 'infeasible') !== trueW[0]! * load > 1.01 * powerCapW) return true
      if (is('stands', 'ceiling') && status !== 'settled') return true
      const off = Math.abs(runs - asked) > 2
      if ((lost || roof < count - 1) && clockMismatch !== off) return true
      if (clock !== (!off ? 'asked' : lost ? 'lost' : roof < count - 1 ? 'throttled' : clock)) return true
      return lagSteps === 0 && sensor !== 'good'
    }

    const breaksPromise = (): boolean => {
      const { status, targetPowerW } = action
      // Settled is what has not changed for three seconds, also at the begin.
      if (status === 'settled' && (next !== asked || timeMs - changedMs < 2800)) return true
      // The former tenants' readings say nothing about the new ones.
      if (status === 'infeasible' && is('plants', 'infeasible') && step > 0 && timeMs - planMs < 200 && begins)
        return true
      // Unseen, the clock does not rise; a new plan, cap or ceiling may be answered.
      if (next > asked && timeMs - readMs > 500 && timeMs - planMs > 0 && !is('ceiling')) return true
      if (next > Math.max(ceiling, 0) && activity === 1 && size === disturbed[step - 1]) return true
      // The target follows the correction of the step before.
      return targetPowerW * correction > powerCapW || targetPowerW * correction < 0.97 * powerCapW
    }
    if (breaksPromise()) tallies.broken++
    correction = action.seen.correction

    // Judged after the first seconds, and where the controller has had time to see what changed.
    const lagMs = STEP_MS * lagSteps
    const calm = size === null || is('steps', 'late', 'limited', 'plants', 'stands')
    if (timeMs > 10_000) {
      tallies.judged++
      const could = Math.min(before, runs) > 0 && !refused && !lost
      if (could && timeMs - steppedMs > 1000 && secondW > 1.01 * powerCapW) tallies.above++
      if (next !== asked) tallies.changes++
      const full = activity === 1 && timeMs - workedMs === 0
      const best = Math.min(
        ceiling,
        Math.max(
          0,
          trueW.findLastIndex((watt) => watt * load <= powerCapW),
        ),
      )
      // A new plan, cap or ceiling is answered at once; any other change has to show in the readings first.
      const answeredMs = is('steps', 'plants', 'ceiling') ? 500 : 2000 + lagMs
      if (full && spanMs > answeredMs && !refused && !lost && roof === count - 1) {
        const bestW = limited ? Math.min(powerCapW, trueW.at(-1)! * load) : trueW[best]! * load
        tallies.unused.push(Math.max(0, 1 - (limited ? secondW : trueW[next]! * load) / bestW))
      }
      if (calm && spanMs > 4000 + lagMs && activity === 1) {
        tallies.error.push(Math.abs(action.estimatedPowerW / trueW[next]! - 1))
      }
      // After a new plan, the estimate of the former tenants must not make the cap infeasible.
      if (is('infeasible') && spanMs < 2000 && action.status === 'infeasible' && secondW < powerCapW) tallies.wrong++
      if (!is('dark') && spanMs > (is('readings') ? 2500 : 6000 + 2 * lagMs)) {
        tallies.said++
        if (saysWrong()) tallies.wrong++
      }
    }
    if (next !== asked) changedMs = timeMs
    asked = next
  }
  const percent = (values: readonly number[]) => (values.length === 0 ? 0 : 100 * mean(values))
  return {
    above: (100 * tallies.above) / tallies.judged,
    unused: percent(tallies.unused),
    changes: (600 * tallies.changes) / tallies.judged,
    error: percent(tallies.error),
    wrong: (100 * tallies.wrong) / Math.max(1, tallies.said),
    broken: tallies.broken,
  }
}

/** Mean figures of many stories of one kind. */
export function judge(kind: Kind, stories: number, seed: number, without: readonly ClockMechanism[] = []): Judged {
  const all = Array.from({ length: stories }, (_, i) => live(kind, 1000 * seed + i, without))
  const of = (what: keyof Judged) => mean(all.map((each) => each[what]))
  return {
    above: of('above'),
    unused: of('unused'),
    changes: of('changes'),
    error: of('error'),
    wrong: of('wrong'),
    broken: of('broken'),
  }
}
