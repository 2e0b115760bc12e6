import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { workFolder } from '../src/index.js'

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
  expect(() => workFolder(file)).toThrow(/file is no folder/)
  expect(() => workFolder(path.join(file, 'below'))).toThrow(/file is no folder/)
  expect(() => workFolder(link)).toThrow(/link: got 'a symlink'/)
  expect(workFolder(path.join(folder, 'new'))).toBe(path.join(folder, 'new'))
})

it('takes no folder below one in which others may rename', () => {
  const parent = path.join(folder, 'everybody')
  mkdirSync(parent)
  chmodSync(parent, 0o777)
  expect(() => workFolder(path.join(parent, 'mine'))).toThrow(/everybody can be written by others/)
  chmodSync(parent, 0o1777)
  expect(workFolder(path.join(parent, 'mine'))).toBe(path.join(parent, 'mine'))
})

const isRoot = process.getuid?.() === 0
it.skipIf(!isRoot)(`takes no folder below one of another user${isRoot ? '' : ' (skipped: needs root)'}`, () => {
  const parent = path.join(folder, 'theirs')
  mkdirSync(path.join(parent, 'mine'), { recursive: true, mode: 0o700 })
  chownSync(parent, 12_345, 12_345)
  expect(() => workFolder(path.join(parent, 'mine'))).toThrow(/theirs belongs to user 12345/)
  expect(() => workFolder(path.join(parent, 'mine', 'deeper'))).toThrow(/theirs belongs to user 12345/)
})
