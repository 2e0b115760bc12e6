import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { exitCodeOf } from '@pctodl/command-line'
import { LeaseFolder, loadNvml, type Nvml } from '@pctodl/nvml-control'
import type { SimulatedHost } from '@pctodl/sim-host'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type BuiltPrograms, buildPrograms, missingCompiler, startHost } from '../../sim-host/test/built-host.js'
import { segments } from '../src/commands.js'
import { mapColumns } from '../src/map/deployment-map.js'
import { fleetMapColumns } from '../src/map/fleet-map.js'
import { type DeployedSegment, readDeployment } from '../src/node/deployment-state.js'
import { gpuListQuery, parseGpuList, parseInstanceList } from '../src/node/mig-layout.js'

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
  const program = path.resolve(import.meta.dirname, '../../cli/bin/pctodl.js')
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
    const code = await exitCodeOf('pctodl segments', segments, words(map, ...args), terminal)
    return { code, stdout, stderr }
  }
  const clients = async () => {
    const { stdout } = await run('nvidia-smi')
    return [...stdout.matchAll(/\|\s+(\d+)\s+(\d+)\s+\d+\s+\d+\s+(M\+C|C)\s+pctodl sim tenant (\w+)/g)]
      .map(([, gpu, , type, model]) => `${gpu} ${type} ${model}`)
      .sort()
  }

  it('is brought up, changed in part, and taken down', { timeout: 600_000 }, async () => {
    const first = '1,0,resnet50,4,3,8,2\n1,0,mobilenet_v2,0,2,4,1\n'
    const dry = await run(process.execPath, program, 'segments', ...words(first))
    expect(dry).toMatchObject({ code: 0, stderr: '' })
    expect(dry.stdout).toMatch(/nvidia-smi mig -i 0 -cgi 3g.40gb:4 -C/)
    expect((await run('nvidia-smi', '-L')).stdout).not.toContain('MIG')

    const up = await deploy(first, '--apply')
    expect(up).toMatchObject({ code: 0, stdout: '2 segments with 3 workers stand\n' })
    await expect.poll(clients, { interval: 400 }).toEqual(['0 M+C mobilenet_v2', '0 M+C resnet50', '0 M+C resnet50'])
    const before = readDeployment(path.join(folder, 'place', 'deployment.json'))
    expect((await deploy(first)).stdout).toBe('nothing to do\n')

    const second = await deploy('1,0,resnet50,4,3,8,2\n1,0,vgg19,3,1,4,1\n', '--apply')
    expect(second).toMatchObject({ code: 0, stdout: '2 segments with 3 workers stand\n' })
    await expect.poll(clients, { interval: 400 }).toEqual(['0 M+C resnet50', '0 M+C resnet50', '0 M+C vgg19'])
    const after = readDeployment(path.join(folder, 'place', 'deployment.json'))
    const resnet = ({ model }: DeployedSegment) => model === 'resnet50'
    expect(after.find(resnet)).toEqual(before.find(resnet))
    const instances = parseInstanceList((await run('nvidia-smi', 'mig', '-lgi')).stdout)
    expect(instances.map(({ profile, start }) => `${profile}@${start}`).sort()).toEqual(['1g.10gb@3', '3g.40gb@4'])

    // As if it had been cut off between the two calls that destroy an instance.
    const vgg = after.find(({ model }) => model === 'vgg19')!
    for (const { pid } of vgg.workers) process.kill(pid)
    await expect.poll(clients, { interval: 400 }).toEqual(['0 M+C resnet50', '0 M+C resnet50'])
    expect(await run('nvidia-smi', 'mig', '-dci', '-i', '0', '-gi', String(vgg.instanceId))).toMatchObject({ code: 0 })
    const down = await deploy('', '--down', '--apply')
    expect(down).toMatchObject({ code: 0, stdout: '0 segments with 0 workers stand\n' })
    expect((await run('nvidia-smi', '-L')).stdout).not.toContain('MIG')
    expect(await clients()).toEqual([])
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
    const left = pids.filter((pid) => commandOf(pid).includes(path.join(folder, 'place')))
    expect(left).toEqual([])
  })

  it('goes through a period of a schedule step by step, the new before the old', async () => {
    const steps = path.join(folder, 'period-02')
    mkdirSync(steps)
    const old = '1,0,resnet50,4,3,8,1\n'
    const both = `${old}1,0,resnet50,0,2,8,1\n`
    ;[both, '1,0,resnet50,0,2,8,1\n'].forEach((map, step) => {
      writeFileSync(path.join(steps, `step-00${step + 1}.csv`), `${mapColumns.join()}\n${map}`)
    })
    expect(await deploy(old, '--apply')).toMatchObject({ code: 0 })
    const command = `'${process.execPath}' '${built.cli}' tenant --network {model} --batch {batch}`
    const node = [
      program,
      'segments',
      'deploy',
      '--node',
      '1',
      '--gpus-per-node',
      '2',
      '--directory',
      path.join(folder, 'place'),
    ]
    const way = ['--through', steps, '--settle', '0.1', '--command', command, '--apply']
    const through = await run(process.execPath, ...node, ...way)
    expect(through).toMatchObject({ code: 0, stdout: '1 segment with 1 worker stand\n' })
    const at = (words: RegExp) => through.stderr.split('\n').findIndex((line) => words.test(line))
    expect(at(/-cgi 2g.20gb:0/)).toBeGreaterThanOrEqual(0)
    expect(at(/tenant --network resnet50/)).toBeGreaterThan(at(/-cgi 2g.20gb:0/))
    expect(at(/^kill .*resnet50/)).toBeGreaterThan(at(/tenant --network resnet50/))
    const [left] = readDeployment(path.join(folder, 'place', 'deployment.json'))
    expect(left).toMatchObject({ model: 'resnet50', profile: '2g.20gb', start: 0 })
    expect((await deploy('', '--down', '--apply')).code).toBe(0)
  })

  it('runs models that share an instance of a fleet, at the clock of the board', async () => {
    const file = path.join(folder, 'fleet.csv')
    const command = `'${process.execPath}' '${built.cli}' tenant --network {model} --batch {batch}`
    const where = ['--directory', path.join(folder, 'place'), '--map', file, '--command', command]
    const apply = async (...rows: string[]) => {
      const map = [`${fleetMapColumns.join()},Clock`, ...rows.map((row) => `A100-80GB,0,1,2g.20gb,2,${row},1,1095`)]
      writeFileSync(file, `${map.join('\n')}\n`)
      return run(process.execPath, program, 'segments', 'deploy', '--node', '0', ...where, '--apply')
    }
    const up = await apply('resnet50,8', 'mobilenet_v2,4')
    expect(up).toMatchObject({ code: 0, stdout: '2 segments with 2 workers stand\n' })
    expect(up.stderr).toMatch(/nvidia-smi -i 1 -lgc 1095,1095/)
    expect(up.stderr.match(/-cgi/g)).toHaveLength(1)
    await expect.poll(clients, { interval: 400 }).toEqual(['1 M+C mobilenet_v2', '1 M+C resnet50'])
    const other = await apply('resnet50,8', 'vgg19,4')
    expect(other).toMatchObject({ code: 0, stdout: '2 segments with 2 workers stand\n' })
    expect(other.stderr).not.toMatch(/-cgi|-lgc|control -d/)
    await expect.poll(clients, { interval: 400 }).toEqual(['1 M+C resnet50', '1 M+C vgg19'])
    const down = await deploy('', '--down', '--apply')
    expect(down).toMatchObject({ code: 0, stdout: '0 segments with 0 workers stand\n' })
    expect(down.stderr).toMatch(/nvidia-smi -i 1 -rgc/)
    expect(await clients()).toEqual([])
  })

  it('says what it has not', async () => {
    const [gpu] = parseGpuList((await run('nvidia-smi', ...gpuListQuery)).stdout)
    const lock = new LeaseFolder(leases()).tryLock(gpu!.uuid)!
    const leased = await run(process.execPath, program, 'segments', ...words('1,0,resnet50,4,3,8,2\n', '--apply'))
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
