import { afterEach, expect, it, vi } from 'vitest'
import { scriptOptions } from '../scripts/evaluation/script-options.js'

const { argv } = process
afterEach(() => {
  process.argv = argv
  vi.restoreAllMocks()
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
  [['--seed=-1'], "--seed: got '-1', expected a number of at least 0"],
  [['--seed', '1,2'], "--seed: got '1,2', expected a number"],
  [['--seed='], "--seed: got '', expected a number"],
  [['--sed', '2'], "Unknown option '--sed'"],
  [['2'], "Unexpected argument '2'"],
  [['--', '--seed', '2'], "Unexpected argument '--seed'"],
])('%j ends the script with one message, because it would run with its defaults', (words, message) => {
  const said = vi.spyOn(console, 'error').mockReturnValue()
  const exit = vi.spyOn(process, 'exit').mockImplementation((code) => {
    throw new Error(`ended with ${code}`)
  })
  expect(() => read(words)).toThrow('ended with 2')
  expect(exit).toHaveBeenCalledOnce()
  expect(said.mock.calls).toEqual([[expect.stringContaining(message)]])
})
