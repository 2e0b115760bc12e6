import type { Fault } from '@pctodl/gpu-sim'
import type { Disturbance, DisturbanceKind } from './run-question.js'

interface Described {
  readonly name: string
  readonly meaning: string
  readonly fault: (atMs: number) => Fault
}

/** The fault that each disturbance injects into the simulated board. */
export const disturbances: Readonly<Record<DisturbanceKind, Described>> = {
  kill: {
    name: 'kill a process',
    meaning: 'the first inference process dies',
    fault: (atMs) => ({ kind: 'client-killed', tenant: 0, atMs }),
  },
  hang: {
    name: 'hang a process',
    meaning: 'the first process completes nothing for 10 s, and keeps its memory',
    fault: (atMs) => ({ kind: 'client-hung', tenant: 0, durationMs: 10_000, atMs }),
  },
  hot: {
    name: 'overheat the board',
    meaning: 'the firmware throttles for 10 s as if the board were too hot',
    fault: (atMs) => ({ kind: 'thermal-slowdown', durationMs: 10_000, atMs }),
  },
  bias: {
    name: 'sensor reads 8 % low',
    meaning: 'for 20 s; the firmware uses this reading, but the energy counter is right',
    fault: (atMs) => ({ kind: 'sensor-bias', gainPercent: -8, durationMs: 20_000, atMs }),
  },
  frozen: {
    name: 'sensor freezes',
    meaning: 'readings repeat their last value for 10 s',
    fault: (atMs) => ({ kind: 'telemetry-frozen', durationMs: 10_000, atMs }),
  },
  refused: {
    name: 'clock changes are refused',
    meaning: 'the board accepts no SM clock for 15 s',
    fault: (atMs) => ({ kind: 'setter-refused', setter: 'sm-clock', durationMs: 15_000, atMs }),
  },
  mps: {
    name: 'MPS server fault',
    meaning: 'a fault in one process ends all processes of its MPS server',
    fault: (atMs) => ({ kind: 'mps-server-fault', tenant: 0, atMs }),
  },
}

export function faultOf({ kind, atS }: Disturbance): Fault {
  return disturbances[kind].fault(atS * 1000)
}
