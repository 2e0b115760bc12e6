import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { assertFaultScenario, type FaultScenario, simulatedBoards } from '@pctodl/gpu-sim'
import { InvalidInputError, PctodlError } from '@pctodl/platform'
import { version } from '../package.json'
import { runInHost } from './run-in-host.js'
import { simulateCommand } from './simulate-command.js'
import { type HostTenantLoad, SimulatedHost } from './simulated-host.js'
import { CudaError, runTenant } from './tenant-command.js'

const usage = `Usage:
  pctodl-gpu-sim host --gpu <board> [options] -- <command> [arguments]
      Run a command that sees simulated boards through libnvidia-ml.so.1, nvidia-smi and nvidia-cuda-mps-control.
        --gpu <board>     ${simulatedBoards.join(', ')}
        --gpus <count>    number of boards (default 1)
        --seed <number>   decides sensor errors, noise and UUIDs (default 1)
        --name <host>     hosts of different names have boards of different UUIDs, to run side by side
        --load <tenants>  inference processes that run meanwhile: network:share:batch[:board], separated by commas
        --faults <file>   JSON with what goes wrong and when: {"faults": [{"kind": "gpu-lost", "atMs": 5000}]}
        --deny-root       nobody may change a board: treat root as an unprivileged user
        --allow-all       everybody may change a board, as if they were root
        --mig <profiles>  divide each board at the start, e.g. 4g.20gb,3g.20gb; programs choose a part by its UUID
  pctodl-gpu-sim tenant --network <name> [--batch <size>] [--seconds <duration>] [--control]
      Inside a host: be an inference process on the board; prints its counters as one JSON line per second.
        --control         obey lines on standard input: batch <size>
  pctodl-gpu-sim simulate --gpu <board> --load <tenants> [options]
      What tenants settle to on a board: samples/s, watts, clocks, memory; --help lists the options.
  pctodl-gpu-sim --version
      Print the version.

Example:
  pctodl-gpu-sim host --gpu 3080Ti --load resnet50:50:32,resnet50:50:32 -- nvidia-smi
`

const startSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

class UsageError extends Error {}

/** Where help and complaints go. What a command on the host prints goes past it, to the streams that it inherits. */
export interface SimOutput {
  readonly stdout: { write(text: string): unknown }
  readonly stderr: { write(text: string): unknown }
}

/** @returns the exit code: the command's own, 1 for a failure, 2 for a usage error */
export async function sim(argv: readonly string[], { stdout, stderr }: SimOutput = process): Promise<number> {
  try {
    const [verb, ...rest] = argv
    if (verb === '--help' || verb === '-h' || verb === 'help') {
      stdout.write(usage)
      return 0
    }
    if (verb === '--version') {
      stdout.write(`${version}\n`)
      return 0
    }
    if (verb === 'host') return await host(rest, stdout)
    if (verb === 'tenant') return await tenant(rest, stdout)
    if (verb === 'simulate') return simulateCommand(rest, { stdout, stderr })
    throw new UsageError(verb === undefined ? 'no command given' : `unknown command '${verb}'`)
  } catch (error) {
    if (error instanceof UsageError || (error as NodeJS.ErrnoException).code?.startsWith('ERR_PARSE_ARGS')) {
      stderr.write(`pctodl-gpu-sim: ${(error as Error).message}\n\n${usage}`)
      return 2
    }
    if (!(error instanceof PctodlError)) throw error
    stderr.write(`pctodl-gpu-sim: ${error.message}\n`)
    return error.code === 'INVALID_INPUT' || error.code === 'UNKNOWN_NAME' ? 2 : 1
  }
}

async function host(argv: readonly string[], stdout: SimOutput['stdout']): Promise<number> {
  const separator = argv.indexOf('--')
  const own = separator < 0 ? argv : argv.slice(0, separator)
  const { values, positionals } = parseArgs({
    args: [...own],
    options: {
      gpu: { type: 'string' },
      gpus: { type: 'string', default: '1' },
      seed: { type: 'string', default: '1' },
      name: { type: 'string' },
      load: { type: 'string' },
      faults: { type: 'string' },
      mig: { type: 'string' },
      'deny-root': { type: 'boolean', default: false },
      'allow-all': { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
    allowPositionals: true,
  })
  if (values.help) {
    stdout.write(usage)
    return 0
  }
  const [command, ...args] = separator < 0 ? [] : argv.slice(separator + 1)
  if (!values.gpu) throw new UsageError('--gpu is missing')
  if (positionals.length > 0) throw new UsageError(`unexpected '${positionals[0]}'; put -- before the command`)
  if (!command) throw new UsageError('no command to run; put it after --')
  if (values['deny-root'] && values['allow-all']) throw new UsageError('--deny-root and --allow-all exclude each other')
  const seed = Number(values.seed)
  if (!Number.isSafeInteger(seed)) throw new InvalidInputError('--seed', values.seed, 'an integer')
  // From here on the command gets the signals; before, they end us, and the folder goes with us.
  const interrupted = (_: string, number: number) => process.exit(128 + number)
  for (const signal of startSignals) process.once(signal, interrupted)
  const simulated = await SimulatedHost.start({
    board: values.gpu,
    gpus: Number(values.gpus),
    seed,
    load: values.load === undefined ? [] : parseLoad(values.load),
    ...(values.name === undefined ? {} : { name: values.name }),
    ...(values.mig === undefined ? {} : { mig: values.mig.split(',').map((name) => name.trim()) }),
    ...(values.faults === undefined ? {} : { faults: readFaults(values.faults) }),
    privilege: values['deny-root'] ? 'nobody' : values['allow-all'] ? 'everyone' : 'root',
  })
  try {
    const ended = runInHost(simulated, command, args)
    for (const signal of startSignals) process.off(signal, interrupted)
    return await ended
  } finally {
    simulated.close()
  }
}

function readFaults(file: string): FaultScenario {
  let scenario: unknown
  try {
    scenario = JSON.parse(readFileSync(file, 'utf8'))
  } catch (cause) {
    throw new InvalidInputError('--faults', file, 'a readable JSON file', { cause })
  }
  assertFaultScenario(scenario)
  return scenario
}

/** `network:share:batch[:board]`, separated by commas. */
export function parseLoad(text: string): HostTenantLoad[] {
  return text.split(',').map((part) => {
    const [model = '', share, batch, gpuIndex = '0', ...more] = part.trim().split(':')
    const numbers = [share, batch, gpuIndex].map(Number)
    if (more.length > 0 || !model || numbers.some(Number.isNaN)) {
      throw new InvalidInputError('--load', part, 'network:share:batch[:board], e.g. resnet50:50:32')
    }
    return { model, mpsPercent: numbers[0]!, batchSize: numbers[1]!, gpuIndex: numbers[2]! }
  })
}

async function tenant(argv: readonly string[], stdout: SimOutput['stdout']): Promise<number> {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      network: { type: 'string' },
      batch: { type: 'string', default: '32' },
      seconds: { type: 'string' },
      control: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) {
    stdout.write(usage)
    return 0
  }
  if (!values.network) throw new UsageError('--network is missing')
  const ended = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ended.abort())
  const commands = values.control ? createInterface({ input: process.stdin }) : undefined
  try {
    await runTenant({
      ...(commands ? { commands } : {}),
      model: values.network,
      batchSize: Number(values.batch),
      ...(values.seconds === undefined ? {} : { durationMs: 1000 * Number(values.seconds) }),
      environment: process.env,
      signal: ended.signal,
      print: (line) => process.stdout.write(`${line}\n`),
    })
    return 0
  } catch (error) {
    if (!(error instanceof CudaError)) throw error
    process.stderr.write(`${error.message}\n`)
    return 1
  } finally {
    commands?.close()
    if (commands) process.stdin.destroy()
  }
}
