import { readFileSync } from 'node:fs'
import {
  type CommandFunction,
  integerFrom,
  newCommand,
  numberBetween,
  parseCommand,
  Subcommands,
  type Terminal,
  UsageError,
} from '@pctodl/command-line'
import { assertFaultScenario, type FaultScenario, simulatedBoards } from '@pctodl/gpu-sim'
import { given, InvalidInputError, PctodlError } from '@pctodl/platform'
import { version } from '../package.json'
import { attachProcess } from './attached-process.js'
import { LlmEngine } from './llm-engine.js'
import { serveLlm } from './llm-server.js'
import { runInHost } from './run-in-host.js'
import { addSimulateOptions, parseLoad, type SimulateOptions, simulate } from './simulate-command.js'
import { type HostTenantLoad, SimulatedHost } from './simulated-host.js'
import { type TenantOptions, tenant } from './tenant-command.js'

const startSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

interface HostOptions {
  readonly gpu: string
  readonly gpus: number
  readonly seed: number
  readonly name?: string
  readonly load: HostTenantLoad[]
  readonly faults?: string
  readonly mig?: string
  readonly denyRoot?: true
  readonly allowAll?: true
}

interface LlmOptions {
  readonly parameters: number
  readonly model: string
  readonly port: number
}

/** The command `pctodl sim`. Commands that it runs on the host use this process's streams directly. */
export const sim: CommandFunction = async (argv, terminal) => {
  const program = newCommand(
    {
      name: 'pctodl sim',
      version,
      description: 'Simulated boards: a host on which programs see them, and steady-state figures.',
      example: 'pctodl sim host --gpu 3080Ti --load resnet50:50:32,resnet50:50:32 -- nvidia-smi',
    },
    terminal,
  )
  const subcommands = new Subcommands(program, terminal)
  subcommands
    .add(
      'host',
      'run a command that sees simulated boards through libnvidia-ml.so.1, nvidia-smi and nvidia-cuda-mps-control',
    )
    .requiredOption('--gpu <board>', simulatedBoards.join(', '))
    .option('--gpus <count>', 'number of boards', integerFrom(1), 1)
    .option('--seed <n>', 'seed of sensor errors, noise and UUIDs', integerFrom(Number.MIN_SAFE_INTEGER), 1)
    .option(
      '--name <host>',
      'host name; hosts with different names have different board UUIDs and can run side by side',
    )
    .option('--load <tenants>', 'background work: network:share:batch[:board], separated by commas', parseLoad, [])
    .option('--faults <file>', 'JSON file of faults: {"faults": [{"kind": "gpu-lost", "atMs": 5000}]}')
    .option('--deny-root', 'treat root as an unprivileged user, who may not change boards')
    .option('--allow-all', 'let every user change boards, like root')
    .option('--mig <profiles>', 'divide each board at the start, e.g. 4g.20gb,3g.20gb')
    .argument('[command...]', 'command to run, after --')
    .action(subcommands.action((options: HostOptions, [command, ...words]) => host(options, command, words)))
  subcommands
    .add('tenant', 'inside a host: run a simulated inference process; prints its counters as one JSON line per second')
    .requiredOption('--network <name>', 'network to run')
    .option('--batch <samples>', 'batch size', Number, 32)
    .option('--seconds <s>', 'duration (default: until it is ended)', numberBetween(0, Number.MAX_VALUE))
    .action(subcommands.action((options: TenantOptions) => tenant(options, terminal)))
  subcommands
    .add('llm', "inside a host: serve the OpenAI chat protocol like vLLM, with random words at the board's speed")
    .option('--parameters <count>', 'parameters of the model, in half precision', numberBetween(1e6, 1e12), 1e9)
    .option('--model <name>', 'model name for clients', 'simulated')
    .option('--port <n>', 'local port; 0 for any free one', integerFrom(0), 8000)
    .action(subcommands.action((options: LlmOptions) => llm(options, terminal)))
  addSimulateOptions(
    subcommands.add('simulate', 'steady state of tenants on a warm board: samples/s, watts, clocks, memory'),
  ).action(subcommands.action(async (options: SimulateOptions) => simulate(options, terminal)))

  if (argv.length === 0) throw new UsageError('no subcommand; one of host, tenant, simulate')
  try {
    await parseCommand(program, argv)
  } catch (error) {
    if (!(error instanceof PctodlError) || !['INVALID_INPUT', 'UNKNOWN_NAME'].includes(error.code)) throw error
    throw new UsageError(error.message)
  }
  return subcommands.exitCode
}

async function host(options: HostOptions, command: string | undefined, words: readonly string[]): Promise<number> {
  const { gpu, gpus, seed, load, name, mig, faults, denyRoot, allowAll } = options
  if (command === undefined) throw new UsageError('no command to run; put it after --')
  if (denyRoot && allowAll) throw new UsageError('--deny-root and --allow-all exclude each other')
  // A signal before the command starts ends this process, which removes the host's folder. Later signals are forwarded
  // to the command.
  const interrupted = (_: string, number: number) => process.exit(128 + number)
  for (const signal of startSignals) process.once(signal, interrupted)
  const simulated = await SimulatedHost.start({
    ...{ board: gpu, gpus, seed, load },
    ...given({
      name,
      faults: faults === undefined ? undefined : readFaults(faults),
      mig: mig?.split(',').map((profile) => profile.trim()),
    }),
    privilege: denyRoot ? 'nobody' : allowAll ? 'everyone' : 'root',
  })
  try {
    const ended = runInHost(simulated, command, words)
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

async function llm({ parameters, model, port }: LlmOptions, terminal: Terminal): Promise<number> {
  const { stdout, stderr, signal } = terminal
  const engine = await LlmEngine.start(parameters, (given) =>
    attachProcess(process.env, { name: `pctodl sim llm ${model}`, ...given, stepwise: true }),
  )
  signal.addEventListener('abort', () => engine.close(), { once: true })
  try {
    await engine.warmUp()
    const server = await serveLlm(engine, model, port)
    stdout.write(`${JSON.stringify({ url: server.url })}\n`)
    const failure = await engine.ended
    if (!signal.aborted) stderr.write(`${failure}\n`)
    server.close()
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    engine.close()
  }
  return signal.aborted ? 130 : 1
}
