import type { Terminal } from '@pctodl/command-line'
import { type BoardStatus, boardStatus } from './board-status.js'
import { type BoardOptions, openNvml, printJson, readBoards, unreadableText } from './open-boards.js'
import { gibibytes, plainTable, shown } from './table.js'

export async function status(options: BoardOptions, terminal: Terminal): Promise<number> {
  const nvml = await openNvml(options, terminal)
  const { boards, unreadable } = readBoards(nvml, options, (device) => boardStatus(device, options.leaseDir))
  if (options.json) printJson(terminal, [...boards, ...unreadable])
  else terminal.stdout.write([...boards.map(statusText), ...unreadable.map(unreadableText)].join('\n'))
  return unreadable.length > 0 ? 1 : 0
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
    [
      'lease',
      board.leased === null
        ? 'not visible to this user'
        : board.leased
          ? `process ${board.leasedBy ?? '(not visible from here)'}`
          : 'free',
    ],
    ...board.processes.map((process) => [
      `process ${process.pid}`,
      `${gibibytes(process.usedBytes)}${process.isMpsClient ? ', MPS' : ''}${process.command ? `, ${process.command.slice(0, 80)}` : ''}`,
    ]),
  ]
  return `GPU ${board.index}: ${board.name} (${board.uuid})\n${plainTable([], rows)}`
}
