import type { Terminal } from '@pctodl/command-line'
import { boardFacts } from '../describe/board-facts.js'
import { type BoardOptions, openNvml, printJson, readBoards, unreadableText } from './open-boards.js'
import { gibibytes, plainTable } from './table.js'

export async function list(options: BoardOptions, terminal: Terminal): Promise<number> {
  const nvml = await openNvml(options, terminal)
  const { boards, unreadable } = readBoards(nvml, options, (device) => {
    const { clockStates: _, ...facts } = boardFacts(device)
    return { ...facts, mig: device.mig() }
  })
  const { driverVersion, nvmlVersion, libraryPath } = nvml
  if (options.json) {
    printJson(terminal, { driverVersion, nvmlVersion, libraryPath, boards: [...boards, ...unreadable] })
    return unreadable.length > 0 ? 1 : 0
  }
  terminal.stdout.write(`driver ${driverVersion}, NVML ${nvmlVersion} (${libraryPath})\n`)
  const rows = boards.map((board) => [
    String(board.index),
    board.name,
    board.uuid,
    board.pciBusId,
    `${board.architecture} ${board.computeCapability}`,
    board.smCount === null ? '-' : String(board.smCount),
    gibibytes(board.memoryBytes),
    board.mig === null ? 'none' : board.mig.enabled ? `${board.mig.instances.length} instances` : 'off',
  ])
  terminal.stdout.write(plainTable(['GPU', 'name', 'UUID', 'bus', 'architecture', 'SMs', 'memory', 'MIG'], rows))
  for (const board of boards) {
    for (const instance of board.mig?.instances ?? []) {
      terminal.stdout.write(`  GPU ${board.index}: ${instance.name} (${instance.uuid})\n`)
    }
  }
  terminal.stdout.write(unreadable.map(unreadableText).join(''))
  return unreadable.length > 0 ? 1 : 0
}
