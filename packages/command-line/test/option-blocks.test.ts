import { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { type ExecutorOptions, slurmOptions, withExecutorOptions, withNvmlOptions } from '../src/index.js'

const parsed = (...argv: string[]) =>
  withExecutorOptions(withNvmlOptions(new Command().exitOverride().configureOutput({ writeErr: () => {} })))
    .parse(argv, { from: 'user' })
    .opts<ExecutorOptions>()

describe('options that several commands have', () => {
  it('leave the work on this machine unless told otherwise', () => {
    expect(parsed()).toEqual({ executor: 'local', slurmElements: 8 })
    expect(slurmOptions(parsed())).toBeUndefined()
  })

  it('say where on a cluster the work goes, and nothing that was not said', () => {
    expect(slurmOptions(parsed('--executor', 'slurm'))).toEqual({ elements: 8, sbatchArguments: [] })
    const words = ['--slurm-elements', '3', '--slurm-argument=--gres=gpu:1', '--slurm-argument=--nice=5']
    expect(slurmOptions(parsed('--executor', 'slurm', ...words))).toEqual({
      elements: 3,
      sbatchArguments: ['--gres=gpu:1', '--nice=5'],
    })
    expect(() => parsed('--executor', 'cloud')).toThrow(/local, slurm/)
    expect(() => parsed('--slurm-elements', '0')).toThrow(/integer/)
  })

  it('name the library of the driver and the folder of leases', () => {
    expect(parsed('--library', 'a.so', '--lease-dir', 'there')).toMatchObject({ library: 'a.so', leaseDir: 'there' })
  })
})
