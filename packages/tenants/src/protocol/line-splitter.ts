import { StringDecoder } from 'node:string_decoder'
import { PctodlError } from '@pctodl/platform'
import { LONGEST_LINE } from './messages.js'

/**
 * Splits a stream of bytes into lines, wherever chunks begin and end. An incomplete last line is kept for the next
 * call.
 */
export class LineSplitter {
  readonly #decoder = new StringDecoder('utf8')
  #rest = ''

  /**
   * Adds bytes and returns the lines that are complete.
   * @throws PctodlError `LINE_TOO_LONG`
   */
  push(chunk: Uint8Array): string[] {
    const lines = (this.#rest + this.#decoder.write(chunk as Buffer)).split('\n')
    this.#rest = lines.pop()!
    if (this.#rest.length > LONGEST_LINE) {
      throw new PctodlError(
        'LINE_TOO_LONG',
        `a line of more than ${LONGEST_LINE} bytes; expected one JSON object per line`,
      )
    }
    return lines.map((line) => line.trim()).filter((line) => line !== '')
  }
}
