import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { readLines } from '../src/service/message-lines.js'

const MAX_BYTES = 10

let folder: string
let sender: Socket
let receiver: Socket
beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'pctodl-lines-'))
  const server = createServer()
  server.listen(path.join(folder, 'socket'))
  await once(server, 'listening')
  const connected = once(server, 'connection')
  sender = connect(path.join(folder, 'socket'))
  ;[receiver] = (await connected) as [Socket]
  server.close()
})
afterEach(() => {
  sender.destroy()
  receiver.destroy()
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
})

/** What is heard of chunks that arrive one by one. */
async function heardOf(...chunks: string[]) {
  const lines: string[] = []
  let tooLong = 0
  readLines(
    receiver,
    MAX_BYTES,
    (line) => lines.push(line),
    () => tooLong++,
  )
  for (const chunk of chunks) {
    const arrived = once(receiver, 'data')
    sender.write(chunk)
    await arrived
  }
  return { lines, tooLong }
}

it('hears lines however they are cut, and passes over empty ones', async () => {
  expect(await heardOf('one\ntw', 'o\n\n  \nthree\nfour', '\n')).toEqual({
    lines: ['one', 'two', 'three', 'four'],
    tooLong: 0,
  })
})

it('hears a line of as many bytes as may be, in any number of parts', async () => {
  expect(await heardOf('0123456789\n', '01234', '56789', '\n', 'ä234567890')).toEqual({
    lines: ['0123456789', '0123456789'],
    tooLong: 1,
  })
})

it('says once that a line is too long, and hears nothing after it', async () => {
  expect(await heardOf('one\n0123456789a\ntwo\n', 'three\n', '0123456789a\n')).toEqual({ lines: ['one'], tooLong: 1 })
  receiver.destroy()
})
