import { hostname } from 'node:os'
import type { Telemetry } from '@pctodl/platform'
import { eventReasonBits } from '../nvml/event-reasons.js'
import type { BoardStatus } from './status.js'

interface Metric<Board> {
  readonly name: string
  readonly type: 'gauge' | 'counter'
  readonly help: string
  /** Value of the metric. Null omits the sample, because Prometheus has no value for "unknown". */
  readonly value: (board: Board) => number | null
}

type Reading = Telemetry & { readonly powerLimitW: number | null }

/** Metrics that NVIDIA's dcgm-exporter also exports. Names and units are the same. */
export const dcgmMetrics: readonly Metric<Reading>[] = [
  gauge('DCGM_FI_DEV_SM_CLOCK', 'SM clock frequency (in MHz).', ({ smClockMhz }) => smClockMhz),
  gauge('DCGM_FI_DEV_MEM_CLOCK', 'Memory clock frequency (in MHz).', ({ memClockMhz }) => memClockMhz),
  gauge('DCGM_FI_DEV_GPU_TEMP', 'GPU temperature (in C).', ({ temperatureC }) => temperatureC),
  gauge('DCGM_FI_DEV_POWER_USAGE', 'Power draw (in W).', ({ powerAverageW }) => powerAverageW),
  gauge('DCGM_FI_DEV_POWER_MGMT_LIMIT', 'Current power limit (in W).', ({ powerLimitW }) => powerLimitW),
  {
    name: 'DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION',
    type: 'counter',
    help: 'Total energy consumption since the driver was loaded (in mJ).',
    value: ({ energyJ }) => (energyJ === null ? null : Math.round(energyJ * 1000)),
  },
  gauge('DCGM_FI_DEV_GPU_UTIL', 'GPU utilization (in %).', ({ smUtilPercent }) => smUtilPercent),
  gauge('DCGM_FI_DEV_MEM_COPY_UTIL', 'Memory utilization (in %).', ({ memUtilPercent }) => memUtilPercent),
]

const mebibytes = (bytes: number | null) => (bytes === null ? null : Math.round(bytes / 1024 ** 2))

/** All exported metrics. Metrics that dcgm-exporter lacks begin with `pctodl_`. */
const metrics: readonly Metric<BoardStatus>[] = [
  ...dcgmMetrics.map(({ value, ...metric }) => ({
    ...metric,
    value: ({ telemetry, powerLimitW }: BoardStatus) => value({ ...telemetry, powerLimitW }),
  })),
  gauge(
    'DCGM_FI_DEV_POWER_USAGE_INSTANT',
    'Instantaneous power draw (in W).',
    (board) => board.telemetry.powerInstantW,
  ),
  gauge('DCGM_FI_DEV_ENFORCED_POWER_LIMIT', 'Effective power limit (in W).', (board) => board.enforcedPowerLimitW),
  gauge('DCGM_FI_DEV_FB_USED', 'Framebuffer memory used (in MiB).', (board) =>
    mebibytes(board.telemetry.memoryUsedBytes),
  ),
  gauge('DCGM_FI_DEV_FB_FREE', 'Framebuffer memory free (in MiB).', ({ telemetry, memoryBytes }) =>
    telemetry.memoryUsedBytes === null ? null : mebibytes(memoryBytes - telemetry.memoryUsedBytes),
  ),
  gauge(
    'DCGM_FI_DEV_CLOCK_THROTTLE_REASONS',
    'Current clock event reasons (bitmask).',
    ({ eventReasons }) => eventReasons?.reduce((bits, reason) => bits | eventReasonBits[reason], 0) ?? null,
  ),
  gauge('pctodl_compute_processes', 'Processes with a context on the board.', (board) => board.processes.length),
  gauge('pctodl_mps_clients', 'Processes that are clients of an MPS server.', ({ processes }) =>
    processes.some(({ isMpsClient }) => isMpsClient === null)
      ? null
      : processes.filter(({ isMpsClient }) => isMpsClient).length,
  ),
  gauge('pctodl_leased', 'Whether a program holds the right to change the board (1) or not (0).', ({ leased }) =>
    leased === null ? null : Number(leased),
  ),
]

/** Returns the metrics in Prometheus text format 0.0.4. @param lost names of the boards that cannot be read */
export function prometheusText(boards: readonly BoardStatus[], lost: readonly string[] = []): string {
  const host = hostname()
  const up = [...boards.map(({ index }) => [String(index), 1] as const), ...lost.map((gpu) => [gpu, 0] as const)]
  const readable = familyText(
    { name: 'pctodl_board_readable', type: 'gauge', help: 'Whether the board can be read (1) or is lost (0).' },
    up.map(([gpu, value]) => [{ gpu, Hostname: host }, value]),
  )
  const families = metrics.map((metric) =>
    familyText(
      metric,
      boards.map((board) => {
        const { index, uuid, name } = board
        return [{ gpu: String(index), UUID: uuid, modelName: name, Hostname: host }, metric.value(board)]
      }),
    ),
  )
  return readable + families.join('')
}

function familyText(
  { name, type, help }: Omit<Metric<never>, 'value'>,
  samples: readonly (readonly [labels: Readonly<Record<string, string>>, value: number | null])[],
): string {
  const lines = samples.flatMap(([labels, value]) => {
    if (value === null) return []
    const text = Object.entries(labels).map(([label, content]) => `${label}="${escaped(content)}"`)
    return `${name}{${text.join(',')}} ${value}\n`
  })
  return lines.length === 0 ? '' : `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`
}

function gauge<Board>(name: string, help: string, value: Metric<Board>['value']): Metric<Board> {
  return { name, type: 'gauge', help, value }
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
