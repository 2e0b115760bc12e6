import type { Terminal } from '@pctodl/command-line'
import { expect, it } from 'vitest'
import { checkOptions, parseRawOptions } from '../src/matrix-options.js'

const silent = { write: () => {} }
const terminal: Terminal = { stdout: silent, stderr: silent, signal: new AbortController().signal, env: {} }

const slurmOf = async (...argv: string[]) =>
  checkOptions(await parseRawOptions(['--gpu', 'A100', ...argv], terminal), ['A100'], false).slurm

it('leaves the work on this machine unless told otherwise', async () => {
  expect(await slurmOf()).toBeUndefined()
  expect(await slurmOf('--slurm-elements', '3')).toBeUndefined()
})

it('says where on a cluster the work goes, and nothing that was not said', async () => {
  expect(await slurmOf('--executor', 'slurm')).toEqual({ elements: 8, sbatchArguments: [] })
  const words = ['--slurm-elements', '3', '--slurm-argument=--gres=gpu:1', '--slurm-argument=--nice=5']
  expect(await slurmOf('--executor', 'slurm', ...words)).toEqual({
    elements: 3,
    sbatchArguments: ['--gres=gpu:1', '--nice=5'],
  })
  await expect(slurmOf('--executor', 'cloud')).rejects.toThrow(/local, slurm/)
  await expect(slurmOf('--slurm-elements', '0')).rejects.toThrow(/integer/)
})
