import { given } from '@pctodl/platform'
import { NOT_READ } from '../board-file-layout.js'
import type { BoardReading } from '../board-file-reader.js'
import {
  active,
  computeModeName,
  enabled,
  eventReasons,
  freeBytes,
  hasReason,
  hex,
  mebibytes,
  megahertz,
  quantity,
  type SmiReading,
  topSmClock,
  usedBytes,
  type Value,
  watts,
  whole,
} from './reading.js'

export interface QueryField<Row> {
  /** Canonical name of the field, which the CSV header shows. */
  readonly name: string
  readonly aliases: readonly string[]
  /** Unit in the header. */
  readonly unit?: string
  value(row: Row, reading: SmiReading): Value
}

type GpuField = QueryField<BoardReading>

/**
 * Defines a field of a query.
 *
 * @param names the canonical name and its aliases, separated by spaces
 */
export function field<Row = BoardReading>(
  names: string,
  value: QueryField<Row>['value'],
  unit?: string,
): QueryField<Row> {
  const [name = '', ...aliases] = names.split(' ')
  return { name, aliases, value, ...given({ unit }) }
}

const absent = (...names: string[]): GpuField[] => names.map((name) => field(name, () => null))
const ecc = ({ identity }: BoardReading, value: Value): Value => (identity.hasEcc ? value : null)
const application = ({ identity }: BoardReading, mhz: number): Value =>
  identity.hasApplicationClocks ? megahertz(mhz) : null

const SUPPORTED_REASONS = 0x6f

const eccCounters = ['corrected', 'uncorrected'].flatMap((kind) =>
  ['volatile', 'aggregate'].flatMap((span) =>
    ['device_memory', 'dram', 'register_file', 'l1_cache', 'l2_cache', 'texture_memory', 'cbu', 'sram', 'total'].map(
      (where) => field(`ecc.errors.${kind}.${span}.${where}`, (board) => ecc(board, '0')),
    ),
  ),
)

/** All fields of `--query-gpu`, with the names and meanings of NVIDIA's `--help-query-gpu`. */
export const gpuFields: readonly GpuField[] = [
  field('timestamp', (_, { date }) => timestamp(date)),
  field('driver_version', ({ identity }) => identity.driverVersion),
  field('count', (_, { attachedGpus }) => String(attachedGpus)),
  field('name gpu_name', ({ identity }) => identity.name),
  field('serial gpu_serial', () => null),
  field('uuid gpu_uuid', ({ identity }) => identity.uuid),
  field('pci.bus_id gpu_bus_id', ({ identity }) => identity.busId),
  field('pci.domain', ({ identity }) => hex(identity.pciDomain, 4)),
  field('pci.bus', ({ identity }) => hex(identity.pciBus, 2)),
  field('pci.device', ({ identity }) => hex(identity.pciDevice, 2)),
  field('pci.device_id', ({ identity }) => hex(identity.pciDeviceId, 8)),
  field('pci.sub_device_id', ({ identity }) => hex(identity.pciSubsystemId, 8)),
  field('pcie.link.gen.current', ({ state }) => whole(state.pcieGen)),
  field('pcie.link.gen.gpucurrent', ({ state }) => whole(state.pcieGen)),
  field('pcie.link.gen.max', ({ identity }) => whole(identity.pcieGenMax)),
  field('pcie.link.gen.gpumax', ({ identity }) => whole(identity.pcieGenMax)),
  field('pcie.link.gen.hostmax', ({ identity }) => whole(identity.pcieGenMax)),
  field('pcie.link.width.current', ({ identity }) => whole(identity.pcieWidthMax)),
  field('pcie.link.width.max', ({ identity }) => whole(identity.pcieWidthMax)),
  field('index', ({ header }) => String(header.gpuIndex)),
  field('display_mode', () => 'Disabled'),
  field('display_attached', () => 'No'),
  field('display_active', () => 'Disabled'),
  field('persistence_mode', ({ state }) => enabled(state.persistenceMode)),
  field('addressing_mode', () => 'None'),
  field('accounting.mode', () => 'Disabled'),
  field('accounting.buffer_size', () => '4000'),
  ...absent('driver_model.current', 'driver_model.pending'),
  field('vbios_version', ({ identity }) => identity.vbiosVersion),
  ...absent('inforom.img inforom.image', 'inforom.oem', 'inforom.ecc', 'inforom.pwr inforom.power'),
  ...absent('gom.current gpu_operation_mode.current', 'gom.pending gpu_operation_mode.pending'),
  field('fan.speed', ({ state }) => quantity(state.fanPercent, '%'), '%'),
  field('pstate', ({ state }) => (state.pstate > 15 ? null : `P${state.pstate}`)),
  field('clocks_event_reasons.supported clocks_throttle_reasons.supported', () => hex(SUPPORTED_REASONS, 16)),
  field('clocks_event_reasons.active clocks_throttle_reasons.active', ({ state }) => hex(state.eventReasons, 16)),
  ...eventReasons.map(({ name, bit }) =>
    field(`clocks_event_reasons.${name} clocks_throttle_reasons.${name}`, (board) => active(hasReason(board, bit))),
  ),
  field('memory.total', ({ identity }) => mebibytes(identity.memoryTotalBytes), 'MiB'),
  field('memory.reserved', ({ identity }) => mebibytes(identity.memoryReservedBytes), 'MiB'),
  field('memory.used', (board) => mebibytes(usedBytes(board)), 'MiB'),
  field('memory.free', (board) => mebibytes(freeBytes(board)), 'MiB'),
  field('compute_mode', ({ state }) => computeModeName(state.computeMode, 'query')),
  field('compute_cap', ({ identity }) => `${identity.computeMajor}.${identity.computeMinor}`),
  field('utilization.gpu', ({ state }) => quantity(state.smUtilPercent, '%'), '%'),
  field('utilization.memory', ({ state }) => quantity(state.memUtilPercent, '%'), '%'),
  ...['encoder', 'decoder', 'jpeg', 'ofa'].map((engine) => field(`utilization.${engine}`, () => quantity(0, '%'), '%')),
  field('encoder.stats.sessionCount', () => '0'),
  field('encoder.stats.averageFps', () => '0'),
  field('encoder.stats.averageLatency', () => '0'),
  field('ecc.mode.current', (board) => ecc(board, 'Enabled')),
  field('ecc.mode.pending', (board) => ecc(board, 'Enabled')),
  ...eccCounters,
  ...absent(
    'retired_pages.single_bit_ecc.count retired_pages.sbe',
    'retired_pages.double_bit.count retired_pages.dbe',
    'retired_pages.pending',
  ),
  field('temperature.gpu', ({ state }) => whole(state.temperatureC)),
  field('temperature.gpu.tlimit', ({ identity, state }) =>
    whole(state.temperatureC === NOT_READ ? NOT_READ : identity.temperatureMaxC - state.temperatureC),
  ),
  field('temperature.memory', ({ state }) => whole(state.memoryTemperatureC)),
  field('power.management', () => 'Enabled'),
  field('power.draw', ({ state }) => watts(state.powerAverageMw), 'W'),
  field('power.draw.average', ({ state }) => watts(state.powerAverageMw), 'W'),
  field('power.draw.instant', ({ state }) => watts(state.powerInstantMw), 'W'),
  field('power.limit', ({ state }) => watts(state.powerLimitMw), 'W'),
  field('enforced.power.limit', ({ state }) => watts(state.powerLimitMw), 'W'),
  field('power.default_limit', ({ identity }) => watts(identity.powerDefaultMw), 'W'),
  field('power.min_limit', ({ identity }) => watts(identity.powerMinMw), 'W'),
  field('power.max_limit', ({ identity }) => watts(identity.powerMaxMw), 'W'),
  field('clocks.current.graphics clocks.gr', ({ state }) => megahertz(state.smClockMhz), 'MHz'),
  field('clocks.current.sm clocks.sm', ({ state }) => megahertz(state.smClockMhz), 'MHz'),
  field('clocks.current.memory clocks.mem', ({ state }) => megahertz(state.memClockMhz), 'MHz'),
  field('clocks.current.video clocks.video', ({ state }) => megahertz(state.videoClockMhz), 'MHz'),
  field(
    'clocks.applications.graphics clocks.applications.gr',
    (board) => application(board, board.state.applicationSmClockMhz),
    'MHz',
  ),
  field(
    'clocks.applications.memory clocks.applications.mem',
    (board) => application(board, board.state.applicationMemClockMhz),
    'MHz',
  ),
  field(
    'clocks.default_applications.graphics clocks.default_applications.gr',
    (board) => application(board, board.identity.defaultSmClockMhz),
    'MHz',
  ),
  field(
    'clocks.default_applications.memory clocks.default_applications.mem',
    (board) => application(board, board.identity.memClocksMhz[0]!),
    'MHz',
  ),
  field('clocks.max.graphics clocks.max.gr', (board) => megahertz(topSmClock(board)), 'MHz'),
  field('clocks.max.sm', (board) => megahertz(topSmClock(board)), 'MHz'),
  field('clocks.max.memory clocks.max.mem', ({ identity }) => megahertz(identity.memClocksMhz[0]!), 'MHz'),
  field('mig.mode.current', ({ identity, state }) => (identity.hasMig ? enabled(state.migCurrent) : null)),
  field('mig.mode.pending', ({ identity, state }) => (identity.hasMig ? enabled(state.migPending) : null)),
  ...absent('gsp.mode.current', 'gsp.mode.default', 'c2c.mode', 'fabric.state', 'fabric.status'),
  ...['total', 'used', 'free'].map((kind) => field(`protected_memory.${kind}`, () => quantity(0, 'MiB'), 'MiB')),
]

/** Formats local time as `2026/01/31 12:00:00.000`. */
export function timestamp(date: Date): string {
  const two = (value: number) => String(value).padStart(2, '0')
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join('/')
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':')
  return `${day} ${time}.${String(date.getMilliseconds()).padStart(3, '0')}`
}
