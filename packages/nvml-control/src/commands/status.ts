import type { Terminal } from '@pctodl/command-line'
import { type BoardStatus, boardStatus } from './board-status.js'
import { type BoardOptions, openNvml, printJson, selectDevices } from './open-boards.js'
import { gibibytes, plainTable, shown } from './table.js'

export async function status(options: BoardOptions, terminal: Terminal): Promise<number> {
  const nvml = await openNvml(options, terminal)
  const boards = selectDevices(nvml, options).map((device) => boardStatus(device, options.leaseDir))
  if (options.json) printJson(terminal, boards)
  else terminal.stdout.write(boards.map(statusText).join('\n'))
  return 0
}

export function statusText(board: BoardStatus): string {
  const { telemetry } = board
  const limit = shown(board.powerLimitW, 'W')
  const rows = [
    [
      'power',
      `${shown(telemetry.powerAverageW, 'W', 1)} average, ${shown(telemetry.powerInstantW, 'W', 1)} instant, limit ${limit}`,
    ],
    ['clocks', `SM ${shown(telemetry.smClockMhz, 'MHz')}, memory ${shown(telemetry.memClockMhz, 'MHz')}`],
    ['clock events', board.eventReasons?.join(', ') || '-'],
    ['utilisation', `SM ${shown(telemetry.smUtilPercent, '%')}, memory ${shown(telemetry.memUtilPercent, '%')}`],
    ['memory', `${gibibytes(telemetry.memoryUsedBytes)} of ${gibibytes(board.memoryBytes)}`],
    ['temperature', shown(telemetry.temperatureC, 'C')],
    ['energy', shown(telemetry.energyJ, 'J', 1)],
    ['compute mode', board.computeMode ?? '-'],
    ['persistence', board.persistence === null ? '-' : board.persistence ? 'on' : 'off'],
    ['lease', board.leasedBy === null ? 'free' : `process ${board.leasedBy}`],
    ...board.processes.map((process) => [
      `process ${process.pid}`,
      `${gibibytes(process.usedBytes)}${process.isMpsClient ? ', MPS' : ''}${process.command ? `, ${process.command.slice(0, 80)}` : ''}`,
    ]),
  ]
  return `GPU ${board.index}: ${board.name} (${board.uuid})\n${plainTable([], rows)}`
}
