import type { Terminal } from '@pctodl/command-line'
import { expect, it } from 'vitest'
import { checkOptions, parseRawOptions } from '../src/matrix-options.js'

const silent = { write: () => {} }
const terminal: Terminal = { stdout: silent, stderr: silent, signal: new AbortController().signal, env: {} }

const optionsOf = async (...argv: string[]) =>
  checkOptions(await parseRawOptions(['--gpu', 'A100', ...argv], terminal), ['A100'], false)

it('leaves the work on this machine by default', async () => {
  expect(await optionsOf()).toMatchObject({ executor: 'local', slurmElements: 8 })
})

it('takes lists of task ids in both spellings, each id once', async () => {
  for (const words of [['20', '29'], ['20,29'], ['20, 29', '20']]) {
    expect((await optionsOf('--task-id', ...words)).tasks.map(({ id }) => id)).toEqual([20, 29])
  }
  await expect(optionsOf('--task-id', '20,x')).rejects.toThrow(/not an integer of at least 1/)
})

it('takes the size of a job array and arguments of sbatch, and refuses others', async () => {
  const words = ['--slurm-elements', '3', '--slurm-argument=--gres=gpu:1', '--slurm-argument=--nice=5']
  expect(await optionsOf('--executor', 'slurm', ...words)).toMatchObject({
    executor: 'slurm',
    slurmElements: 3,
    slurmArgument: ['--gres=gpu:1', '--nice=5'],
  })
  await expect(optionsOf('--executor', 'cloud')).rejects.toThrow(/local, slurm/)
  await expect(optionsOf('--slurm-elements', '0')).rejects.toThrow(/integer/)
})
