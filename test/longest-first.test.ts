import { existsSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { longestFiles } from './longest-first.js'

it('the files that begin first are there', () => {
  const root = path.resolve(import.meta.dirname, '..')
  expect(longestFiles.filter((file) => !existsSync(path.join(root, file)))).toEqual([])
})
