import { NO_INSTANCE, NOT_READ, NOT_READ_64, NOT_TOLD } from '../board-file-layout.js'
import type { BoardReading } from '../board-file-reader.js'

/** The boards' states and the time, as one run of nvidia-smi shows them. */
export interface SmiReading {
  readonly boards: readonly BoardReading[]
  readonly attachedGpus: number
  readonly date: Date
}

/** Text that the real tool's queries print for a failed reading. */
const FAILED = '[Unknown Error]'

/** A value of the report: a number with its unit, a text, or null if the board does not report it. */
export type Value = { readonly number: string; readonly unit: string } | string | null

const MIB = 1024 ** 2

export function quantity(value: number, unit: string, digits = 0): Value {
  if (value === NOT_READ) return FAILED
  return value === NOT_TOLD ? null : { number: value.toFixed(digits), unit }
}

export function megahertz(value: number): Value {
  return quantity(value, 'MHz')
}

export function watts(milliwatts: number): Value {
  return milliwatts >= NOT_READ ? quantity(milliwatts, 'W') : quantity(milliwatts / 1000, 'W', 2)
}

export function mebibytes(bytes: number): Value {
  return bytes === NOT_READ_64 ? FAILED : quantity(Math.floor(bytes / MIB), 'MiB')
}

export function whole(value: number): Value {
  if (value === NOT_READ) return FAILED
  return value === NOT_TOLD ? null : String(value)
}

export function enabled(flag: number): string {
  return flag ? 'Enabled' : 'Disabled'
}

export function active(flag: number | boolean): string {
  return flag ? 'Active' : 'Not Active'
}

/** Formats the id of a GPU or compute instance. */
export function instanceId(id: number): string {
  return id === NO_INSTANCE ? 'N/A' : String(id)
}

/** Formats a value for text and XML output. */
export function shown(value: Value): string {
  if (value === null) return 'N/A'
  if (value === FAILED) return 'Unknown Error'
  return typeof value === 'string' ? value : `${value.number} ${value.unit}`
}

export function computeModeName(mode: number, style: 'query' | 'table'): string {
  const names = {
    query: ['Default', 'Exclusive_Thread', 'Prohibited', 'Exclusive_Process'],
    table: ['Default', 'E. Thread', 'Prohibited', 'E. Process'],
  }
  return names[style][mode] ?? 'N/A'
}

export function cudaVersion(encoded: number): string {
  return `${Math.floor(encoded / 1000)}.${Math.floor((encoded % 1000) / 10)}`
}

/** Returns the memory that processes use, bytes, without the memory that the driver reserves. */
export function usedBytes({ identity, state }: BoardReading): number {
  return state.memoryUsedBytes === NOT_READ_64 ? NOT_READ_64 : state.memoryUsedBytes - identity.memoryReservedBytes
}

export function freeBytes({ identity, state }: BoardReading): number {
  return state.memoryUsedBytes === NOT_READ_64 ? NOT_READ_64 : identity.memoryTotalBytes - state.memoryUsedBytes
}

export function bar1UsedBytes({ state }: BoardReading): number {
  return (1 + 2 * state.processes.length) * MIB
}

export function hex(value: number, digits: number): string {
  return `0x${value.toString(16).toUpperCase().padStart(digits, '0')}`
}

/** Clocks event reasons. */
export const eventReasons: readonly { readonly name: string; readonly bit: number }[] = [
  { name: 'gpu_idle', bit: 0x1 },
  { name: 'applications_clocks_setting', bit: 0x2 },
  { name: 'sw_power_cap', bit: 0x4 },
  { name: 'hw_slowdown', bit: 0x8 },
  { name: 'hw_thermal_slowdown', bit: 0x40 },
  { name: 'hw_power_brake_slowdown', bit: 0x80 },
  { name: 'sync_boost', bit: 0x10 },
  { name: 'sw_thermal_slowdown', bit: 0x20 },
  { name: 'display_clocks_setting', bit: 0x100 },
]

/** Whether the board reports the clocks event reason with this bit. */
export function hasReason({ state }: BoardReading, bit: number): boolean {
  return (state.eventReasons & bit) !== 0
}

export function topSmClock({ identity }: BoardReading): number {
  return Math.max(...identity.smClocksMhz)
}

/** Formats local time as `Sat Jan 31 12:00:00 2026`. */
export function ctime(date: Date): string {
  const [weekday, month, day, year] = date.toDateString().split(' ')
  return `${weekday} ${month} ${String(Number(day)).padStart(2)} ${date.toTimeString().slice(0, 8)} ${year}`
}
