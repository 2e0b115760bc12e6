import { quantile } from '@pctodl/numerics'
import { type GpuSpec, memoryBandwidth, networkNames } from '@pctodl/platform'
import { boardPower } from '../../src/board-power.js'
import { regulatedLimitW } from '../../src/firmware-governor.js'
import { physicsOfBoard, simulateSteadyState } from '../../src/index.js'
import { computeBound, type GenericLoad, loadDrawing, partlyMemoryBound, powerOfLoad, underLimit } from './boards.js'
import type { Comparison, Point } from './comparison.js'
import { groupBy, number, type Row } from './table.js'

/** Sweeps of the power limit by language models: draw, clock and speed under limits that bind. */
export function capSweepLlm(rows: readonly Row[], spec: GpuSpec, table: string): Comparison[] {
  const draw: Point[] = []
  const clock: Point[] = []
  const kept: Point[] = []
  for (const sweep of groupBy(rows, 'workload')) {
    const name = sweep[0]!['workload']!
    const top = sweep.at(-1)!
    const experts = name.includes('decode') && name.includes('A3B')
    const slow = sweep[0]!
    const speed = experts ? memoryShareFrom(slow, top, spec.boostClockMhz) : computeBound
    const dramBytesPerS = name.includes('decode') ? 6e11 : 2.5e11
    const load = loadDrawing(spec, { dramBytesPerS, speed }, number(top, 'sm_clock_mhz'), number(top, 'power_w'))
    const at = (limitW: number) => underLimit(spec, load, limitW)
    const topClock = at(number(top, 'cap_w')).clockMhz
    for (const row of sweep.slice(experts ? 1 : 0, -1)) {
      const capW = number(row, 'cap_w')
      const label = `${name} at ${capW} W`
      const simulated = at(capW)
      draw.push({ label, measured: number(row, 'power_w'), simulated: simulated.powerW, baseline: capW })
      clock.push({ label, measured: number(row, 'sm_clock_mhz'), simulated: simulated.clockMhz })
      const relative = (clockMhz: number) => speed(clockMhz / spec.boostClockMhz)
      kept.push({
        label,
        measured: (100 * number(row, 'throughput_tok_s')) / number(top, 'throughput_tok_s'),
        simulated: (100 * relative(simulated.clockMhz)) / relative(topClock),
        baseline: 100 * Math.cbrt(capW / number(top, 'cap_w')),
      })
    }
  }
  const known = 'power at the highest limit; of a mixture of experts also the speed at the lowest'
  const common = { table, board: spec.key, known } as const
  return [
    {
      ...common,
      quantity: 'draw under a limit',
      errors: 'relative',
      heldOut: spec.key !== 'RTX3090',
      baseline: 'the limit',
      points: draw,
    },
    { ...common, quantity: 'clock under a limit', errors: 'relative', heldOut: true, baseline: 'none', points: clock },
    {
      ...common,
      quantity: 'speed kept under a limit, points',
      errors: 'points',
      heldOut: true,
      baseline: 'cube root of the limit',
      points: kept,
    },
  ]
}

/** The share of memory time that explains how much of its speed a workload keeps at one lower clock. */
function memoryShareFrom(slow: Row, top: Row, boostMhz: number): (relativeClock: number) => number {
  const wanted = number(slow, 'throughput_tok_s') / number(top, 'throughput_tok_s')
  const [a, b] = [slow, top].map((row) => number(row, 'sm_clock_mhz') / boostMhz)
  let [low, high] = [0, 1]
  for (let i = 0; i < 50; i++) {
    const share = (low + high) / 2
    const speed = partlyMemoryBound(share)
    if (speed(a!) / speed(b!) < wanted) low = share
    else high = share
  }
  return partlyMemoryBound(low)
}

/** A board at its top clocks without work. */
function idleAtTopClock(spec: GpuSpec): number {
  const none = { busySms: 0, flopPerS: 0, l2BytesPerS: 0, dramBytesPerS: 0 }
  return boardPower(spec, physicsOfBoard(spec), none, spec.boostClockMhz, spec.performanceMemClocksMhz[0]!, 45).totalW
}

/** Training under limits: how much speed the median workload keeps, against the median of the zoo's networks. */
export function capSweepTraining(rows: readonly Row[], spec: GpuSpec, table: string): Comparison[] {
  const caps = [...new Set(rows.map((row) => number(row, 'cap_w')))].sort((a, b) => a - b)
  const [lowestW, highestW] = [caps[0]!, caps.at(-1)!]
  const idleOfTrainingW = spec.chip === 'GV100' ? 40 : idleAtTopClock(spec)
  const draw: Point[] = []
  const kept = new Map<number, number[]>()
  const busy = groupBy(rows, 'dataset', 'network', 'batch_size', 'optimizer').filter((group) => {
    const top = group.find((row) => number(row, 'cap_w') === highestW)
    return top !== undefined && number(top, 'power_w') > 0.6 * highestW
  })
  for (const group of busy) {
    const top = number(group.find((row) => number(row, 'cap_w') === highestW)!, 'epoch_s')
    for (const row of group) {
      const capW = number(row, 'cap_w')
      kept.set(capW, [...(kept.get(capW) ?? []), (100 * top) / number(row, 'epoch_s')])
    }
  }
  const limits = [...kept.keys()].filter((capW) => capW < highestW).sort((a, b) => a - b)
  const simulated = (capW: number) => {
    const simulate = simulateSteadyState(spec, { precision: 'tf32', host: 'eager-pytorch', powerLimitW: capW })
    return networkNames.map((model) => {
      const state = simulate({
        tenants: [{ model, mpsPercent: 100, batchSize: 64 }],
        smClockMhz: spec.boostClockMhz,
        memClockMhz: spec.performanceMemClocksMhz[0]!,
      })
      return { throughput: state.throughput }
    })
  }
  const whole = simulated(highestW)
  const held = (limitW: number) => regulatedLimitW(physicsOfBoard(spec).firmware, limitW)
  const points = limits.map((capW) => {
    const states = simulated(capW)
    for (const group of busy) {
      const at = (limitW: number) => group.find((row) => number(row, 'cap_w') === limitW)
      const [row, top, lowest] = [at(capW), at(highestW), at(lowestW)]
      // Where the mean without a limit is not far above, phases of an epoch are that no limit binds.
      if (row === undefined || lowest === undefined || row === lowest || number(top!, 'power_w') < 1.3 * capW) continue
      const restS =
        number(lowest, 'epoch_s') * ((held(lowestW) - number(lowest, 'power_w')) / (held(lowestW) - idleOfTrainingW))
      const rest = Math.max(0, restS) / number(row, 'epoch_s')
      const label = ['dataset', 'network', 'batch_size', 'optimizer'].map((column) => row[column]).join(' ')
      draw.push({
        label: `${label} at ${capW} W`,
        measured: number(row, 'power_w'),
        simulated: (1 - rest) * held(capW) + rest * idleOfTrainingW,
        baseline: capW,
      })
    }
    return {
      label: `${capW} W`,
      measured: quantile(kept.get(capW)!, 0.5),
      simulated: quantile(
        states.map((state, i) => (100 * state.throughput) / whole[i]!.throughput),
        0.5,
      ),
      baseline: 100 * Math.cbrt(capW / highestW),
    }
  })
  const common = { table, board: spec.key, heldOut: true, known: 'nothing' } as const
  return [
    {
      ...common,
      quantity: 'draw where the limit takes a quarter and more',
      errors: 'relative',
      baseline: 'the limit',
      points: draw,
    },
    {
      ...common,
      quantity: 'median speed kept at a limit, points',
      errors: 'points',
      baseline: 'cube root of the limit',
      points,
    },
  ]
}

/** Four HPC codes on a grid of clocks and limits. */
export function clockCapGrid(rows: readonly Row[], spec: GpuSpec, table: string): Comparison[] {
  const [topMhz, highestW] = ['sm_clock_lock_mhz', 'cap_w'].map((column) =>
    Math.max(...rows.map((row) => number(row, column))),
  ) as [number, number]
  const bandwidth = 0.85 * memoryBandwidth(spec, spec.performanceMemClocksMhz[0]!)
  // An A100 PCIe without work at its top clock, before a load step (GPU_Power_Benchmark).
  const idleAtTopClockW = spec.chip === 'GA100' ? 60 : idleAtTopClock(spec)
  const plain = rows.filter((row) => row['mem_clock_mhz'] === '')
  const along = new Map<string, Point[]>()
  const draw: Point[] = []
  for (const group of groupBy(plain, 'benchmark')) {
    const name = group[0]!['benchmark']!
    const uncapped = group
      .filter((row) => number(row, 'cap_w') === highestW)
      .sort((a, b) => number(a, 'sm_clock_lock_mhz') - number(b, 'sm_clock_lock_mhz'))
    // Where the limit does not bind; the top clock of two codes is held by it.
    const free = uncapped.filter((row) => number(row, 'power_w') < 0.95 * highestW || name.startsWith('pi'))
    const anchor = free.at(-1)!
    const speed = (clock: number) => {
      const known = uncapped.map(
        (row) => [number(row, 'sm_clock_lock_mhz') / topMhz, number(row, 'performance')] as const,
      )
      const above = known.findIndex(([at]) => at >= clock - 1e-9)
      if (above <= 0) return (known[0]![1] * (above < 0 ? 1 : clock / known[0]![0])) / known.at(-1)![1]
      const [x0, y0] = known[above - 1]!
      const [x1, y1] = known[above]!
      return (y0 + ((y1 - y0) * (clock - x0)) / (x1 - x0)) / known.at(-1)![1]
    }
    const streaming = name === 'babelstream'
    const measured = Math.max(...uncapped.map((row) => 1e9 * number(row, 'performance')))
    const dramBytesPerS = streaming ? measured : name.startsWith('pi') ? 0 : 0.6 * bandwidth
    const load: GenericLoad = streaming
      ? { flopPerS: 0, dramBytesPerS, speed: () => 1 }
      : loadDrawing(spec, { dramBytesPerS, speed }, number(anchor, 'sm_clock_lock_mhz'), number(anchor, 'power_w'))
    for (const row of free) {
      if (!streaming && row === anchor) continue
      const clockMhz = number(row, 'sm_clock_lock_mhz')
      const kind = streaming
        ? 'streaming power'
        : name.startsWith('pi')
          ? 'fp64 power along the clock'
          : 'solver power along the clock'
      const points = along.get(kind) ?? []
      points.push({
        label: `${name} at ${clockMhz} MHz`,
        measured: number(row, 'power_w'),
        simulated: powerOfLoad(spec, load, clockMhz),
        ...(streaming
          ? {}
          : { baseline: (number(anchor, 'power_w') * clockMhz) / number(anchor, 'sm_clock_lock_mhz') }),
      })
      along.set(kind, points)
    }
    const bound = group.filter((row) => {
      return powerOfLoad(spec, load, number(row, 'sm_clock_lock_mhz')) >= 1.15 * number(row, 'cap_w')
    })
    // Means are of whole runs: how long the start of a run without work takes is known from one of them.
    const underCap = (row: Row) => underLimit(spec, load, number(row, 'cap_w')).powerW
    const first = bound[0]!
    const missingJ = (underCap(first) - number(first, 'power_w')) * number(first, 'time_s')
    const startS = missingJ / (underCap(first) - idleAtTopClockW)
    for (const row of bound.slice(1)) {
      const start = startS / number(row, 'time_s')
      draw.push({
        label: `${name} at ${number(row, 'cap_w')} W, ${number(row, 'sm_clock_lock_mhz')} MHz`,
        measured: number(row, 'power_w'),
        simulated: (1 - start) * underCap(row) + start * idleAtTopClockW,
        baseline: number(row, 'cap_w'),
      })
    }
  }
  const common = { table, board: spec.key } as const
  return [
    ...[...along].map(
      ([quantity, points]): Comparison => ({
        ...common,
        quantity,
        errors: 'relative',
        heldOut: spec.key !== 'A100-80GB-PCIe' || quantity.startsWith('solver'),
        known: quantity.startsWith('streaming') ? 'bandwidth' : 'power at the top clock, speed',
        baseline: quantity.startsWith('streaming') ? 'none' : 'proportional to the clock',
        points,
      }),
    ),
    {
      ...common,
      quantity: 'draw under a limit',
      errors: 'relative',
      heldOut: true,
      known: 'as above; how long a run takes to start, from one limit of each code, which is left out',
      baseline: 'the limit',
      points: draw,
    },
  ]
}

/** Kernels at ten clocks: power, and the clock of the least energy. */
export function dvfsKernels(rows: readonly Row[], spec: GpuSpec, table: string): Comparison[] {
  const clocks = [...new Set(rows.map((row) => number(row, 'sm_clock_mhz')))].sort((a, b) => a - b)
  const topMhz = clocks.at(-1)!
  const middleMhz = clocks.reduce((best, mhz) =>
    Math.abs(mhz - topMhz / 2) < Math.abs(best - topMhz / 2) ? mhz : best,
  )
  const power: Point[] = []
  const optimum: Point[] = []
  for (const group of groupBy(rows, 'set', 'benchmark', 'kernel', 'arg')) {
    const at = (clockMhz: number) => group.find((row) => number(row, 'sm_clock_mhz') === clockMhz)
    const [top, middle] = [at(topMhz), at(middleMhz)]
    if (!top || !middle || number(top, 'dram_active') > 0.1 || number(top, 'power_w') < 0.48 * spec.powerLimitW.default)
      continue
    const cycles = (number(middle, 'time_ms') * middleMhz) / (number(top, 'time_ms') * topMhz)
    if (cycles < 0.95 || cycles > 1.08) continue
    // The requested clock is not the real one at the lowest, and doubtful at the next.
    const usable = group.filter((row) => number(row, 'sm_clock_mhz') >= 0.43 * topMhz)
    const load = loadDrawing(spec, { dramBytesPerS: 5e10, speed: computeBound }, topMhz, number(top, 'power_w'))
    const name = `${top['benchmark']} ${top['kernel']} ${top['arg']}`
    const energies: { clock: number; measured: number; simulated: number }[] = []
    for (const row of usable) {
      const clock = number(row, 'sm_clock_mhz')
      const simulated = powerOfLoad(spec, load, clock)
      energies.push({ clock, measured: number(row, 'power_w') / clock, simulated: simulated / clock })
      if (row === top) continue
      power.push({
        label: `${name} at ${clock} MHz`,
        measured: number(row, 'power_w'),
        simulated,
        baseline: (number(top, 'power_w') * clock) / topMhz,
      })
    }
    const best = (value: 'measured' | 'simulated') =>
      energies.reduce((a, b) => (b[value] < a[value] ? b : a)).clock / topMhz
    optimum.push({
      label: name,
      measured: 100 * best('measured'),
      simulated: 100 * best('simulated'),
      baseline: 100,
    })
  }
  const common = {
    table,
    board: spec.key,
    known: spec.chip === 'GV100' ? 'power at the top clock; slope and floor of the voltage' : 'power at the top clock',
    heldOut: spec.chip !== 'GV100',
  }
  return [
    {
      ...common,
      quantity: 'power of compute-bound kernels along the clock',
      errors: 'relative',
      baseline: 'proportional to the clock',
      points: power,
    },
    {
      ...common,
      quantity: 'clock of least energy, points of boost',
      errors: 'points',
      baseline: 'the boost clock',
      points: optimum,
    },
  ]
}

/** Units of one model at their limit, under one large matrix product. */
export function limitUnits(rows: readonly Row[], spec: GpuSpec, table: string): Comparison[] {
  const limitW = spec.powerLimitW.default
  const bound = rows.filter((row) => row['workload'] === 'sgemm' && number(row, 'power_w') > 0.965 * limitW)
  const load = loadDrawing(spec, { dramBytesPerS: 1e11, speed: computeBound }, spec.boostClockMhz, 1.2 * limitW)
  const { powerW } = underLimit(spec, load, limitW)
  return [
    {
      table,
      board: spec.key,
      quantity: 'draw under the default limit',
      errors: 'relative',
      heldOut: spec.chip !== 'GV100',
      known: 'the margin of the firmware',
      baseline: 'the limit',
      points: bound.map((row) => ({
        label: `unit ${row['device']}, ${row['case']}`,
        measured: number(row, 'power_w'),
        simulated: powerW,
        baseline: limitW,
      })),
    },
  ]
}

/** Fastest and most efficient settings of servers: what the lower limit costs. */
export function mlperfPowerPairs(rows: readonly Row[], spec: GpuSpec, table: string): Comparison[] {
  const points: Point[] = []
  for (const pair of groupBy(rows, 'pair', 'benchmark', 'scenario')) {
    const fastest = pair.find((row) => row['mode'] === 'MaxP')
    const efficient = pair.find((row) => row['mode'] === 'MaxQ' && row['power_limit_configured_w'] !== '')
    if (!fastest || !efficient || fastest['scenario'] !== 'Offline') continue
    const model = fastest['benchmark']!.includes('resnet') ? 'resnet50' : null
    const limitW = number(efficient, 'power_limit_configured_w')
    const topW = fastest['system']!.includes('Station') ? 275 : spec.powerLimitW.default
    const perGpu = (row: Row) => number(row, 'throughput_per_s') / number(row, 'gpus')
    if (model === null || limitW >= topW) continue
    const throughput = (powerLimitW: number) =>
      simulateSteadyState(spec, { host: 'tensorrt-like', powerLimitW })({
        tenants: [{ model, mpsPercent: 100, batchSize: 256 }],
        smClockMhz: spec.boostClockMhz,
        memClockMhz: spec.performanceMemClocksMhz[0]!,
      }).throughput
    points.push({
      label: `${fastest['pair']}, ${fastest['benchmark']}, ${limitW} W`,
      measured: (100 * perGpu(efficient)) / perGpu(fastest),
      simulated: (100 * throughput(limitW)) / throughput(topW),
      baseline: 100 * Math.cbrt(limitW / topW),
    })
  }
  return [
    {
      table,
      board: spec.key,
      quantity: 'resnet50 throughput of MaxQ over MaxP, points',
      errors: 'points',
      heldOut: true,
      known: 'nothing; fp16 for int8',
      baseline: 'cube root of the limit',
      points,
    },
  ]
}
