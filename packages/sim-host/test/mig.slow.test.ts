import { spawn } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pythonWith } from '../../../test/python-environment.js'
import type { SimulatedHost } from '../src/simulated-host.js'
import {
  type BuiltPrograms,
  buildPrograms,
  cacheFolder,
  eventually,
  missingCompiler,
  outcome,
  quickStart,
  startHost,
} from './built-host.js'

const python = missingCompiler
  ? undefined
  : pythonWith(['nvidia-ml-py==13.615.71', 'gpustat==1.1.1'], ['pynvml', 'gpustat'])

describe.skipIf(missingCompiler)(`MIG in host mode${missingCompiler ? ` (${missingCompiler})` : ''}`, () => {
  let built: BuiltPrograms
  let host: SimulatedHost
  let env: NodeJS.ProcessEnv
  const smi = async (...args: string[]) => {
    const { code, stdout } = await outcome('nvidia-smi', args, env)
    return { code, stdout }
  }
  const mig = (...args: string[]) => smi('mig', ...args)
  const devices = async () => [...(await smi('-L')).stdout.matchAll(/MIG (\S+) +Device +(\d+): \(UUID: (MIG-\S+)\)/g)]
  const clear = async () => {
    await mig('-dci')
    await mig('-dgi')
  }

  beforeAll(async () => {
    built = await buildPrograms()
    ;({ host, env } = await startHost(built.programs, { ...quickStart('A100'), privilege: 'everyone' }))
  })
  afterAll(() => {
    host?.close()
    built?.remove()
  })

  /** An inference process on whatever `CUDA_VISIBLE_DEVICES` names. */
  function tenant(visible: string, batch = '16', more: NodeJS.ProcessEnv = {}) {
    const args = [built.cli, 'tenant', '--network', 'resnet50', '--batch', batch]
    const child = spawn(process.execPath, args, { env: { ...env, CUDA_VISIBLE_DEVICES: visible, ...more } })
    const printed: { state?: string; samples?: number; mps?: boolean }[] = []
    let error = ''
    child.stdout.on('data', (chunk: Buffer) => {
      for (const line of String(chunk).trim().split('\n')) printed.push(JSON.parse(line))
    })
    child.stderr.on('data', (chunk: Buffer) => {
      error += chunk
    })
    const ended = new Promise<{ code: number | null; error: string }>((resolve) =>
      child.once('close', (code) => resolve({ code, error })),
    )
    const running = () =>
      eventually(async () => printed.some((line) => line.state === 'running' && line.samples! > 0), 'the process runs')
    const end = async () => {
      child.kill()
      await ended
    }
    return { child, printed, ended, running, end }
  }

  it('is off at first, and then there is nothing to divide', async () => {
    const query = ['--query-gpu=mig.mode.current,mig.mode.pending', '--format=csv,noheader']
    expect((await smi(...query)).stdout).toBe('Disabled, Disabled\n')
    expect(await mig('-lgip')).toEqual({ code: 6, stdout: 'No MIG-enabled devices found.\n' })
    expect(await mig('-cgi', '9')).toEqual({ code: 6, stdout: 'No MIG-enabled devices found.\n' })
    expect(await smi('-mig', '2')).toMatchObject({ code: 2 })
  })

  it('waits with the mode for the processes on the board', async () => {
    const work = tenant('0')
    await work.running()
    const asked = await smi('-mig', '1')
    expect(asked.code).toBe(0)
    expect(asked.stdout).toContain(
      'MIG mode is in pending enable state for GPU 00000000:01:00.0:In use by another client',
    )
    const query = ['--query-gpu=mig.mode.current,mig.mode.pending', '--format=csv,noheader']
    expect((await smi(...query)).stdout).toBe('Disabled, Enabled\n')
    await work.end()
    await eventually(async () => !(await smi('-q', '-d', 'PIDS')).stdout.includes('Process ID'), 'the process has gone')
    expect((await smi('-mig', '1')).stdout).toBe('Enabled MIG Mode for GPU 00000000:01:00.0\nAll done.\n')
    expect((await smi(...query)).stdout).toBe('Enabled, Enabled\n')
  })

  it('lists profiles and their placements', async () => {
    const { stdout, code } = await mig('-lgip')
    expect(code).toBe(0)
    const rows = [...stdout.matchAll(/\d+ {2}MIG (\S+) +(\d+) +(\d+\/\d+) +([\d.]+) +No +(\d+)/g)].map((row) =>
      row.slice(1),
    )
    expect(rows).toEqual([
      ['1g.5gb', '19', '7/7', '5.00', '14'],
      ['1g.10gb', '15', '4/4', '10.00', '14'],
      ['2g.10gb', '14', '3/3', '10.00', '28'],
      ['3g.20gb', '9', '2/2', '20.00', '42'],
      ['4g.20gb', '5', '1/1', '20.00', '56'],
      ['7g.40gb', '0', '1/1', '40.00', '98'],
    ])
    expect(
      new Set(
        stdout
          .trimEnd()
          .split('\n')
          .map((line) => line.length),
      ).size,
    ).toBe(1)
    expect((await mig('-lgipp')).stdout).toContain('GPU  0 Profile ID 19 Placements: {0,1,2,3,4,5,6}:1\n')
    expect((await mig('--list-gpu-instances')).stdout).toBe('No GPU instances found: Not Found\n')
    expect((await mig('-lci')).code).toBe(6)
  })

  it('makes instances until there is no room, and destroys them when they are empty', async () => {
    const made = await mig('-cgi', '9,MIG 3g.20gb', '-C')
    expect(made).toEqual({
      code: 0,
      stdout: [
        'Successfully created GPU instance ID  1 on GPU  0 using profile MIG 3g.20gb (ID  9)',
        'Successfully created compute instance ID  0 on GPU  0 GPU instance ID  1 using profile MIG 3g.20gb (ID  2)',
        'Successfully created GPU instance ID  2 on GPU  0 using profile MIG 3g.20gb (ID  9)',
        'Successfully created compute instance ID  0 on GPU  0 GPU instance ID  2 using profile MIG 3g.20gb (ID  2)',
        '',
      ].join('\n'),
    })
    expect((await mig('-lgip')).stdout).toMatch(/MIG 1g\.5gb +19 +0\/7/)
    expect((await mig('-lgi')).stdout).toMatch(/MIG 3g\.20gb +9 +1 +0:4 .*MIG 3g\.20gb +9 +2 +4:4 /s)
    expect((await mig('-lci')).stdout).toMatch(/0 +1 +MIG 3g\.20gb +2 +0 +0:3 .*0 +2 +MIG 3g\.20gb +2 +0 +0:3 /s)
    const full = await mig('-cgi', '19')
    expect(full.code).toBe(23)
    expect(full.stdout).toBe(
      'Unable to create a GPU instance on GPU  0 using profile 19: Insufficient Resources\n' +
        'Failed to create GPU instances: Insufficient Resources\n',
    )
    expect(await smi('-mig', '0')).toMatchObject({ code: 0, stdout: expect.stringContaining('pending disable') })
    expect(await smi('-mig', '1')).toMatchObject({ code: 0, stdout: expect.stringContaining('Enabled MIG Mode') })
    expect(await mig('-dgi', '-gi', '1')).toMatchObject({
      code: 19,
      stdout: expect.stringContaining('In use by another'),
    })
    expect((await mig('-dci', '-gi', '1')).stdout).toBe(
      'Successfully destroyed compute instance ID  0 from GPU  0 GPU instance ID  1\n',
    )
    expect((await mig('-dgi', '-gi', '1')).stdout).toBe('Successfully destroyed GPU instance ID  1 from GPU  0\n')
    expect(await mig('-dgi', '-gi', '1')).toMatchObject({ code: 6 })
    expect((await mig('-cgi', '1g.5gb:3')).stdout).toContain(
      'GPU instance ID 10 on GPU  0 using profile MIG 1g.5gb (ID 19)',
    )
    expect(await mig('-cgi', '9:1')).toMatchObject({ code: 2 })
    expect(await mig('-cgi', '5g.40gb')).toMatchObject({ code: 2, stdout: expect.stringContaining('Invalid Argument') })
    await clear()
    expect((await mig('-lgi')).code).toBe(6)
  })

  it('divides a GPU instance into compute instances', async () => {
    await mig('-cgi', '4g.20gb')
    expect((await mig('-lcip')).stdout).toMatch(
      /MIG 1c\.4g\.20gb +0 +4\/4 +14 .*MIG 2c\.4g\.20gb +1 +2\/2 +28 .*MIG 4g\.20gb +3\* +1\/1 +56 /s,
    )
    expect((await mig('-cci', '1c.4g.20gb,1', '-gi', '1')).code).toBe(0)
    expect((await devices()).map((row) => row.slice(1, 3))).toEqual([
      ['1c.4g.20gb', '0'],
      ['2c.4g.20gb', '1'],
    ])
    expect((await mig('-lci')).stdout).toMatch(/MIG 1c\.4g\.20gb +0 +0 +0:1 .*MIG 2c\.4g\.20gb +1 +1 +2:2 /s)
    expect(await mig('-cci')).toMatchObject({ code: 23 })
    expect(await mig('-cci', '3c.4g.20gb')).toMatchObject({ code: 2 })
    await clear()
  })

  it('runs processes on the device that they name, and shows them there', async () => {
    await mig('-cgi', '3g.20gb,1g.5gb', '-C')
    const [large, small] = (await devices()).map((row) => row[3]!)
    const works = [tenant(large!), tenant(small!)]
    await Promise.all(works.map((work) => work.running()))
    const xml = (await smi('-q', '-x')).stdout
    expect(xml).toMatch(/<current_mig>Enabled<\/current_mig>/)
    expect(xml.match(/<mig_device>/g)).toHaveLength(2)
    expect(xml).toMatch(/<multiprocessor_count>42<\/multiprocessor_count>/)
    expect(xml).toMatch(/<process_info>\s*<gpu_instance_id>1<\/gpu_instance_id>\s*<compute_instance_id>0</)
    const text = (await smi('-q')).stdout
    expect(text).toMatch(/MIG Device\n +Index +: 1\n +GPU Instance ID +: 11\n/)
    const table = (await smi()).stdout
    expect(table).toMatch(/\| +0 +1 +0 +0 +\| +\d+MiB \/ +20480MiB +\| +42 +0 \| +3 +0 +2 +0 +0 /)
    expect(table).toMatch(new RegExp(`\\| +0 +11 +0 +${works[1]!.child.pid} `))
    // A board in MIG mode tells no utilisation.
    expect((await smi('--query-gpu=utilization.gpu', '--format=csv,noheader')).stdout).toBe('[N/A]\n')
    const samples = () => works.map((work) => work.printed.at(-1)?.samples ?? 0)
    await eventually(async () => samples().every((count) => count > 500), 'both have done some work')
    expect(await mig('-dci')).toMatchObject({ code: 19, stdout: expect.stringContaining('In use by another client') })
    await Promise.all(works.map((work) => work.end()))
    await eventually(async () => (await mig('-dci')).code !== 19, 'the processes have gone')
    const gone = tenant(large!)
    expect(await gone.ended).toEqual({ code: 1, error: expect.stringContaining('CUDA error 101') })
    const none = tenant('0')
    expect(await none.ended).toEqual({ code: 1, error: expect.stringContaining('CUDA error 100') })
    await clear()
  })

  it('serves MPS clients inside a device', async () => {
    await mig('-cgi', '2g.10gb', '-C')
    const [uuid] = (await devices()).map((row) => row[3]!)
    expect((await outcome('nvidia-cuda-mps-control', ['-d'], env)).code).toBe(0)
    try {
      const works = [0, 1].map(() => tenant(uuid!, '8', { CUDA_MPS_ACTIVE_THREAD_PERCENTAGE: '50' }))
      await Promise.all(works.map((work) => work.running()))
      expect(works.map((work) => work.printed[0]!.mps)).toEqual([true, true])
      const listed = await outcome('nvidia-cuda-mps-control', [], env, 'get_device_client_list\n')
      expect(listed.stdout).toContain(`Device ${uuid}\n`)
      await Promise.all(works.map((work) => work.end()))
    } finally {
      await outcome('nvidia-cuda-mps-control', [], env, 'quit\n')
    }
    await eventually(async () => (await mig('-dci')).code !== 19, 'the processes have gone')
    await clear()
  })

  it.skipIf(!python)('nvidia-ml-py divides a board, and reads its devices (needs nvidia-ml-py in Python)', async () => {
    const script = `
import json
from pynvml import *
def refused(call, *args):
    try:
        call(*args)
        return 0
    except NVMLError as error:
        return error.value
nvmlInit()
board = nvmlDeviceGetHandleByIndex(0)
out = dict(on=nvmlDeviceSetMigMode(board, 1), mode=nvmlDeviceGetMigMode(board), most=nvmlDeviceGetMaxMigDeviceCount(board))
info = nvmlDeviceGetGpuInstanceProfileInfo(board, NVML_GPU_INSTANCE_PROFILE_3_SLICE, version=1)
named = nvmlDeviceGetGpuInstanceProfileInfo(board, NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV2, version=2)
out['profile'] = [info.id, info.sliceCount, info.instanceCount, info.multiprocessorCount, info.memorySizeMB]
out['named'] = [named.id, named.name if isinstance(named.name, str) else named.name.decode()]
out['unknown'] = refused(nvmlDeviceGetGpuInstanceProfileInfo, board, NVML_GPU_INSTANCE_PROFILE_8_SLICE)
count = c_uint(0)
places = nvmlDeviceGetGpuInstancePossiblePlacements(board, info.id, None, byref(count))
places = (c_nvmlGpuInstancePlacement_t * count.value)()
nvmlDeviceGetGpuInstancePossiblePlacements(board, info.id, places, byref(count))
out['placements'] = [(p.start, p.size) for p in places]
second = nvmlDeviceCreateGpuInstanceWithPlacement(board, info.id, byref(places[1]))
part = nvmlGpuInstanceCreateComputeInstance(second, NVML_COMPUTE_INSTANCE_PROFILE_2_SLICE)
made = nvmlGpuInstanceGetInfo(second)
out['made'] = [made.id, made.profileId, made.placement.start, made.placement.size]
of = nvmlComputeInstanceGetInfo(part)
out['part'] = [of.id, of.profileId, of.placement.start, of.placement.size]
out['room'] = nvmlDeviceGetGpuInstanceRemainingCapacity(board, info.id)
device = nvmlDeviceGetMigDeviceHandleByIndex(board, 0)
attributes = nvmlDeviceGetAttributes(device)
memory = nvmlDeviceGetMemoryInfo(device)
uuid = nvmlDeviceGetUUID(device)
out['device'] = dict(is_mig=[nvmlDeviceIsMigDeviceHandle(h) for h in (board, device)], name=nvmlDeviceGetName(device), uuid=uuid,
    gi=nvmlDeviceGetGpuInstanceId(device), ci=nvmlDeviceGetComputeInstanceId(device), sms=attributes.multiprocessorCount,
    slices=[attributes.gpuInstanceSliceCount, attributes.computeInstanceSliceCount], total=memory.total,
    parent=nvmlDeviceGetUUID(nvmlDeviceGetDeviceHandleFromMigDeviceHandle(device)) == nvmlDeviceGetUUID(board),
    found=nvmlDeviceGetGpuInstanceId(nvmlDeviceGetHandleByUUID(uuid)), power=refused(nvmlDeviceGetPowerUsage, device),
    processes=len(nvmlDeviceGetComputeRunningProcesses(device)))
out['beyond'] = refused(nvmlDeviceGetMigDeviceHandleByIndex, board, 1)
out['busy'] = refused(nvmlGpuInstanceDestroy, second)
nvmlComputeInstanceDestroy(part)
out['stale'] = [refused(nvmlDeviceGetUUID, device), refused(nvmlComputeInstanceGetInfo, part)]
nvmlGpuInstanceDestroy(second)
out['gone'] = refused(nvmlGpuInstanceGetInfo, second)
out['off'] = nvmlDeviceSetMigMode(board, 0)
out['after'] = [nvmlDeviceGetMigMode(board), refused(nvmlDeviceCreateGpuInstance, board, 9)]
nvmlDeviceSetMigMode(board, 1)
print(json.dumps(out, default=lambda number: number.value))
`
    const { stdout, stderr } = await outcome(python!, ['-c', script], env)
    expect(stderr).toBe('')
    expect(JSON.parse(stdout)).toEqual({
      on: 0,
      mode: [1, 1],
      most: 7,
      profile: [9, 3, 2, 42, 20480],
      named: [15, 'MIG 1g.10gb'],
      unknown: 3,
      placements: [
        [0, 4],
        [4, 4],
      ],
      made: [2, 9, 4, 4],
      part: [0, 1, 0, 2],
      room: 1,
      device: {
        is_mig: [0, 1],
        name: 'NVIDIA A100-PCIE-40GB MIG 2c.3g.20gb',
        uuid: expect.stringMatching(/^MIG-[0-9a-f]{8}-/),
        gi: 2,
        ci: 0,
        sms: 28,
        slices: [3, 2],
        total: 20 * 1024 ** 3,
        parent: true,
        found: 2,
        power: 3,
        processes: 0,
      },
      beyond: 6,
      busy: 19,
      stale: [6, 6],
      gone: 6,
      off: 0,
      after: [[0, 0], 3],
    })
  })

  it('is there from the start where the host is told so', async () => {
    const args = (profiles: string, ...command: string[]) => [
      built.cli,
      ...['host', '--gpu', 'A100', '--mig', profiles, '--', ...command],
    ]
    const own = { ...process.env, XDG_CACHE_HOME: cacheFolder }
    const listed = await outcome(process.execPath, args('4g.20gb,3g.20gb', 'nvidia-smi', '-L'), own)
    expect(listed.stdout).toMatch(/ {2}MIG 4g\.20gb {5}Device {2}0: .*\n {2}MIG 3g\.20gb {5}Device {2}1: /)
    // The half at the front is the only place for four slices.
    const wrong = await outcome(process.execPath, args('3g.20gb,4g.20gb', 'true'), own)
    expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining('in this order') })
    const unknown = await outcome(process.execPath, args('9g.20gb', 'true'), own)
    expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining('known: 1g.5gb') })
  })

  it('is refused without permission, and by boards that do not have it', async () => {
    const strict = await startHost(built.programs, { board: 'A100', privilege: 'nobody' })
    const without = await startHost(built.programs, { board: '3080Ti', privilege: 'everyone' })
    try {
      expect(await outcome('nvidia-smi', ['-mig', '1'], strict.env)).toMatchObject({ code: 4 })
      expect(await outcome('nvidia-smi', ['-mig', '1'], without.env)).toMatchObject({ code: 3 })
      expect(await outcome('nvidia-smi', ['mig', '-lgip'], without.env)).toMatchObject({
        code: 6,
        stdout: 'No MIG-supported devices found.\n',
      })
    } finally {
      strict.host.close()
      without.host.close()
    }
  })
})
