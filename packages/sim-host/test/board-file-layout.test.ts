import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findGpuSpec, gpuSpecs } from '@pctodl/platform'
import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { Layout, list, text, u32, u64 } from '../src/binary-layout.js'
import { BoardFile } from '../src/board-file.js'
import { boardFile, boardFileHeaderC, boardIdentity, boardRequest, boardState } from '../src/board-file-layout.js'
import { readBoards } from '../src/board-file-reader.js'
import { driverFacts } from '../src/driver-facts.js'
import { missingCompiler, run } from './built-host.js'

const folders: string[] = []
function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'pctodl-layout-'))
  folders.push(made)
  return made
}
afterEach(() => {
  for (const each of folders.splice(0)) rmSync(each, { recursive: true, force: true, maxRetries: 5 })
})

const someState = () => ({
  ...boardState.read(new DataView(new ArrayBuffer(boardState.bytes)), 0),
  powerAverageMw: 123_456,
  energyMj: 2 ** 40,
})

describe('binary layout', () => {
  it('returns what was written, whatever the values', () => {
    const inner = new Layout('inner', { a: u32, name: text(5) })
    const outer = new Layout('outer', { flag: u32, big: u64, rows: list(inner, 2) })
    const value = fc.record({
      flag: fc.nat(),
      big: fc.maxSafeNat(),
      rows: fc.tuple(...[0, 1].map(() => fc.record({ a: fc.nat(), name: fc.stringMatching(/^[a-z]{0,4}$/) }))),
    })
    fc.assert(
      fc.property(value, (values) => {
        const view = new DataView(new ArrayBuffer(outer.bytes))
        outer.write(view, 0, values)
        expect(outer.read(view, 0)).toEqual(values)
      }),
    )
  })

  it('cuts text that is too long and keeps it terminated', () => {
    const layout = new Layout('cut', { name: text(4) })
    const view = new DataView(new ArrayBuffer(layout.bytes))
    layout.write(view, 0, { name: 'abcdef' })
    expect(layout.read(view, 0).name).toBe('abc')
  })

  it.skipIf(missingCompiler)(
    `is the layout that the C compiler chooses${missingCompiler ? ` (${missingCompiler})` : ''}`,
    async () => {
      const place = folder()
      writeFileSync(join(place, 'board_file.h'), boardFileHeaderC())
      writeFileSync(join(place, 'layout.c'), '#include "board_file.h"\n')
      // The header asserts every offset and size; a drift is a compile error.
      await run('cc', ['-std=gnu11', '-Wall', '-Werror', '-fsyntax-only', join(place, 'layout.c')])
      writeFileSync(
        join(place, 'layout.c'),
        boardFileHeaderC().replace('== 8, "board_header.sequence"', '== 12, "board_header.sequence"'),
      )
      await expect(run('cc', ['-std=gnu11', '-fsyntax-only', join(place, 'layout.c')])).rejects.toThrow(
        /static assertion/,
      )
    },
  )
})

describe('board file', () => {
  const create = () => {
    const place = folder()
    const identity = driverFacts(findGpuSpec('3080Ti'), 0, 1, 0)
    const file = new BoardFile(place, identity, { gpuIndex: 0, gpuCount: 1, privilege: 'root', mode: 0o600 })
    return { place, identity, file }
  }

  it('shows readers the identity and the last published state', () => {
    const { place, identity, file } = create()
    file.publish(someState())
    const [reading] = readBoards(place)
    expect(reading!.identity).toEqual({
      ...identity,
      memClocksMhz: [9501, 9251, 5001, 810, 405],
      smClockCounts: [127, 127, 127, 127, 15, ...Array(11).fill(0)],
      smClocksMhz: reading!.identity.smClocksMhz,
      migProfiles: reading!.identity.migProfiles,
    })
    expect(reading!.state).toMatchObject({ powerAverageMw: 123_456, energyMj: 2 ** 40 })
    file.close()
  })

  it('says so when the simulator has left', () => {
    const { place, file } = create()
    file.publish(someState())
    file.close()
    expect(() => readBoards(place)).toThrow(/the simulator has ended/)
    expect(() => readBoards(join(place, 'nowhere'))).toThrow(/no simulated board/)
  })

  it('hands out each request once and answers it in its slot', () => {
    const { place, file } = create()
    const bytes = readFileSync(join(place, 'gpu0'))
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    const numbers = { operation: 1, first: 200_000, second: 0, third: 0, result: 0, value: 0 }
    const request = { owner: process.pid, sequence: 9, ...numbers, ack: 8 }
    boardRequest.write(view, boardFile.requests + 3 * boardRequest.bytes, request)
    writeFileSync(join(place, 'gpu0'), bytes)
    expect(file.pending()).toEqual([{ slot: 3, request }])
    file.answer(3, request, { result: 4, value: 7 })
    expect(file.pending()).toEqual([])
    const after = readFileSync(join(place, 'gpu0'))
    const answered = boardRequest.read(
      new DataView(after.buffer, after.byteOffset),
      boardFile.requests + 3 * boardRequest.bytes,
    )
    expect(answered).toMatchObject({ result: 4, value: 7, ack: 9 })
    file.close()
  })
})

describe('driver facts', () => {
  it('fit every board of the family', () => {
    for (const spec of Object.values(gpuSpecs)) {
      const facts = driverFacts(spec, 0, 1, 1024)
      const view = new DataView(new ArrayBuffer(boardIdentity.bytes))
      boardIdentity.write(view, 0, facts)
      expect(boardIdentity.read(view, 0).name).toBe(spec.name)
      expect(facts.uuid).toMatch(/^GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
      expect(facts.memClocksMhz).toEqual([...facts.memClocksMhz].sort((a, b) => b - a))
      expect(facts.bar1TotalBytes).toBeGreaterThan(0)
    }
  })

  it('give each seed a UUID of its own, and the same one each time', () => {
    const uuid = (seed: number) => driverFacts(findGpuSpec('A100'), 0, seed, 0).uuid
    expect(uuid(1)).toBe(uuid(1))
    expect(uuid(1)).not.toBe(uuid(2))
  })
})
