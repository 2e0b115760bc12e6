import { describe, expect, it } from 'vitest'
import { callCommand } from '../../../test/call-command.js'
import { pctodlColocate } from '../src/commands.js'

/** Of a study that is not there: what the options are judged by comes first. */
const call = (...argv: string[]) =>
  callCommand('pctodl colocate', pctodlColocate, ['pair', '--study', `${import.meta.dirname}/no-such-folder`, ...argv])

describe('the options of pctodl colocate pair', () => {
  it.each([
    ['--size', '0'],
    ['--size', '49'],
    ['--gpus', '0'],
    ['--memory-gib', '0'],
    ['--min-kept', '-0.1'],
    ['--min-kept', '1.1'],
    ['--power-cap', '0'],
    ['--objective', 'fame'],
  ])('refuse %s %s', async (option, value) => {
    const { code, stderr } = await call(option, value)
    expect(code).toBe(2)
    expect(stderr).toContain(option)
  })

  it('take the ends of what they allow', async () => {
    const ends = ['--size 48 --gpus 1 --min-kept 1', '--size 1 --min-kept 0']
    for (const end of ends) expect((await call(...end.split(' '))).stderr).toContain('no-such-folder')
  })

  it('divide a pool or rank groups, not both', async () => {
    expect(await call('--for', 'a', '--gpus', '2')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--gpus'),
    })
    expect((await call('--for', 'a', '--size', '3')).stderr).toContain('no-such-folder')
  })
})
