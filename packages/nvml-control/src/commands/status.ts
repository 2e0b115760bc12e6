import type { Terminal } from '@pctodl/command-line'
import type { Telemetry } from '@pctodl/platform'
import type { ComputeMode } from '../control/board-change.js'
import { LeaseFolder } from '../lease/lease-folder.js'
import { commandLineOf } from '../lease/process-identity.js'
import type { EventReasonName } from '../nvml/event-reasons.js'
import type { NvmlDevice } from '../nvml/nvml-device.js'
import { orNull } from '../nvml/nvml-error.js'
import type { ComputeProcess } from '../nvml/processes.js'
import { readTelemetry } from '../nvml/telemetry.js'
import { type BoardOptions, openNvml, printJson, readBoards, unreadableText } from './open-boards.js'
import { gibibytes, plainTable, shown } from './table.js'

export interface BoardStatus {
  readonly index: number
  readonly name: string
  readonly uuid: string
  readonly telemetry: Telemetry
  readonly eventReasons: readonly EventReasonName[] | null
  readonly powerLimitW: number | null
  readonly enforcedPowerLimitW: number | null
  readonly defaultPowerLimitW: number | null
  readonly memoryBytes: number
  readonly computeMode: ComputeMode | null
  readonly persistence: boolean | null
  readonly processes: readonly (ComputeProcess & { readonly command: string | null })[]
  /** Whether a process holds the board's lease by this user's lease folder; null if another user owns the folder. */
  readonly leased: boolean | null
  /** Pid of that process; null if it is not visible. */
  readonly leasedBy: number | null
}

export function boardStatus(device: NvmlDevice, leaseFolder?: string): BoardStatus {
  const { uuid } = device
  const folder = new LeaseFolder(leaseFolder)
  const leasedBy = folder.holder(uuid)
  return {
    index: device.index,
    name: device.name,
    uuid,
    telemetry: readTelemetry(device),
    eventReasons: orNull(() => device.eventReasonNames()),
    powerLimitW: orNull(() => device.powerLimitW()),
    enforcedPowerLimitW: orNull(() => device.enforcedPowerLimitW()),
    defaultPowerLimitW: orNull(() => device.powerLimits().defaultW),
    memoryBytes: device.memory().totalBytes,
    computeMode: orNull(() => device.computeMode()),
    persistence: orNull(() => device.persistence()),
    processes: device.computeProcesses().map((process) => ({ ...process, command: commandLineOf(process.pid) })),
    leased: leasedBy !== null ? true : folder.isVisible() ? false : null,
    leasedBy,
  }
}

export async function status(options: BoardOptions, terminal: Terminal): Promise<number> {
  const nvml = await openNvml(options, terminal)
  const { boards, unreadable } = readBoards(nvml, options, (device) => boardStatus(device, options.leaseDir))
  if (options.json) printJson(terminal, [...boards, ...unreadable])
  else terminal.stdout.write([...boards.map(statusText), ...unreadable.map(unreadableText)].join('\n'))
  return unreadable.length > 0 ? 1 : 0
}

export function statusText(board: BoardStatus): string {
  const { telemetry } = board
  const power = `${shown(telemetry.powerAverageW, 'W', 1)} average, ${shown(telemetry.powerInstantW, 'W', 1)} instant`
  const holder = board.leased ? `process ${board.leasedBy ?? '(not visible from here)'}` : 'free'
  const rows = [
    ['power', `${power}, limit ${shown(board.powerLimitW, 'W')}`],
    ['clocks', `SM ${shown(telemetry.smClockMhz, 'MHz')}, memory ${shown(telemetry.memClockMhz, 'MHz')}`],
    ['clock events', board.eventReasons?.join(', ') || '-'],
    ['utilisation', `SM ${shown(telemetry.smUtilPercent, '%')}, memory ${shown(telemetry.memUtilPercent, '%')}`],
    ['memory', `${gibibytes(telemetry.memoryUsedBytes)} of ${gibibytes(board.memoryBytes)}`],
    ['temperature', shown(telemetry.temperatureC, 'C')],
    ['energy', shown(telemetry.energyJ, 'J', 1)],
    ['compute mode', board.computeMode ?? '-'],
    ['persistence', board.persistence === null ? '-' : board.persistence ? 'on' : 'off'],
    ['lease', board.leased === null ? 'not visible to this user' : holder],
    ...board.processes.map((process) => [
      `process ${process.pid}`,
      `${gibibytes(process.usedBytes)}${process.isMpsClient ? ', MPS' : ''}${process.command ? `, ${process.command.slice(0, 80)}` : ''}`,
    ]),
  ]
  return `GPU ${board.index}: ${board.name} (${board.uuid})\n${plainTable([], rows)}`
}
