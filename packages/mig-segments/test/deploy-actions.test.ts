import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { deployActions, renderAction, segmentsOfNode } from '../src/node/deploy-actions.js'
import {
  type DeployedSegment,
  readDeployment,
  type TargetSegment,
  writeDeployment,
} from '../src/node/deployment-state.js'
import { type NodeLayout, parseGpuList, parseInstanceList, productOfNode } from '../src/node/mig-layout.js'
import { splitWords } from '../src/worker-command.js'

const target: TargetSegment = { gpu: 0, model: 'net', profile: '3g.40gb', start: 4, batchSize: 8, processes: 2 }
const deployed: DeployedSegment = {
  ...target,
  instanceId: 2,
  uuid: 'MIG-1',
  mpsDirectory: '/place/gpu0-slice4',
  workers: [
    { pid: 10, startTime: 1 },
    { pid: 11, startTime: 1 },
  ],
}
const layout: NodeLayout = {
  gpus: [
    { index: 0, uuid: 'GPU-0', name: 'A100', migEnabled: true },
    { index: 1, uuid: 'GPU-1', name: 'A100', migEnabled: false },
  ],
  instances: [{ gpu: 0, instanceId: 2, profile: '3g.40gb', start: 4 }],
}
const well = { workersRun: () => true, mpsRuns: () => true }
const kinds = (...args: Parameters<typeof deployActions>) => deployActions(...args).map(({ kind }) => kind)

describe('what a deployment does', () => {
  it('is everything on an empty GPU, MIG mode first', () => {
    const second = { ...target, gpu: 1 }
    expect(kinds([second], [], layout, true, well)).toEqual([
      'enable-mig',
      'create-instance',
      'start-mps',
      'start-workers',
    ])
    expect(kinds([second], [], layout, false, well)).not.toContain('start-workers')
  })

  it('is nothing where all runs, and only what is missing where not', () => {
    expect(kinds([target], [deployed], layout, true, well)).toEqual([])
    const dead = { ...well, workersRun: () => false }
    expect(kinds([target], [deployed], layout, true, dead)).toEqual(['stop-workers', 'start-workers'])
    const noMps = { ...well, mpsRuns: () => false }
    expect(kinds([target], [deployed], layout, true, noMps)).toEqual(['stop-workers', 'start-mps', 'start-workers'])
    const batch = { ...target, batchSize: 16 }
    expect(kinds([batch], [deployed], layout, true, well)).toEqual(['stop-workers', 'start-workers'])
  })

  it('is a new instance where the place or the size changes, and where the old one vanished', () => {
    const all = ['stop-workers', 'stop-mps', 'destroy-instance', 'create-instance', 'start-mps', 'start-workers']
    expect(kinds([{ ...target, profile: '2g.20gb', start: 0 }], [deployed], layout, true, well)).toEqual(all)
    const vanished = { ...layout, instances: [] }
    expect(kinds([target], [deployed], vanished, true, well)).toEqual(all.filter((kind) => kind !== 'destroy-instance'))
  })

  it('clears strangers from the GPUs of the map, and leaves other GPUs alone', () => {
    const strange: NodeLayout = {
      ...layout,
      instances: [
        { gpu: 0, instanceId: 7, profile: '1g.10gb', start: 0 },
        { gpu: 1, instanceId: 3, profile: '2g.20gb', start: 0 },
      ],
    }
    const destroyed = deployActions([target], [], strange, true, well).filter(({ kind }) => kind === 'destroy-instance')
    expect(destroyed).toEqual([{ kind: 'destroy-instance', gpu: 0, instanceId: 7, profile: '1g.10gb' }])
  })

  it('needs the GPUs that the map names', () => {
    expect(() => deployActions([{ ...target, gpu: 5 }], [], layout, true, well)).toThrow(/GPU 5 of this node/)
    const { gpu: _, ...segment } = target
    const boards = [{ gpu: 'A100-80GB', node: 1, index: 1, segments: [segment] }]
    expect(segmentsOfNode(boards, 'A100-80GB', 1)).toEqual([{ ...target, gpu: 1 }])
    expect(segmentsOfNode(boards, 'A100-80GB', 0)).toEqual([])
    expect(segmentsOfNode(boards, 'H100', 1)).toEqual([])
  })

  it('can be read as commands', () => {
    const commands = deployActions([{ ...target, gpu: 1 }], [deployed], layout, true, well).flatMap((action) =>
      renderAction(action, '/place', splitWords("serve '{model} x' --batch {batch}")),
    )
    expect(commands).toEqual([
      'kill 10 11  # net',
      'echo quit | CUDA_MPS_PIPE_DIRECTORY=/place/gpu0-slice4/pipe CUDA_MPS_LOG_DIRECTORY=/place/gpu0-slice4/log ' +
        'nvidia-cuda-mps-control',
      'nvidia-smi mig -dci -i 0 -gi 2',
      'nvidia-smi mig -dgi -i 0 -gi 2',
      'nvidia-smi -i 1 -mig 1',
      'nvidia-smi mig -i 1 -cgi 3g.40gb:4 -C',
      'CUDA_VISIBLE_DEVICES=<UUID of 3g.40gb at 4 on GPU 1> CUDA_MPS_PIPE_DIRECTORY=/place/gpu1-slice4/pipe ' +
        'CUDA_MPS_LOG_DIRECTORY=/place/gpu1-slice4/log nvidia-cuda-mps-control -d',
      'echo start_server -uid "$(id -u)" | CUDA_MPS_PIPE_DIRECTORY=/place/gpu1-slice4/pipe ' +
        'CUDA_MPS_LOG_DIRECTORY=/place/gpu1-slice4/log nvidia-cuda-mps-control',
      'CUDA_VISIBLE_DEVICES=<UUID of 3g.40gb at 4 on GPU 1> CUDA_MPS_PIPE_DIRECTORY=/place/gpu1-slice4/pipe serve ' +
        "'net x' --batch 8 &  # 2 times",
    ])
  })
})

describe('what nvidia-smi says', () => {
  it('is understood', () => {
    expect(parseGpuList('0, GPU-0, Enabled, NVIDIA A100-SXM4-80GB\n1, GPU-1, [N/A], Tesla T4\n')).toEqual([
      { index: 0, uuid: 'GPU-0', name: 'NVIDIA A100-SXM4-80GB', migEnabled: true },
      { index: 1, uuid: 'GPU-1', name: 'Tesla T4', migEnabled: false },
    ])
    expect(() => parseGpuList('garbage')).toThrow(/listed a GPU as 'garbage'/)
    expect(() => productOfNode(parseGpuList('0, GPU-0, Enabled, A100\n1, GPU-1, Enabled, H100'))).toThrow(/unlike GPUs/)
    expect(() => productOfNode([])).toThrow(/no GPU/)
    expect(parseInstanceList('|   0  MIG 3g.40gb         9        2          4:4      |\n+----+')).toEqual([
      { gpu: 0, profile: '3g.40gb', instanceId: 2, start: 4 },
    ])
  })
})

describe('the state of a deployment', () => {
  it('is kept, and a file that is none is refused', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-deployment-'))
    try {
      const file = path.join(folder, 'deployment.json')
      expect(readDeployment(file)).toEqual([])
      writeDeployment(file, [deployed])
      expect(readDeployment(file)).toEqual([deployed])
      writeFileSync(file, '{}')
      expect(() => readDeployment(file)).toThrow(expect.objectContaining({ code: 'DEPLOYMENT_STATE' }))
    } finally {
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    }
  })
})

const isRoot = process.geteuid?.() === 0
describe.skipIf(!isRoot)(`the state of a deployment${isRoot ? '' : ' (only root can give files away)'}`, () => {
  it('of another user is not believed: it names processes to end', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-deployment-'))
    try {
      const file = path.join(folder, 'deployment.json')
      writeDeployment(file, [deployed])
      chownSync(file, 12345, -1)
      expect(() => readDeployment(file)).toThrow(/belongs to user 12345/)
    } finally {
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    }
  })
})
