import { spawn } from 'node:child_process'
import { chownSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { exitCodeOf } from '@pctodl/command-line'
import { LeaseFolder, loadNvml, type Nvml } from '@pctodl/nvml-control'
import type { SimulatedHost } from '@pctodl/sim-host'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type BuiltPrograms, buildPrograms, missingCompiler, startHost } from '../../sim-host/test/built-host.js'
import { segments } from '../src/commands.js'
import { deployActions, segmentsOfNode, type TargetSegment } from '../src/deploy/deploy-actions.js'
import { type DeployedSegment, readDeployment, writeDeployment } from '../src/deploy/deployment-state.js'
import {
  boardOfNode,
  gpuListQuery,
  type NodeLayout,
  parseGpuList,
  parseInstanceList,
} from '../src/deploy/mig-layout.js'
import { renderAction } from '../src/deploy/render-actions.js'
import { findMigBoard, fleetMapColumns, mapColumns } from '../src/index.js'
import { splitWords } from '../src/worker-command.js'

const board = findMigBoard('A100-80GB')
const target: TargetSegment = { gpu: 0, model: 'net', sizeGpcs: 3, start: 4, batchSize: 8, processes: 2 }
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
    expect(kinds([second], [], layout, board, true, well)).toEqual([
      'enable-mig',
      'create-instance',
      'start-mps',
      'start-workers',
    ])
    expect(kinds([second], [], layout, board, false, well)).not.toContain('start-workers')
  })

  it('is nothing where all runs, and only what is missing where not', () => {
    expect(kinds([target], [deployed], layout, board, true, well)).toEqual([])
    const dead = { ...well, workersRun: () => false }
    expect(kinds([target], [deployed], layout, board, true, dead)).toEqual(['stop-workers', 'start-workers'])
    const noMps = { ...well, mpsRuns: () => false }
    expect(kinds([target], [deployed], layout, board, true, noMps)).toEqual([
      'stop-workers',
      'start-mps',
      'start-workers',
    ])
    const batch = { ...target, batchSize: 16 }
    expect(kinds([batch], [deployed], layout, board, true, well)).toEqual(['stop-workers', 'start-workers'])
  })

  it('is a new instance where the place or the size changes, and where the old one vanished', () => {
    const all = ['stop-workers', 'stop-mps', 'destroy-instance', 'create-instance', 'start-mps', 'start-workers']
    expect(kinds([{ ...target, sizeGpcs: 2, start: 0 }], [deployed], layout, board, true, well)).toEqual(all)
    const vanished = { ...layout, instances: [] }
    expect(kinds([target], [deployed], vanished, board, true, well)).toEqual(
      all.filter((kind) => kind !== 'destroy-instance'),
    )
  })

  it('clears strangers from the GPUs of the map, and leaves other GPUs alone', () => {
    const strange: NodeLayout = {
      ...layout,
      instances: [
        { gpu: 0, instanceId: 7, profile: '1g.10gb', start: 0 },
        { gpu: 1, instanceId: 3, profile: '2g.20gb', start: 0 },
      ],
    }
    const destroyed = deployActions([target], [], strange, board, true, well).filter(
      ({ kind }) => kind === 'destroy-instance',
    )
    expect(destroyed).toEqual([{ kind: 'destroy-instance', gpu: 0, instanceId: 7, profile: '1g.10gb' }])
  })

  it('needs the GPUs that the map names', () => {
    expect(() => deployActions([{ ...target, gpu: 5 }], [], layout, board, true, well)).toThrow(/GPU 5 of this node/)
    expect(segmentsOfNode([{ index: 9, segments: [target] }], 1, 8)).toEqual([{ ...target, gpu: 1 }])
    expect(segmentsOfNode([{ index: 9, segments: [target] }], 0, 8)).toEqual([])
  })

  it('can be read as commands', () => {
    const commands = deployActions([{ ...target, gpu: 1 }], [deployed], layout, board, true, well).flatMap((action) =>
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
    expect(() => boardOfNode(parseGpuList('0, GPU-0, Enabled, A100\n1, GPU-1, Enabled, H100'))).toThrow(/unlike GPUs/)
    expect(() => boardOfNode([])).toThrow(/no GPU/)
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

describe.skipIf(missingCompiler)(`a node of a simulated host${missingCompiler ? ` (${missingCompiler})` : ''}`, () => {
  let folder: string
  let built: BuiltPrograms
  let host: SimulatedHost
  let nvml: Nvml
  const before = { ...process.env }
  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'pctodl-deploy-'))
    built = await buildPrograms()
    ;({ host } = await startHost(built.programs, { board: 'A100-80GB', gpus: 2, privilege: 'everyone' }))
    Object.assign(process.env, host.environment, { PCTODL_LEASE_DIR: leases() })
    // The linker reads where libraries are when a process starts, and finds by its name what has been loaded since.
    const [libraries] = host.environment['LD_LIBRARY_PATH']!.split(':')
    nvml = loadNvml({ libraryPath: path.join(libraries!, 'libnvidia-ml.so.1') })
  })
  afterAll(async () => {
    nvml?.close()
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name]
    Object.assign(process.env, before)
    // Ends every stand-in process with it.
    await host?.close()
    built?.remove()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })

  const leases = () => path.join(folder, 'leases')
  const run = (command: string, ...args: string[]) =>
    new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve, reject) => {
      const child = spawn(command, args, { env: { ...process.env, ...host.environment, PCTODL_LEASE_DIR: leases() } })
      let stdout = ''
      let stderr = ''
      child.stdout.on('data', (chunk) => (stdout += chunk))
      child.stderr.on('data', (chunk) => (stderr += chunk))
      child.once('error', reject)
      child.once('close', (code) => resolve({ code, stdout, stderr }))
    })
  const program = path.resolve(import.meta.dirname, '..', 'bin', 'pctodl-segments.js')
  const words = (map: string, ...args: string[]) => {
    const file = path.join(folder, 'map.csv')
    writeFileSync(file, `${mapColumns.join()}\n${map}`)
    const command = `'${process.execPath}' '${built.cli}' tenant --network {model} --batch {batch}`
    const where = ['--directory', path.join(folder, 'place'), '--map', file, '--command', command]
    return ['deploy', '--node', '1', '--gpus-per-node', '2', ...where, ...args]
  }
  const deploy = async (map: string, ...args: string[]) => {
    let stdout = ''
    let stderr = ''
    const terminal = {
      stdout: { write: (text: string) => (stdout += text) },
      stderr: { write: (text: string) => (stderr += text) },
      signal: new AbortController().signal,
      env: process.env,
    }
    const code = await exitCodeOf('pctodl-segments', segments, words(map, ...args), terminal)
    return { code, stdout, stderr }
  }
  const clients = async () => {
    const { stdout } = await run('nvidia-smi')
    return [...stdout.matchAll(/\|\s+(\d+)\s+(\d+)\s+\d+\s+\d+\s+(M\+C|C)\s+pctodl-gpu-sim tenant (\w+)/g)]
      .map(([, gpu, , type, model]) => `${gpu} ${type} ${model}`)
      .sort()
  }

  it('is brought up, changed in part, and taken down', { timeout: 600_000 }, async () => {
    const first = '1,0,resnet50,4,3,8,2\n1,0,mobilenet_v2,0,2,4,1\n'
    const dry = await run(process.execPath, program, ...words(first))
    expect(dry).toMatchObject({ code: 0, stderr: '' })
    expect(dry.stdout).toMatch(/nvidia-smi mig -i 0 -cgi 3g.40gb:4 -C/)
    expect((await run('nvidia-smi', '-L')).stdout).not.toContain('MIG')

    const up = await deploy(first, '--apply')
    expect(up).toMatchObject({ code: 0, stdout: '2 segments with 3 workers stand\n' })
    await expect
      .poll(clients, { timeout: 120_000, interval: 400 })
      .toEqual(['0 M+C mobilenet_v2', '0 M+C resnet50', '0 M+C resnet50'])
    const before = readDeployment(path.join(folder, 'place', 'deployment.json'))
    expect((await deploy(first)).stdout).toBe('nothing to do\n')

    const second = await deploy('1,0,resnet50,4,3,8,2\n1,0,vgg19,3,1,4,1\n', '--apply')
    expect(second).toMatchObject({ code: 0, stdout: '2 segments with 3 workers stand\n' })
    await expect
      .poll(clients, { timeout: 120_000, interval: 400 })
      .toEqual(['0 M+C resnet50', '0 M+C resnet50', '0 M+C vgg19'])
    const after = readDeployment(path.join(folder, 'place', 'deployment.json'))
    const resnet = ({ model }: DeployedSegment) => model === 'resnet50'
    expect(after.find(resnet)).toEqual(before.find(resnet))
    const instances = parseInstanceList((await run('nvidia-smi', 'mig', '-lgi')).stdout)
    expect(instances.map(({ profile, start }) => `${profile}@${start}`).sort()).toEqual(['1g.10gb@3', '3g.40gb@4'])

    // As if it had been cut off between the two calls that destroy an instance.
    const vgg = after.find(({ model }) => model === 'vgg19')!
    for (const { pid } of vgg.workers) process.kill(pid)
    await expect.poll(clients, { timeout: 120_000, interval: 400 }).toEqual(['0 M+C resnet50', '0 M+C resnet50'])
    expect(await run('nvidia-smi', 'mig', '-dci', '-i', '0', '-gi', String(vgg.instanceId))).toMatchObject({ code: 0 })
    const down = await deploy('', '--down', '--apply')
    expect(down).toMatchObject({ code: 0, stdout: '0 segments with 0 workers stand\n' })
    expect((await run('nvidia-smi', '-L')).stdout).not.toContain('MIG')
    expect(await clients()).toEqual([])
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
    const left = pids.filter((pid) => commandOf(pid).includes(path.join(folder, 'place')))
    expect(left).toEqual([])
  })

  it('goes through a period of a schedule step by step, the new before the old', { timeout: 300_000 }, async () => {
    const steps = path.join(folder, 'period-02')
    mkdirSync(steps)
    const old = '1,0,resnet50,4,3,8,1\n'
    const both = `${old}1,0,resnet50,0,2,8,1\n`
    ;[both, '1,0,resnet50,0,2,8,1\n'].forEach((map, step) => {
      writeFileSync(path.join(steps, `step-00${step + 1}.csv`), `${mapColumns.join()}\n${map}`)
    })
    expect(await deploy(old, '--apply')).toMatchObject({ code: 0 })
    const command = `'${process.execPath}' '${built.cli}' tenant --network {model} --batch {batch}`
    const node = [program, 'deploy', '--node', '1', '--gpus-per-node', '2', '--directory', path.join(folder, 'place')]
    const way = ['--through', steps, '--settle', '0.1', '--command', command, '--apply']
    const through = await run(process.execPath, ...node, ...way)
    expect(through).toMatchObject({ code: 0, stdout: '1 segment with 1 worker stand\n' })
    const at = (words: RegExp) => through.stderr.split('\n').findIndex((line) => words.test(line))
    expect(at(/-cgi 2g.20gb:0/)).toBeGreaterThanOrEqual(0)
    expect(at(/tenant --network resnet50/)).toBeGreaterThan(at(/-cgi 2g.20gb:0/))
    expect(at(/^kill .*resnet50/)).toBeGreaterThan(at(/tenant --network resnet50/))
    const [left] = readDeployment(path.join(folder, 'place', 'deployment.json'))
    expect(left).toMatchObject({ model: 'resnet50', sizeGpcs: 2, start: 0 })
    expect((await deploy('', '--down', '--apply')).code).toBe(0)
  })

  it('runs models that share an instance of a fleet, at the clock of the board', { timeout: 300_000 }, async () => {
    const file = path.join(folder, 'fleet.csv')
    const command = `'${process.execPath}' '${built.cli}' tenant --network {model} --batch {batch}`
    const where = ['--directory', path.join(folder, 'place'), '--map', file, '--command', command]
    const apply = async (...rows: string[]) => {
      const map = [`${fleetMapColumns.join()},Clock`, ...rows.map((row) => `A100-80GB,0,1,2g.20gb,2,${row},1,1095`)]
      writeFileSync(file, `${map.join('\n')}\n`)
      return run(process.execPath, program, 'deploy', '--node', '0', ...where, '--apply')
    }
    const up = await apply('resnet50,8', 'mobilenet_v2,4')
    expect(up).toMatchObject({ code: 0, stdout: '2 segments with 2 workers stand\n' })
    expect(up.stderr).toMatch(/nvidia-smi -i 1 -lgc 1095,1095/)
    expect(up.stderr.match(/-cgi/g)).toHaveLength(1)
    await expect.poll(clients, { timeout: 120_000, interval: 400 }).toEqual(['1 M+C mobilenet_v2', '1 M+C resnet50'])
    const other = await apply('resnet50,8', 'vgg19,4')
    expect(other).toMatchObject({ code: 0, stdout: '2 segments with 2 workers stand\n' })
    expect(other.stderr).not.toMatch(/-cgi|-lgc|control -d/)
    await expect.poll(clients, { timeout: 120_000, interval: 400 }).toEqual(['1 M+C resnet50', '1 M+C vgg19'])
    const down = await deploy('', '--down', '--apply')
    expect(down).toMatchObject({ code: 0, stdout: '0 segments with 0 workers stand\n' })
    expect(down.stderr).toMatch(/nvidia-smi -i 1 -rgc/)
    expect(await clients()).toEqual([])
  })

  it('says what it has not', { timeout: 300_000 }, async () => {
    const [gpu] = parseGpuList((await run('nvidia-smi', ...gpuListQuery)).stdout)
    const lock = new LeaseFolder(leases()).tryLock(gpu!.uuid)!
    const leased = await run(process.execPath, program, ...words('1,0,resnet50,4,3,8,2\n', '--apply'))
    lock.release()
    expect(leased).toMatchObject({ code: 1, stderr: expect.stringMatching(/GPU 0 is leased by process \d+/) })
    const typo = await deploy('1,0,resnet50,4,3,8,1\n', '--apply', '--command', '/nowhere/worker')
    expect(typo).toMatchObject({ code: 1, stderr: expect.stringMatching(/cannot start \/nowhere\/worker/) })
    expect((await deploy('', '--down', '--apply')).code).toBe(0)
  })
})

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}
