import { closeSync, fchmodSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import {
  BOARD_LAYOUT_VERSION,
  BOARD_MAGIC,
  type BoardEventType,
  type BoardIdentity,
  type BoardRequest,
  type BoardState,
  boardEvent,
  boardEvents,
  boardEventTypes,
  boardFile,
  boardHeader,
  boardIdentity,
  boardPresences,
  boardRequest,
  boardState,
  EVENT_SLOTS,
  type Privilege,
  privileges,
  REQUEST_SLOTS,
} from './board-file-layout.js'

export interface BoardFileOptions {
  readonly gpuIndex: number
  readonly gpuCount: number
  readonly privilege: Privilege
  /**
   * Permission bits of the file. They do not decide who may change the board: as with the driver, the native library
   * checks this.
   */
  readonly mode: number
}

/** Answer to a setter. */
export interface SetterAnswer {
  /** NVML return code. */
  readonly result: number
  /** Id of a created instance, or NVML's return code of a MIG mode change; 0 for other requests. */
  readonly value: number
}

/** The simulator's side of a board file. Only the simulator writes the state and answers requests. */
export class BoardFile {
  readonly #fd: number
  readonly #state = new Uint8Array(boardState.bytes)
  readonly #requests = new Uint8Array(REQUEST_SLOTS * boardRequest.bytes)
  readonly #word = new Uint8Array(8)
  #sequence = 0
  #eventCount = 0

  constructor(folder: string, identity: BoardIdentity, { gpuIndex, gpuCount, privilege, mode }: BoardFileOptions) {
    this.#fd = openSync(boardFilePath(folder, gpuIndex), 'wx+')
    fchmodSync(this.#fd, mode)
    ftruncateSync(this.#fd, boardFile.bytes)
    const bytes = new Uint8Array(boardFile.state)
    const view = new DataView(bytes.buffer)
    boardIdentity.write(view, boardFile.identity, identity)
    boardHeader.write(view, boardFile.header, {
      magic: BOARD_MAGIC,
      version: BOARD_LAYOUT_VERSION,
      sequence: 0,
      presence: boardPresences.present,
      simulatorPid: process.pid,
      gpuCount,
      gpuIndex,
      privilege: privileges[privilege],
      heartbeatNs: Number(process.hrtime.bigint()),
    })
    writeSync(this.#fd, bytes, 0, bytes.length, 0)
  }

  /** Publishes a state. Readers retry while the sequence is odd, so they never use a partly written state. */
  publish(state: BoardState): void {
    boardState.write(new DataView(this.#state.buffer), 0, state)
    this.#writeWord(boardHeader.offsetOf('sequence'), ++this.#sequence >>> 0)
    writeSync(this.#fd, this.#state, 0, this.#state.length, boardFile.state)
    this.#writeWord(boardHeader.offsetOf('sequence'), ++this.#sequence >>> 0)
    this.beat()
  }

  /**
   * Sets whether programs find the board: a `lost` board has fallen off the bus, and a `stopped` board has no driver.
   * The simulator keeps running.
   */
  show(presence: keyof typeof boardPresences): void {
    this.#writeWord(boardHeader.offsetOf('presence'), boardPresences[presence])
    this.beat()
  }

  /**
   * Records an event for programs that wait for events.
   *
   * @param data number of the XID for an XID event
   */
  tell(type: BoardEventType, data: number): void {
    const bytes = new Uint8Array(boardEvent.bytes)
    boardEvent.write(new DataView(bytes.buffer), 0, { type: boardEventTypes[type], data })
    const slot = boardEvents.offsetOf('events') + (this.#eventCount % EVENT_SLOTS) * boardEvent.bytes
    writeSync(this.#fd, bytes, 0, bytes.length, boardFile.events + slot)
    this.#eventCount++
    this.#writeWord(boardFile.events + boardEvents.offsetOf('count'), this.#eventCount >>> 0)
  }

  beat(): void {
    new DataView(this.#word.buffer).setBigUint64(0, process.hrtime.bigint(), true)
    writeSync(this.#fd, this.#word, 0, 8, boardHeader.offsetOf('heartbeatNs'))
  }

  /** Returns the unanswered requests with their slots, and frees the slots of processes that have ended. */
  pending(): { readonly slot: number; readonly request: BoardRequest }[] {
    readSync(this.#fd, this.#requests, 0, this.#requests.length, boardFile.requests)
    const view = new DataView(this.#requests.buffer)
    const found: { slot: number; request: BoardRequest }[] = []
    for (let slot = 0; slot < REQUEST_SLOTS; slot++) {
      if (view.getUint32(slot * boardRequest.bytes, true) === 0) continue
      const request = boardRequest.read(view, slot * boardRequest.bytes)
      if (request.sequence !== request.ack) found.push({ slot, request })
      else if (!isAlive(request.owner)) this.#writeRequest(slot, 'owner', 0)
    }
    return found
  }

  /** Answers a request. The acknowledgement is written last, because it releases the caller. */
  answer(slot: number, request: BoardRequest, { result, value }: SetterAnswer): void {
    this.#writeRequest(slot, 'result', result)
    this.#writeRequest(slot, 'value', value)
    this.#writeRequest(slot, 'ack', request.sequence)
  }

  /** Closes the file. Programs that still map it see that the board is gone. */
  close(): void {
    this.#writeWord(boardHeader.offsetOf('presence'), boardPresences.stopped)
    closeSync(this.#fd)
  }

  #writeRequest(slot: number, field: 'owner' | 'result' | 'value' | 'ack', value: number): void {
    this.#writeWord(boardFile.requests + slot * boardRequest.bytes + boardRequest.offsetOf(field), value)
  }

  #writeWord(offset: number, value: number): void {
    new DataView(this.#word.buffer).setUint32(0, value, true)
    writeSync(this.#fd, this.#word, 0, 4, offset)
  }
}

export function boardFilePath(folder: string, gpuIndex: number): string {
  return join(folder, `gpu${gpuIndex}`)
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
