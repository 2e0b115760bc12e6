import type { CapStep } from '@pctodl/platform'
import { describe, it } from 'vitest'
import { expectKept, type Row, storyOf } from './expect-kept.js'
import { pctodl, steps, tell } from './harness.js'

const seconds = (atS: number, forS: number) => ({ atMs: 1000 * atS, durationMs: 1000 * forS })
const stepAt20: CapStep[] = steps(20, 240, 160)
const disturbed: readonly Row[] = [
  [
    'readings that fail',
    { faults: [{ kind: 'telemetry-failing', ...seconds(15, 8) }] },
    { used: [[10, 40, 0.93]], settled: [[24, 6]] },
  ],
  [
    'readings that fail while the cap falls',
    { caps: steps(18, 220, 150), faults: [{ kind: 'telemetry-failing', ...seconds(15, 8) }] },
    { used: [[25, 40, 0.93]], settled: [[23, 8]] },
  ],
  [
    'readings that stand still while the cap falls',
    { caps: steps(20, 200, 160), faults: [{ kind: 'telemetry-frozen', ...seconds(15, 10) }] },
    { used: [[26, 40, 0.97]], settled: [[26, 6]] },
  ],
  [
    'a sensor that begins to read a tenth too much',
    { faults: [{ kind: 'sensor-bias', atMs: 15_000, gainPercent: 10 }] },
    { used: [[20, 40, 0.88]] },
  ],
  [
    'a clock that is refused while the cap falls',
    { caps: stepAt20, faults: [{ kind: 'setter-refused', setter: 'sm-clock', ...seconds(12, 12) }] },
    { used: [[26, 40, 0.96]], settled: [[25, 6]] },
  ],
  [
    'a clock that is not taken while the cap falls',
    { caps: stepAt20, faults: [{ kind: 'setter-ignored', setter: 'sm-clock', ...seconds(12, 12) }] },
    { used: [[26, 40, 0.96]], settled: [[25, 6]] },
  ],
  [
    'a limit that no setter changes',
    { caps: stepAt20, faults: [{ kind: 'setter-refused', atMs: 0, setter: 'power-limit', reason: 'not-supported' }] },
    { used: [[10, 40, 0.95]], settled: [[20, 9]] },
  ],
  [
    'a process that is killed',
    { faults: [{ kind: 'client-killed', atMs: 15_000, tenant: 0 }] },
    { used: [[10, 40, 0.97]], settled: [[15, 6]] },
  ],
  [
    'all processes that die together',
    { faults: [{ kind: 'mps-server-fault', atMs: 15_000, tenant: 0 }] },
    { used: [[20, 40, 0.96]], settled: [[15, 8]] },
  ],
  [
    'processes that die twice',
    {
      faults: [
        { kind: 'client-killed', atMs: 15_000, tenant: 0 },
        { kind: 'client-killed', atMs: 25_000, tenant: 0 },
      ],
    },
    { used: [[32, 40, 0.97]], settled: [[25, 8]] },
  ],
  [
    'a process that hangs and goes on',
    { faults: [{ kind: 'client-hung', tenant: 0, ...seconds(15, 8) }] },
    { used: [[24, 40, 0.97]], settled: [[24, 6]] },
  ],
  [
    'a board that is too hot for a while',
    { faults: [{ kind: 'thermal-slowdown', ...seconds(15, 6) }] },
    { used: [[28, 40, 0.97]], settled: [[22, 9]] },
  ],
  [
    'tenants that load slowly',
    { faults: [{ kind: 'slow-load', factor: 4, ...seconds(0, 5) }] },
    { used: [[12, 40, 0.97]] },
  ],
]

describe('a cap is kept and used again after', () => {
  for (const [name, part, expected, policy = pctodl] of disturbed) {
    it(name, async () => expectKept(await tell(storyOf(name, part), policy), expected))
  }
})
