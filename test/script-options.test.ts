import { afterEach, expect, it } from 'vitest'
import { scriptOptions } from '../scripts/evaluation/script-options.js'

const { argv } = process
afterEach(() => {
  process.argv = argv
})

function read(words: readonly string[], allowPositionals?: boolean) {
  process.argv = ['node', 'script.ts', ...words]
  return scriptOptions('script.ts', { seed: 1, rows: '0,10', write: false }, allowPositionals)
}

it('options of a script have the types of their defaults', () => {
  expect(read([])).toMatchObject({ seed: 1, rows: '0,10', write: false })
  expect(read(['--seed', '2e3', '--rows=5,6', '--write'])).toMatchObject({ seed: 2000, rows: '5,6', write: true })
  expect(read(['A100', '--seed=0'], true)).toMatchObject({ seed: 0, positionals: ['A100'] })
})

it.each([
  [['--seed', 'one'], "--seed: got 'one', expected a number"],
  [['--seed', '1,2'], "--seed: got '1,2', expected a number"],
  [['--seed='], "--seed: got '', expected a number"],
  [['--sed', '2'], "Unknown option '--sed'"],
  [['2'], "Unexpected argument '2'"],
  [['--', '--seed', '2'], "Unexpected argument '--seed'"],
])('%j is an error, because the script would run with its defaults', (words, message) => {
  expect(() => read(words)).toThrow(message)
})
