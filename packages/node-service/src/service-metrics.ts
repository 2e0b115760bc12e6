import { hostname } from 'node:os'
import { type BoardEvent, dcgmMetrics } from '@pctodl/nvml-control'
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { BoardKeeper } from './board-keeper.js'
import type { HeldLease } from './held-lease.js'
import { labelsOfWorkload } from './identity.js'
import type { BoardReadings } from './kept-board.js'

interface Observed {
  readonly boards: () => readonly BoardKeeper[]
  readonly connections: () => number
  readonly isReady: () => boolean
}

/** Labels of boards and leases, named as in dcgm-exporter. A metric omits the labels that it does not use. */
const boardLabels = ['gpu', 'UUID', 'device', 'modelName', 'Hostname', 'pci_bus_id', 'hpc_job', 'pod_uid'] as const

/** One value of a metric, after its labels. A value that could not be read is null or undefined, and is omitted. */
type Sample = readonly [Partial<Record<(typeof boardLabels)[number], string>>, number | null | undefined]

const gaugesOfReadings: readonly (readonly [
  name: string,
  help: string,
  of: (readings: BoardReadings) => number | null,
])[] = [
  ['power_watts', 'Power drawn: over the last second where the board averages.', ({ powerAverageW }) => powerAverageW],
  ['power_limit_watts', 'Power limit that is set.', ({ powerLimitW }) => powerLimitW],
  ['sm_clock_mhz', 'SM clock.', ({ smClockMhz }) => smClockMhz],
  ['mem_clock_mhz', 'Memory clock.', ({ memClockMhz }) => memClockMhz],
  ['clients', 'Processes with a context on the board.', ({ clients }) => clients],
  ['power_limit_default_watts', "The driver's own limit.", ({ limits }) => limits?.defaultW ?? null],
]

/** Metrics for Prometheus. Values that cannot be read are omitted; they are not reported as 0. */
export class ServiceMetrics {
  readonly registry: Registry = new Registry()
  readonly #restores: Counter<'outcome'>
  readonly #restoreSeconds: Histogram
  readonly #refusals: Counter<'code'>
  readonly #events: Counter<'gpu' | 'UUID' | 'event' | 'xid'>

  constructor({ boards, connections, isReady }: Observed) {
    const registers = [this.registry]
    const family = (kind: 'gauge' | 'counter', name: string, help: string, samples: () => Iterable<Sample>) => {
      // The driver's counters start when it is loaded, and only grow. So each metric is set to the driver's value.
      const collect = function (this: Gauge | Counter) {
        this.reset()
        for (const [labels, value] of samples()) if (typeof value === 'number') this.inc(labels, value)
      }
      const options = { name, help, registers, labelNames: boardLabels, collect }
      return kind === 'gauge' ? new Gauge(options) : new Counter(options)
    }
    family('gauge', 'pctodl_node_ready', 'Whether the service can lease boards (1) or not (0).', () => [
      [{}, isReady() ? 1 : 0],
    ])
    family('gauge', 'pctodl_node_connections', 'Clients that are connected.', () => [[{}, connections()]])
    family('gauge', 'pctodl_board_ok', 'Whether the board is there and as it should be (1) or not (0).', () =>
      boards().map((board) => [idsOf(board), board.state.condition === 'ok' ? 1 : 0]),
    )
    const ofReadings = (kind: 'gauge' | 'counter', name: string, help: string, of: (typeof gaugesOfReadings)[0][2]) =>
      family(kind, `pctodl_board_${name}`, help, () =>
        boards().map((board) => [idsOf(board), board.readings && of(board.readings)]),
      )
    ofReadings('counter', 'energy_joules_total', 'Energy since the driver was loaded.', ({ energyJ }) => energyJ)
    for (const each of gaugesOfReadings) ofReadings('gauge', ...each)
    const ofLeases = (name: string, help: string, is: (lease: HeldLease) => boolean) =>
      family('gauge', name, help, () =>
        boards().flatMap(({ index, targets }) =>
          targets.map(({ uuid, lease }): Sample => {
            const labels = { gpu: String(index), UUID: uuid, ...labelsOfWorkload(lease?.holder.peer.workload) }
            return [labels, lease && is(lease) ? 1 : 0]
          }),
        ),
      )
    ofLeases('pctodl_board_leased', 'Whether somebody holds the lease (1) or not (0).', () => true)
    ofLeases('pctodl_board_mps', 'Whether an MPS daemon of the lease runs (1) or not (0).', ({ mps }) => mps !== null)
    // The same quantities also appear under dcgm-exporter's names, for existing dashboards.
    for (const { name, type, help, value } of dcgmMetrics)
      family(type, name, help, () =>
        boards().map((board) => {
          const { index, name, readings, targets } = board
          const more = { device: `nvidia${index}`, modelName: name, Hostname: hostname() }
          const pci = readings ? { pci_bus_id: readings.pciBusId } : {}
          const workload = labelsOfWorkload(targets[0]?.lease?.holder.peer.workload)
          return [{ ...idsOf(board), ...more, ...pci, ...workload }, readings && value(readings)]
        }),
      )
    const counter = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
      new Counter({ name, help, labelNames, registers })
    this.#restores = counter('pctodl_node_restores_total', 'Boards put back, and attempts that failed.', 'outcome')
    this.#restoreSeconds = new Histogram({
      name: 'pctodl_node_restore_seconds',
      help: 'From the end of a lease to a board that is as it was.',
      buckets: [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10],
      registers,
    })
    const noticed = 'What the driver has noticed: XIDs, ECC errors, changes of clocks and performance states.'
    this.#events = counter('pctodl_board_events_total', noticed, 'gpu', 'UUID', 'event', 'xid')
    const refused = 'Requests that were refused or failed, by the code of the error.'
    this.#refusals = counter('pctodl_node_refusals_total', refused, 'code')
  }

  happened(board: BoardKeeper, { kind, xid }: BoardEvent): void {
    this.#events.inc({ ...idsOf(board), event: kind, xid: xid === null ? '' : String(xid) })
  }

  restored(outcome: 'ok' | 'failed', durationMs: number): void {
    this.#restores.inc({ outcome })
    if (outcome === 'ok') this.#restoreSeconds.observe(durationMs / 1000)
  }

  refused(code: string): void {
    this.#refusals.inc({ code })
  }
}

function idsOf({ index, uuid }: BoardKeeper) {
  return { gpu: String(index), UUID: uuid }
}
