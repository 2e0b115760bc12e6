import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { lockFolder } from '../src/folder-lock.js'

describe('a folder that is held', () => {
  let folder: string
  const locks = () => readdirSync(folder)

  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'folder-lock-'))
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  /** What a process leaves that ends without giving back, as this one would but for some fields. */
  function leave(name: string, but: object): void {
    const unlock = lockFolder(folder)
    const [own] = locks()
    writeFileSync(
      path.join(folder, name),
      JSON.stringify({ ...JSON.parse(readFileSync(path.join(folder, own!), 'utf8')), ...but }),
    )
    unlock()
  }
  const name = `lock-${'0'.repeat(16)}`

  it('is refused to a second, who leaves no trace, until the first has given it back', () => {
    const unlock = lockFolder(folder)
    const held = locks()
    expect(() => lockFolder(folder)).toThrow(
      expect.objectContaining({
        code: 'FOLDER_IN_USE',
        message: expect.stringContaining(`by process ${process.pid}:`),
      }),
    )
    expect(locks()).toEqual(held)
    unlock()
    lockFolder(folder)()
    expect(locks()).toEqual([])
  })

  it.each([
    ['a process that has ended', { pid: spawnSync(process.execPath, ['-e', '']).pid }],
    ['another process of its number', { startTicks: '1' }],
    ['a process before the machine was started anew', { bootId: 'another' }],
  ])('is taken over from %s', (_, but) => {
    leave(name, but)
    const unlock = lockFolder(folder)
    expect(locks()).toHaveLength(1)
    expect(locks()).not.toContain(name)
    unlock()
  })

  it.each([
    ['host', { host: 'login2' }],
    ['machine of the same name', { machineId: 'another', bootId: 'another' }],
    ['container', { pidNamespace: 'pid:[1]' }],
  ])('is left to a process of another %s, whose end cannot be seen, with what to do', (_, but) => {
    leave(name, but)
    expect(() => lockFolder(folder)).toThrow(new RegExp(`if that process is gone, remove .*${name}`))
    expect(locks()).toEqual([name])
  })

  it.each(['', '{"pid":1', 'null', '[]', '{}', '{"pid":0,"host":"a"}', '{"pid":"1","host":"a"}'])(
    'is left as it is where a lock says %j, as after a full disk, with what to do',
    (text) => {
      writeFileSync(path.join(folder, name), text)
      expect(() => lockFolder(folder)).toThrow(new RegExp(`${name}: got .*remove the file`))
      expect(locks()).toEqual([name])
    },
  )
})
