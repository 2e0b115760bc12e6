import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { SimulatedHost } from '../src/simulated-host.js'
import { type BuiltPrograms, buildPrograms, eventually, missingCompiler, outcome, startHost } from './built-host.js'

describe.skipIf(missingCompiler)(`nvidia-smi${missingCompiler ? ` (${missingCompiler})` : ''}`, () => {
  let host: SimulatedHost
  let env: NodeJS.ProcessEnv
  let built: BuiltPrograms
  let programs: string
  const smi = (...args: string[]) => outcome('nvidia-smi', args, env)
  const query = async (fields: string, ...more: string[]) =>
    (await smi(`--query-gpu=${fields}`, '--format=csv,noheader', ...more)).stdout.trim()

  beforeAll(async () => {
    built = await buildPrograms()
    programs = built.programs
    const load = [{ model: 'mobilenet_v2', mpsPercent: 100, batchSize: 8 }]
    ;({ host, env } = await startHost(programs, { gpus: 2, privilege: 'everyone', load }))
  })
  afterAll(() => {
    host?.close()
    built?.remove()
  })

  it('lists the boards', async () => {
    expect(await smi('-L')).toEqual({
      code: 0,
      stdout: expect.stringMatching(
        /^GPU 0: NVIDIA GeForce RTX 3080 Ti \(UUID: GPU-[0-9a-f-]{36}\)\nGPU 1: NVIDIA GeForce RTX 3080 Ti \(UUID: GPU-[0-9a-f-]{36}\)\n$/,
      ),
      stderr: '',
    })
  })

  it('answers queries with the header, units and gaps of the real tool', async () => {
    const fields = 'name,index,clocks.sm,memory.total,power.default_limit,serial,mig.mode.current'
    const { stdout } = await smi(`--query-gpu=${fields}`, '--format=csv', '-i', '1')
    const [header, row] = stdout.trim().split('\n')
    expect(header).toBe(
      'name, index, clocks.current.sm [MHz], memory.total [MiB], power.default_limit [W], serial, mig.mode.current',
    )
    expect(row).toMatch(/^NVIDIA GeForce RTX 3080 Ti, 1, \d+ MHz, 12288 MiB, 350\.00 W, \[N\/A\], \[N\/A\]$/)
    const bare = await smi('--query-gpu=memory.total,power.max_limit', '--format=csv,noheader,nounits', '--id=0')
    expect(bare.stdout).toBe('12288, 400.00\n')
  })

  it('refuses an unknown field with the message and exit code of the real tool', async () => {
    expect(await smi('--query-gpu=name,foo', '--format=csv')).toMatchObject({
      code: 2,
      stdout: 'Field "foo" is not a valid field to query.\n',
    })
    expect(await smi('--query-gpu=name')).toMatchObject({ code: 2 })
    expect(await smi('-i', '5')).toMatchObject({ code: 6, stdout: 'No devices were found\n' })
    expect(await smi('--nonsense')).toMatchObject({ code: 2 })
    expect(await smi('-r')).toMatchObject({ code: 3 })
    expect(await smi('mig', '-lgip')).toMatchObject({ code: 6, stdout: 'No MIG-supported devices found.\n' })
  })

  it('knows every field that it names', async () => {
    expect((await smi('--version')).stdout).toMatch(
      /^NVIDIA-SMI version {2}: 550\.\S+\nNVML version {8}: 550\.\d+\nDRIVER version {6}: 550\.\S+\nCUDA Version {8}: 12\.\d\n$/,
    )
    expect((await smi('--help-query-compute-apps')).stdout).toMatch(/^List of valid .*\n\n"timestamp"\n[\s\S]*"pid"\n/)
    const names = (await smi('--help-query-gpu')).stdout.replace(/^.*\n/, '').match(/(?<=")[\w.]+(?=")/g)!
    expect(names.length).toBeGreaterThan(120)
    const row = await query(names.join(','), '-i', '0')
    expect(row.split(', ')).toHaveLength(names.length)
  })

  it('lists processes and clocks', async () => {
    const apps = await smi('--query-compute-apps=pid,name,used_memory', '--format=csv')
    expect(apps.stdout).toMatch(/^pid, process_name, used_gpu_memory \[MiB\]\n\d+, simulated-mobilenet_v2, \d+ MiB\n$/)
    const clocks = await smi('--query-supported-clocks=mem,gr', '--format=csv,noheader', '-i', '0')
    expect(clocks.stdout.trim().split('\n')).toHaveLength(4 * 127 + 15)
    expect(clocks.stdout.split('\n')[0]).toBe('9501 MHz, 2100 MHz')
  })

  it('draws a table whose lines are all as wide', async () => {
    const { stdout } = await smi()
    const [date, ...lines] = stdout.trimEnd().split('\n')
    expect(date).toMatch(/^\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}$/)
    expect(new Set(lines.map((line) => line.length))).toEqual(new Set([91]))
    expect(stdout).toMatch(/\| {3}0 {2}NVIDIA GeForce RTX 3080 Ti +Off \| +00000000:01:00\.0 Off \| +N\/A \|/)
    expect(stdout).toMatch(/\| {4}0 +N\/A +N\/A +\d+ +C +simulated-mobilenet_v2 +\d+MiB \|/)
  })

  it('reports in text and in XML, whole or in sections', async () => {
    const text = (await smi('-q')).stdout
    expect(text).toContain('==============NVSMI LOG==============')
    expect(text).toContain('    Product Name                          : NVIDIA GeForce RTX 3080 Ti\n')
    expect(text).toContain('        Default Power Limit               : 350.00 W\n')
    const power = (await smi('-q', '-d', 'POWER', '-i', '0')).stdout
    expect(power).toContain('Power Draw')
    expect(power).not.toContain('Product Name')
    const xml = (await smi('-q', '-x')).stdout
    expect(xml).toContain('<gpu id="00000000:02:00.0">')
    const tags = [...xml.matchAll(/<(\/?)([\w]+)(?: id="[^"]*")?>/g)]
    const open: string[] = []
    for (const [, closing, tag] of tags) {
      if (closing) expect(open.pop()).toBe(tag)
      else open.push(tag!)
    }
    expect(open).toEqual([])
  })

  it('changes one board and leaves the other', async () => {
    expect((await smi('-i', '0', '-pl', '200')).stdout).toBe(
      'Power limit for GPU 00000000:01:00.0 was set to 200.00 W from 350.00 W.\nAll done.\n',
    )
    expect(await query('power.limit')).toBe('200.00 W\n350.00 W')
    expect((await smi('-i', '1', '-lgc', '300,300')).stdout).toContain('(gpuClkMin 300, gpuClkMax 300)')
    await eventually(async () => (await query('clocks.sm', '-i', '1')) === '300 MHz', 'the second board is locked')
    await smi('-i', '1', '-lmc', '5001')
    await eventually(async () => (await query('clocks.mem', '-i', '1')) === '5001 MHz', 'its memory clock too')
    await smi('-i', '1', '-rgc')
    await smi('-i', '1', '-rmc')
    await eventually(
      async () => (await query('clocks.sm,clocks.mem', '-i', '1')) === '210 MHz, 405 MHz',
      'it idles again',
    )
    await smi('-c', 'EXCLUSIVE_PROCESS')
    await smi('-pm', '1')
    expect(await query('compute_mode,persistence_mode', '-i', '0')).toBe('Exclusive_Process, Enabled')
  })

  it('says what a wrong limit should have been', async () => {
    const wrong = await smi('-i', '0', '-pl', '900')
    expect(wrong.code).toBe(2)
    expect(wrong.stdout).toContain('should be between 100.00 W and 400.00 W for GPU 00000000:01:00.0')
  })

  it('refuses without the permission', async () => {
    const strict = await startHost(programs, { privilege: 'nobody', board: 'A100' })
    try {
      const refused = await outcome('nvidia-smi', ['-pl', '200'], strict.env)
      expect(refused).toMatchObject({ code: 4, stdout: expect.stringContaining('does not have permission') })
      const mig = await outcome('nvidia-smi', ['mig', '-cgi', '9'], strict.env)
      expect(mig).toMatchObject({ code: 6, stdout: 'No MIG-enabled devices found.\n' })
    } finally {
      strict.host.close()
    }
  })

  it('says that there is no driver once the simulator has gone', async () => {
    const gone = await startHost(programs)
    const kept = { ...gone.env, PCTODL_GPU_SIM_FOLDER: gone.host.folder }
    gone.host.close()
    const smiFile = `${programs}/nvidia-smi.cjs`
    expect(await outcome(process.execPath, [smiFile], kept)).toMatchObject({
      code: 9,
      stdout: expect.stringContaining("couldn't communicate with the NVIDIA driver"),
    })
  })
})
