import { loadPerfModel } from '@pctodl/perf-model'
import type { Telemetry, Tenant } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { type Action, PctodlPolicy, type PctodlPolicyOptions, type SampleObservation } from '../src/index.js'
import type { Decision } from '../src/policy.js'

/** A policy in the loop of a run: what it asks for is in force, and it is asked when idle. */
class Looped {
  readonly policy: PctodlPolicy
  readonly predictor
  readonly actions: { readonly timeMs: number; readonly action: Action }[] = []
  readonly decisions: { readonly timeMs: number; readonly decision: Decision }[] = []
  timeMs = 0
  #applied: SampleObservation['applied'] = { tenants: [], smClockMhz: null, memClockMhz: null, powerLimitW: 350 }

  constructor(gpu: '3080Ti' | 'A100', powerCapW: number, options: Partial<PctodlPolicyOptions> = {}) {
    this.predictor = loadPerfModel(gpu)
    const partition = { budgetEvaluations: 300 }
    this.policy = new PctodlPolicy({
      predictor: this.predictor,
      model: 'resnet50',
      partition,
      shadow: false,
      ...options,
    })
    this.#carryOut(this.policy.start(powerCapW))
  }

  get tenants(): readonly Tenant[] {
    return this.#applied.tenants
  }

  /** @param powerW what is read; by the model of what is in force where absent */
  for(durationMs: number, powerCapW: number, powerW?: number, more: Partial<SampleObservation> = {}): this {
    for (const endMs = this.timeMs + durationMs; this.timeMs < endMs; ) {
      this.timeMs += 100
      const { tenants, smClockMhz, memClockMhz } = this.#applied
      const modelled = () =>
        this.predictor.predict({ tenants, smClockMhz: smClockMhz!, memClockMhz: memClockMhz ?? 9501 }).powerW
      // A sensor that never says the same twice.
      const read = (powerW ?? modelled()) + (this.timeMs % 200) / 10_000
      const telemetry: Telemetry = {
        timeMs: this.timeMs,
        powerAverageW: read,
        powerInstantW: read,
        energyJ: null,
        smClockMhz,
        memClockMhz,
        smUtilPercent: null,
        memUtilPercent: null,
        temperatureC: null,
        memoryUsedBytes: null,
        clocksEventReasons: [],
      }
      const applied = this.#applied
      const usual = { reconfiguring: false, smClockRefusedMs: 0, failures: [] }
      this.#carryOut(
        this.policy.onSample({ timeMs: this.timeMs, telemetry, powerCapW, applied, activeShare: 1, ...usual, ...more }),
      )
      this.#carryOut(this.policy.onIdle(this.timeMs, this.#applied))
    }
    return this
  }

  capped(powerCapW: number): this {
    this.#carryOut(this.policy.onCapChange(powerCapW))
    return this
  }

  firstDecision(kind: string, detail: Record<string, unknown> = {}): number | undefined {
    const found = this.decisions.find(
      ({ decision }) =>
        decision.kind === kind && Object.entries(detail).every(([key, value]) => decision[key] === value),
    )
    return found?.timeMs
  }

  #carryOut(action: Action | undefined): void {
    for (const decision of this.policy.takeDecisions()) this.decisions.push({ timeMs: this.timeMs, decision })
    if (!action) return
    this.actions.push({ timeMs: this.timeMs, action })
    const { tenants = this.#applied.tenants, smClockMhz, memClockMhz } = action
    const lock = (wanted: number | 'unlocked' | undefined, before: number | null) =>
      wanted === undefined ? before : wanted === 'unlocked' ? null : wanted
    this.#applied = {
      ...this.#applied,
      tenants,
      smClockMhz: lock(smClockMhz, this.#applied.smClockMhz),
      memClockMhz: lock(memClockMhz, this.#applied.memClockMhz),
    }
  }
}

const starts = ({ actions }: Looped) => actions.filter(({ action }) => action.tenants)
const memClockMhz = { '3080Ti': 9501, A100: 1215 } as const

describe('a cap that no clock keeps', () => {
  const tenants = [50, 30, 20].map((mpsPercent) => ({ model: 'resnet50', mpsPercent, batchSize: 32 }))
  const fixedOn = (gpu: '3080Ti' | 'A100') =>
    new Looped(gpu, 130, { fixed: { tenants, memClockMhz: memClockMhz[gpu] } })

  it.each([
    ['A100', 'its only memory clock', 1215],
    ['3080Ti', 'its lowest memory clock, which it tries first', 5001],
  ] as const)('is trouble on a board (%s) that is read above it for 0.3 s at %s', (gpu, _, lowestMhz) => {
    for (const looped of [new Looped(gpu, 130), fixedOn(gpu)]) {
      looped.for(5000, 130).capped(60).for(15_000, 60, 95)
      const told = looped.firstDecision('infeasible')!
      const begun = looped.decisions.findLast(
        ({ timeMs, decision }) =>
          timeMs < told && decision.kind === 'clock-status' && decision['status'] === 'infeasible',
      )
      const last = looped.actions.findLast(({ timeMs, action }) => timeMs < told && action.memClockMhz !== undefined)!
      expect(last.action.memClockMhz).toBe(lowestMhz)
      const lowestMs = last.action.tenants === undefined ? last.timeMs : 0
      // The memory clock moves at the end of the step in which it is decided.
      const waitMs = told - Math.max(begun!.timeMs, lowestMs + 100)
      expect(waitMs).toBe(300)
    }
  })

  it('is said not to be held where the configuration is given, and the tenants stay', () => {
    const looped = fixedOn('A100').for(5000, 130).capped(60).for(30_000, 60, 95)
    expect(looped.tenants).toBe(tenants)
    expect(starts(looped)).toHaveLength(1)
    expect(looped.firstDecision('cap-not-held')).toBe(looped.firstDecision('infeasible'))
  })

  it('costs tenants where no plan keeps it, fewer and fewer, and is said not to be held by the last', () => {
    const looped = new Looped('A100', 130).for(5000, 130).capped(42).for(100_000, 42, 95)
    const counts = starts(looped).map(({ action }) => action.tenants!.length)
    for (let i = 1; i < counts.length; i++) expect(counts[i]).toBeLessThan(counts[i - 1]!)
    expect(counts.at(-1)).toBe(1)
    expect(looped.firstDecision('cap-not-held')).toBeGreaterThanOrEqual(starts(looped).at(-1)!.timeMs)
  })
})

describe('other tenants for a higher cap', () => {
  const raised = () => new Looped('A100', 110, { payBackS: 1e6 }).for(10_000, 110).capped(240)

  it('are started when the cap has lasted', () => {
    expect(starts(raised().for(30_000, 240)).length).toBe(2)
  })

  it('are not planned for while the board refuses its clock, which says nothing of what it could draw', () => {
    const looped = raised().for(50_000, 240, 105, { smClockRefusedMs: 400 })
    expect(starts(looped)).toHaveLength(1)
    expect(starts(looped.for(50_000, 240)).length).toBeGreaterThan(1)
  })

  it('are not planned for while tenants load, or are dead', () => {
    const loading = raised().for(50_000, 240, undefined, { reconfiguring: true })
    expect(starts(loading)).toHaveLength(1)
    const [tenant] = loading.tenants
    const failures = [{ tenant: tenant!, failure: 'out of memory: needs 2 GiB, 1 GiB are free' }]
    const fixed = { tenants: loading.tenants, memClockMhz: 1215 }
    const dead = new Looped('A100', 110, { fixed })
      .for(10_000, 110)
      .capped(240)
      .for(50_000, 240, undefined, { failures })
    expect(starts(dead)).toHaveLength(1)
    expect(dead.decisions.filter(({ decision }) => decision.kind === 'tenants-died')).toHaveLength(1)
  })
})
