import { spawnSync } from 'node:child_process'
import { createServer } from 'node:net'
import path from 'node:path'
import { execa } from 'execa'
import { describe, expect, it } from 'vitest'
import { pythonWith } from '../../../test/python-environment.js'
import type { PlanFile } from '../src/carry-out/plan-file.js'
import { launchEnvironment } from '../src/carry-out/run-plan.js'
import { DEFAULT_STEP_PATTERN } from '../src/carry-out/training-process.js'

const folder = path.join(import.meta.dirname, '..', 'python')
const trainer = path.join(import.meta.dirname, 'fixtures', 'train_ddp.py')

/** PyTorch is gigabytes: it is installed for this test only where PCTODL_TORCH_TESTS asks for it. */
const hasTorch = (python: string) => spawnSync(python, ['-c', 'import torch']).status === 0
const named = process.env['PCTODL_PYTHON'] || 'python3'
const withTorch = hasTorch(named)
  ? named
  : process.env['PCTODL_TORCH_TESTS']
    ? pythonWith(['torch==2.15.0', 'numpy'], ['torch'])
    : undefined
const hasPython = spawnSync('python3', ['-V']).status === 0

const planOf = (shares: readonly number[], microBatches: readonly number[] = []): PlanFile => ({
  format: 'pctodl-hetero-plan',
  version: 1,
  globalBatch: shares.reduce((a, b) => a + b, 0),
  unit: 'step',
  timeS: 1,
  energyJ: 1,
  gpus: shares.map((share, i) => ({
    ...{ name: `cpu${i}`, share, powerLimitW: 100, energyJ: 1 },
    microBatches: microBatches[i] ?? 1,
  })),
  compared: {},
})

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** What each process of a plan is started with by `launch` and `torchrun` together. */
function environments(plan: PlanFile, port: number): Record<string, string>[] {
  const world = String(plan.gpus.length)
  const own = launchEnvironment(plan, new Map(plan.gpus.map(({ name }) => [name, name])))
  return plan.gpus.map((_, rank) => ({
    ...own,
    ...{ RANK: String(rank), LOCAL_RANK: String(rank), WORLD_SIZE: world, LOCAL_WORLD_SIZE: world },
    ...{ MASTER_ADDR: '127.0.0.1', MASTER_PORT: String(port) },
  }))
}

/** Trains as `launch` would, but on CPUs; the losses that rank 0 reported. */
async function losses(plan: PlanFile, words: readonly string[]): Promise<number[]> {
  const [first] = await Promise.all(
    environments(plan, await freePort()).map((environment) =>
      execa(withTorch!, [trainer, ...words], { env: { ...environment, CUDA_VISIBLE_DEVICES: '' } }),
    ),
  )
  return [...first!.stdout.matchAll(/loss (\S+)/g)].map((match) => Number(match[1]))
}

describe.skipIf(withTorch === undefined)(
  'training on uneven shares (needs PCTODL_PYTHON with torch, or PCTODL_TORCH_TESTS=1 to install it)',
  () => {
    it('has the loss curve of the even split and of one process, in micro-batches too, to 1e-6', async () => {
      const words = ['--steps', '40']
      const [even, uneven, three, { stdout }] = await Promise.all([
        losses(planOf([32, 32]), words),
        losses(planOf([51, 13]), words),
        losses(planOf([20, 3, 41], [3, 1, 5]), words),
        execa(withTorch!, [trainer, ...words, '--batch-size', '64']),
      ])
      const alone = [...stdout.matchAll(/loss (\S+)/g)].map((match) => Number(match[1]))
      expect(alone).toHaveLength(40)
      expect(alone[39]!).toBeLessThan(0.5 * alone[0]!)
      for (const curve of [even, uneven, three]) {
        expect(curve).toHaveLength(40)
        curve.forEach((loss, i) => {
          expect(Math.abs(loss / alone[i]! - 1)).toBeLessThan(1e-6)
        })
      }
    }, 900_000)
  },
)

describe.skipIf(!hasPython)('the Python package (needs python3)', () => {
  const python = (program: string, environment: Readonly<Record<string, string>> = {}) =>
    spawnSync('python3', ['-c', program], {
      encoding: 'utf8',
      env: { ...process.env, PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: '1', ...environment },
    })

  it('gives every sample of an epoch to one process, in the same steps whatever the split, and needs no PyTorch for it', () => {
    const { stdout, stderr } = python(`
import random
from pctodl_hetero import Share, UnevenBatchSampler
random.seed(5)
for _ in range(200):
    world = random.randint(1, 5)
    batch = random.randint(world, 40)
    cuts = [0, *sorted(random.sample(range(1, batch), world - 1)), batch]
    samples = random.randint(batch, 300)
    def epoch(shares):
        samplers = [UnevenBatchSampler(samples, share, seed=9) for share in shares]
        for sampler in samplers:
            sampler.set_epoch(3)
        assert len({len(sampler) for sampler in samplers}) == 1
        return [[sample for part in step for sample in part] for step in zip(*samplers)]
    uneven = [Share(batch, cuts[i], cuts[i + 1], i, world) for i in range(world)]
    steps = epoch(uneven)
    assert steps == epoch([Share.even(batch, i, world) for i in range(world)])
    seen = [sample for step in steps for sample in step]
    assert len(seen) == len(set(seen)) == samples // batch * batch
    assert abs(sum(share.loss_scale for share in uneven) / world - 1) < 1e-12
    first = UnevenBatchSampler(samples, uneven[0], seed=9)
    assert len(first) < 3 or list(first) != (first.set_epoch(1), list(first))[1]
print('done')
`)
    expect({ stdout, stderr }).toEqual({ stdout: 'done\n', stderr: '' })
  })

  it('takes its share from what launch tells, and says what is missing or wrong', () => {
    const [, environment] = environments(planOf([51, 13], [4, 2]), 1)
    const show =
      'from pctodl_hetero import *; s = Share.from_environment(); print(s.begin, s.end, s.size, s.loss_scale, [p.stop - p.start for p in s.parts()])'
    expect(python(show, environment).stdout).toBe(`51 64 13 ${(2 * 13) / 64} [7, 6]\n`)
    expect(python(show, { RANK: '0', WORLD_SIZE: '1' }).stderr).toMatch(
      /ShareError: PCTODL_SHARES: not set; start torchrun with pctodl hetero launch/,
    )
    const wrong = (change: Readonly<Record<string, string>>) => python(show, { ...environment, ...change }).stderr
    expect(wrong({ PCTODL_SHARES: 'x' })).toMatch(/PCTODL_SHARES: got 'x'; expected integers/)
    expect(wrong({ PCTODL_SHARES: '64' })).toMatch(/PCTODL_SHARES: got 1 shares for rank 1 of 2; expected one for each/)
    expect(wrong({ PCTODL_SHARES: '64,0' })).toMatch(/share: got samples 64 to 64 of a global batch of 64; expected/)
    expect(wrong({ PCTODL_MICRO_BATCHES: '1,14' })).toMatch(/micro_batches: got 14 for 13 samples; expected at least/)
    expect(wrong({ RANK: '2' })).toMatch(/got 2 shares for rank 2 of 2; expected one for each process/)
    expect(python('from pctodl_hetero import *; UnevenBatchSampler(5, Share.even(8, 0, 2))').stderr).toMatch(
      /samples: got 5; expected at least a global batch of 8/,
    )
  })

  it('reports steps in the words that collect and launch read', () => {
    const { stdout } = python('from pctodl_hetero import *; report_step(1, 3, 0.25); report_step(2)')
    expect(stdout).toBe('step 1/3 loss 0.25\nstep 2\n')
    for (const line of stdout.trim().split('\n')) expect(line).toMatch(new RegExp(DEFAULT_STEP_PATTERN, 'i'))
  })
})
