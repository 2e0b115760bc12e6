import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Clock, systemClock } from '@pctodl/platform'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SlurmNodes } from '../src/index.js'

/** Each look at it is a millisecond later. */
function ticking(): Clock {
  let nowMs = 0
  return { ...systemClock, now: () => nowMs++ }
}

describe('nodes as sinfo, played by a script, tells of them', () => {
  const { PATH } = process.env
  let folder: string
  const say = (body: string) => {
    writeFileSync(path.join(folder, 'sinfo'), `#!/bin/sh\n${body}\n`)
    chmodSync(path.join(folder, 'sinfo'), 0o755)
  }
  const nodesHere = (...nodes: string[]) => new SlurmNodes({ nodes, pollMs: 1, clock: ticking() })

  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'slurm-nodes-'))
    process.env['PATH'] = `${folder}:${PATH}`
  })
  afterEach(() => {
    process.env['PATH'] = PATH
    rmSync(folder, { recursive: true, force: true })
  })

  it('tells each change once, whatever partitions a node is in', async () => {
    const nodes = nodesHere('n1', 'n2')
    say('echo "n1   drained*"; echo "n1 drained*"; echo "n2 mixed"')
    expect(await nodes.look()).toEqual([{ node: 'n1', isUsable: false, isLost: false, state: 'drained*' }])
    expect([await nodes.look(), nodes.anyUnusable]).toEqual([[], true])
    say('echo "n1 idle"; echo "n2 down*"')
    expect(await nodes.look()).toEqual([
      { node: 'n1', isUsable: true, isLost: false, state: 'idle' },
      { node: 'n2', isUsable: false, isLost: true, state: 'down*' },
    ])
  })

  it.each(['idle', 'allocated', 'mixed-', 'completing', 'idle~', 'planned', 'idle*'])('%s is usable', async (state) => {
    say(`echo "n1 ${state}"`)
    expect(await nodesHere('n1').look()).toEqual([])
  })

  it.each(['down', 'draining', 'drained', 'failing', 'maint', 'inval', 'unknown', 'reboot^'])(
    '%s is not',
    async (state) => {
      say(`echo "n1 ${state}"`)
      expect(await nodesHere('n1').look()).toMatchObject([{ isUsable: false, state }])
    },
  )

  it('tells when a node that drains is lost, and not every word for it', async () => {
    const nodes = nodesHere('n1')
    const told: unknown[] = []
    for (const state of ['draining', 'drained', 'failing', 'down*', 'fail', 'unknown', 'idle']) {
      say(`echo "n1 ${state}"`)
      told.push(...(await nodes.look()).map(({ isUsable, isLost }) => [state, isUsable, isLost]))
    }
    expect(told).toEqual([
      ['draining', false, false],
      ['down*', false, true],
      ['idle', true, false],
    ])
  })

  it('refuses a node that Slurm does not know, and minds no look that fails', async () => {
    say('echo "n1 idle"')
    await expect(nodesHere('n1', 'm1').look()).rejects.toThrow(/nodes: got 'm1'/)
    say('echo "Unable to contact slurm controller" >&2; exit 1')
    expect(await nodesHere('n1').look()).toEqual([])
  })

  it('takes a node that Slurm lists no more for unusable until it is back', async () => {
    const nodes = nodesHere('n1', 'n2')
    say('echo "n1 idle"; echo "n2 idle"')
    expect(await nodes.look()).toEqual([])
    say('echo "n1 idle"')
    expect(await nodes.look()).toEqual([{ node: 'n2', isUsable: false, isLost: true, state: 'removed' }])
    expect(await nodes.look()).toEqual([])
    say('echo "n1 idle"; echo "n2 idle"')
    expect(await nodes.look()).toEqual([{ node: 'n2', isUsable: true, isLost: false, state: 'idle' }])
  })
})
