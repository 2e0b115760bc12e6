import { hostname } from 'node:os'
import { type BoardEvent, boardFacts, type LeaseReport, type NvmlDevice } from '@pctodl/nvml-control'
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { labelsOfWorkload, type Workload } from './identity.js'

/** What is told of a board: a `BoardKeeper`, seen from here. */
interface ObservedBoard {
  readonly index: number
  readonly uuid: string
  readonly gpu: { readonly device: NvmlDevice }
  readonly condition: string
  /** Itself first, then its MIG instances. */
  readonly targets: readonly { readonly uuid: string; readonly lease: ObservedLease | null }[]
}

interface ObservedLease {
  readonly holder: { readonly peer: { readonly workload?: Workload | undefined } }
  readonly mps: object | null
  readonly report: LeaseReport | null
}

interface Observed {
  readonly boards: () => readonly ObservedBoard[]
  readonly connections: () => number
  readonly isReady: () => boolean
}

interface Sample {
  readonly labels: Readonly<Partial<Record<(typeof boardLabels)[number], string>>>
  readonly value: number
}

/** Of boards and leases; a family that has no use for a label leaves it out. Names as dcgm-exporter has them. */
const boardLabels = ['gpu', 'UUID', 'device', 'modelName', 'Hostname', 'pci_bus_id', 'hpc_job', 'pod_uid'] as const

/** The same quantities under dcgm-exporter's names, with its units, for the dashboards that are made for it. */
const asDcgmExporter: readonly (readonly [
  name: string,
  kind: 'gauge' | 'counter',
  help: string,
  read: (device: NvmlDevice) => number,
])[] = [
  ['DCGM_FI_DEV_POWER_USAGE', 'gauge', 'Power draw (in W).', (device) => device.powerW()],
  [
    'DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION',
    'counter',
    'Total energy consumption since boot (in mJ).',
    (device) => device.energyJ() * 1000,
  ],
  ['DCGM_FI_DEV_POWER_MGMT_LIMIT', 'gauge', 'Power limit (in W).', (device) => device.powerLimitW()],
  ['DCGM_FI_DEV_SM_CLOCK', 'gauge', 'SM clock frequency (in MHz).', (device) => device.smClockMhz()],
  ['DCGM_FI_DEV_MEM_CLOCK', 'gauge', 'Memory clock frequency (in MHz).', (device) => device.memClockMhz()],
]

/** What Prometheus gets. Boards are read when it asks, and only then; what cannot be read is left out, never 0. */
export class ServiceMetrics {
  readonly registry: Registry = new Registry()
  readonly #restores: Counter<'outcome'>
  readonly #restoreSeconds: Histogram
  readonly #refusals: Counter<'code'>
  readonly #events: Counter<'gpu' | 'UUID' | 'event' | 'xid'>

  constructor({ boards, connections, isReady }: Observed) {
    const registers = [this.registry]
    const gauge = (name: string, help: string, collect: (set: (value: number) => void) => void) =>
      new Gauge({
        name,
        help,
        registers,
        collect() {
          collect((value) => this.set(value))
        },
      })
    gauge('pctodl_node_ready', 'Whether the service can lease boards (1) or not (0).', (set) => set(isReady() ? 1 : 0))
    gauge('pctodl_node_connections', 'Clients that are connected.', (set) => set(connections()))
    // One sample for each reading; those that cannot be had are left out.
    const family = (kind: 'gauge' | 'counter', name: string, help: string, samples: () => Iterable<Sample>) => {
      const options = { name, help, registers, labelNames: boardLabels }
      if (kind === 'gauge') {
        new Gauge({
          ...options,
          collect() {
            this.reset()
            for (const { labels, value } of samples()) this.set(labels, value)
          },
        })
      } else {
        new Counter({
          ...options,
          collect() {
            this.reset()
            for (const { labels, value } of samples()) this.inc(labels, value)
          },
        })
      }
    }
    const ofBoards = (name: string, help: string, read: (board: ObservedBoard) => number | null) =>
      family('gauge', name, help, function* () {
        for (const board of boards()) yield* sample(read, board, { gpu: String(board.index), UUID: board.uuid })
      })
    const ofTargets = (name: string, help: string, read: (lease: ObservedLease | null) => number | null | undefined) =>
      family('gauge', name, help, function* () {
        for (const { index, targets } of boards()) {
          for (const { uuid, lease } of targets) {
            const workload = labelsOfWorkload(lease?.holder.peer.workload)
            yield* sample(read, lease, { gpu: String(index), UUID: uuid, ...workload })
          }
        }
      })
    const reading = (name: string, help: string, read: (device: NvmlDevice) => number | null) =>
      ofBoards(name, help, ({ gpu }) => read(gpu.device))
    ofBoards('pctodl_board_ok', 'Whether the board is there and as it should be (1) or not (0).', ({ condition }) =>
      condition === 'ok' ? 1 : 0,
    )
    ofTargets('pctodl_board_leased', 'Whether somebody holds the lease (1) or not (0).', (lease) => (lease ? 1 : 0))
    ofTargets('pctodl_board_mps', 'Whether an MPS daemon of the lease runs (1) or not (0).', (lease) =>
      lease?.mps ? 1 : 0,
    )
    reading('pctodl_board_power_watts', 'Power drawn.', (device) => device.powerW())
    reading('pctodl_board_power_limit_watts', 'Power limit that is set.', (device) => device.powerLimitW())
    reading('pctodl_board_sm_clock_mhz', 'SM clock.', (device) => device.smClockMhz())
    reading('pctodl_board_mem_clock_mhz', 'Memory clock.', (device) => device.memClockMhz())
    reading(
      'pctodl_board_clients',
      'Processes with a context on the board.',
      (device) => device.computeProcesses().length,
    )
    reading('pctodl_board_power_limit_default_watts', "The driver's own limit.", (device) => {
      return boardFacts(device).powerLimitW?.defaultW ?? null
    })
    family('counter', 'pctodl_board_energy_joules', 'Energy since the driver was loaded.', function* () {
      for (const { index, uuid, gpu } of boards())
        yield* sample((device) => device.energyJ(), gpu.device, { gpu: String(index), UUID: uuid })
    })
    for (const [name, kind, help, read] of asDcgmExporter) {
      family(kind, name, help, function* () {
        for (const { gpu, index, uuid, targets } of boards()) {
          const workload = labelsOfWorkload(targets[0]?.lease?.holder.peer.workload)
          const ids = { gpu: String(index), UUID: uuid, device: `nvidia${index}`, Hostname: hostname() }
          yield* sample(read, gpu.device, { ...ids, ...workload }, ({ name, pciBusId }) => ({
            modelName: name,
            pci_bus_id: pciBusId,
          }))
        }
      })
    }
    ofTargets('pctodl_lease_power_cap_watts', 'Cap that the holder aims at.', (lease) => lease?.report?.powerCapW)
    ofTargets(
      'pctodl_lease_planned_samples_per_second',
      'Throughput of the plan.',
      (lease) => lease?.report?.planned?.samplesPerSecond,
    )
    ofTargets('pctodl_lease_planned_power_watts', 'Power of the plan.', (lease) => lease?.report?.planned?.powerW)
    ofTargets(
      'pctodl_lease_samples_per_second',
      'Throughput attained.',
      (lease) => lease?.report?.attained?.samplesPerSecond,
    )
    ofTargets('pctodl_lease_power_watts', 'Power attained.', (lease) => lease?.report?.attained?.powerW)
    ofTargets('pctodl_lease_tenants', 'Inference processes of the holder.', (lease) => lease?.report?.tenants.length)
    this.#restores = new Counter({
      name: 'pctodl_node_restores_total',
      help: 'Boards put back, and attempts that failed.',
      labelNames: ['outcome'],
      registers,
    })
    this.#restoreSeconds = new Histogram({
      name: 'pctodl_node_restore_seconds',
      help: 'From the end of a lease to a board that is as it was.',
      buckets: [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10],
      registers,
    })
    this.#events = new Counter({
      name: 'pctodl_board_events_total',
      help: 'What the driver has noticed: XIDs, ECC errors, changes of clocks and performance states.',
      labelNames: ['gpu', 'UUID', 'event', 'xid'],
      registers,
    })
    this.#refusals = new Counter({
      name: 'pctodl_node_refusals_total',
      help: 'Requests that were refused or failed, by the code of the error.',
      labelNames: ['code'],
      registers,
    })
  }

  happened({ index, uuid }: Pick<ObservedBoard, 'index' | 'uuid'>, { kind, xid }: BoardEvent): void {
    this.#events.inc({ gpu: String(index), UUID: uuid, event: kind, xid: xid === null ? '' : String(xid) })
  }

  restored(outcome: 'ok' | 'failed', durationMs: number): void {
    this.#restores.inc({ outcome })
    if (outcome === 'ok') this.#restoreSeconds.observe(durationMs / 1000)
  }

  refused(code: string): void {
    this.#refusals.inc({ code })
  }
}

/** A board that cannot be read has no sample; the others have theirs. */
function sample<T>(
  read: (of: T) => number | null | undefined,
  of: T,
  labels: Sample['labels'],
  moreLabels?: (of: T) => Sample['labels'],
): Sample[] {
  try {
    const value = read(of)
    return typeof value === 'number' ? [{ labels: { ...labels, ...moreLabels?.(of) }, value }] : []
  } catch {
    return []
  }
}
