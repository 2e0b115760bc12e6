import { Command } from 'commander'
import { expect, it } from 'vitest'
import { withNvmlOptions } from '../src/index.js'

it('options that several commands have name the library of the driver and the folder of leases', () => {
  const command = withNvmlOptions(new Command()).parse(['--library', 'a.so', '--lease-dir', 'there'], { from: 'user' })
  expect(command.opts()).toEqual({ library: 'a.so', leaseDir: 'there' })
})
