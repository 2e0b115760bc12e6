import { closeSync, openSync, readSync } from 'node:fs'
import { boardFilePath, isAlive } from './board-file.js'
import {
  BOARD_LAYOUT_VERSION,
  BOARD_MAGIC,
  type BoardHeader,
  type BoardIdentity,
  type BoardState,
  boardFile,
  boardHeader,
  boardIdentity,
  boardPresences,
  boardState,
} from './board-file-layout.js'
import { BoardLostError, BoardUnavailableError } from './host-errors.js'

export interface BoardReading {
  readonly header: BoardHeader
  readonly identity: BoardIdentity
  readonly state: BoardState
}

/**
 * Maximum age of a simulator's heartbeat, ns. With an older heartbeat, the simulator counts as ended. The native
 * library uses the same limit.
 */
const SILENT_NS = 20e9

/**
 * Reads all boards of a host.
 *
 * @throws BoardUnavailableError if no running simulator serves the board files
 * @throws BoardLostError if a board fell off the bus
 */
export function readBoards(folder: string): BoardReading[] {
  const first = readBoard(folder, 0)
  return Array.from({ length: first.header.gpuCount }, (_, i) => (i === 0 ? first : readBoard(folder, i)))
}

function readBoard(folder: string, gpuIndex: number): BoardReading {
  const bytes = new Uint8Array(boardFile.bytes)
  const view = new DataView(bytes.buffer)
  let fd: number
  try {
    fd = openSync(boardFilePath(folder, gpuIndex), 'r')
  } catch (cause) {
    throw new BoardUnavailableError(`no simulated board in ${folder}`, { cause })
  }
  try {
    for (;;) {
      readSync(fd, bytes, 0, bytes.length, 0)
      const header = boardHeader.read(view, boardFile.header)
      if (header.magic !== BOARD_MAGIC || header.version !== BOARD_LAYOUT_VERSION) {
        throw new BoardUnavailableError(`${boardFilePath(folder, gpuIndex)} is of another version of the simulator`)
      }
      const silentNs = Number(process.hrtime.bigint()) - header.heartbeatNs
      const isFresh = isAlive(header.simulatorPid) && silentNs < SILENT_NS
      if (header.presence === boardPresences.stopped || !isFresh) {
        throw new BoardUnavailableError('the simulator has ended')
      }
      if (header.presence === boardPresences.lost) {
        throw new BoardLostError(boardIdentity.read(view, boardFile.identity).busId)
      }
      if (header.sequence % 2 === 1) continue
      const again = new Uint8Array(4)
      readSync(fd, again, 0, 4, boardHeader.offsetOf('sequence'))
      if (new DataView(again.buffer).getUint32(0, true) !== header.sequence) continue
      return {
        header,
        identity: boardIdentity.read(view, boardFile.identity),
        state: boardState.read(view, boardFile.state),
      }
    }
  } finally {
    closeSync(fd)
  }
}
