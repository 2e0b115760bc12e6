import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ownFolder } from '../src/index.js'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'own-folder-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

it('takes no file and no link for a folder of its own, nor one below a file', () => {
  const [file, link] = [path.join(folder, 'file'), path.join(folder, 'link')]
  writeFileSync(file, '')
  mkdirSync(path.join(folder, 'other'), { mode: 0o700 })
  symlinkSync(path.join(folder, 'other'), link)
  expect(() => ownFolder(file)).toThrow(/file: got 'a file', expected a folder of your own/)
  expect(() => ownFolder(path.join(file, 'below'))).toThrow(/below: got 'a file', expected a folder/)
  expect(() => ownFolder(link)).toThrow(/link: got 'a link or no folder'/)
  expect(ownFolder(path.join(folder, 'new'))).toBe(path.join(folder, 'new'))
})

it('takes no folder below one in which others may rename', () => {
  const parent = path.join(folder, 'everybody')
  mkdirSync(parent)
  chmodSync(parent, 0o777)
  expect(() => ownFolder(path.join(parent, 'mine'))).toThrow(/everybody: got 'a folder in which all may rename'/)
  chmodSync(parent, 0o1777)
  expect(ownFolder(path.join(parent, 'mine'))).toBe(path.join(parent, 'mine'))
})

const isRoot = process.getuid?.() === 0
it.skipIf(!isRoot)(`takes no folder below one of another user${isRoot ? '' : ' (skipped: needs root)'}`, () => {
  const parent = path.join(folder, 'theirs')
  mkdirSync(path.join(parent, 'mine'), { recursive: true, mode: 0o700 })
  chownSync(parent, 12_345, 12_345)
  expect(() => ownFolder(path.join(parent, 'mine'))).toThrow(/theirs: got 'a folder of user 12345'/)
  expect(() => ownFolder(path.join(parent, 'mine', 'deeper'))).toThrow(/theirs: got 'a folder of user 12345'/)
})
