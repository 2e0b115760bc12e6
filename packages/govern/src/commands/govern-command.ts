import { appendFileSync, closeSync } from 'node:fs'
import {
  type CommandFunction,
  given,
  newCommand,
  openToWrite,
  parseCommand,
  type TextOutput,
  UsageError,
} from '@pctodl/command-line'
import { openGpu, reasonOf } from '@pctodl/nvml-control'
import { version } from '../../package.json'
import { readConfig } from '../config.js'
import { type GovernStep, runGovernor } from '../governor.js'
import { startMetricsServer } from '../metrics-server.js'

interface GovernOptions {
  readonly config: string
  readonly dryRun?: boolean
  readonly log?: string
  readonly http?: string
  readonly library?: string
}

export const govern: CommandFunction = async (argv, terminal) => {
  const description =
    'Set the SM clock of a board for the Triton and vLLM servers on it, so that they meet their latency objectives.'
  const example = 'pctodl govern --config govern.yaml --dry-run'
  const command = newCommand({ name: 'pctodl govern', version, description, example }, terminal)
  command
    .requiredOption('--config <file>', 'board, servers and objectives (YAML)')
    .option('--dry-run', 'change nothing; print the clock to lock and the expected saving')
    .option('--log <file>', 'append one JSON line for each interval; pctodl energy reads it')
    .option('--http <address>', '/metrics for Prometheus, e.g. 127.0.0.1:9403')
    .option('--library <path>', "NVML's library (default: where drivers put it)")
  await parseCommand(command, argv)
  const options = command.opts<GovernOptions>()
  const dryRun = options.dryRun === true
  const config = readConfig(options.config)
  const [, host, port] = /^\[?([^[\]]+)\]?:(\d{1,5})$/.exec(options.http ?? '') ?? []
  if (options.http !== undefined && !(Number(port) <= 65_535))
    throw new UsageError(`--http: '${options.http}' is no address (127.0.0.1:9403)`)
  const log = options.log === undefined ? null : openLog(options.log)
  const gpu = await openGpu(config.gpu, {
    ...given({ libraryPath: options.library }),
    // A dry run only reads the board, which needs neither a lease nor root.
    access: dryRun ? 'direct' : 'service',
  })
  let last: GovernStep | null = null
  /** Whether the last step could not be logged, for example because the disk is full. */
  let isLost = false
  let saidMs = Number.NEGATIVE_INFINITY
  const server = host === undefined ? null : await startMetricsServer(host, Number(port), () => last)
  const view = newView(terminal.stdout, dryRun)
  const onMessage = (message: string) => terminal.stderr.write(`pctodl govern: ${message}\n`)
  const onStep = (step: GovernStep) => {
    view.show(step)
    last = step
    try {
      if (log !== null) appendFileSync(log, `${isLost ? '\n' : ''}${JSON.stringify(step)}\n`)
      isLost = false
    } catch (error) {
      isLost = true
      // A disk that is nearly full fails often.
      if (performance.now() - saidMs < 3_600_000) return
      saidMs = performance.now()
      onMessage(`--log ${options.log}: ${reasonOf(error)}; steps are lost until it can be written`)
    }
  }
  try {
    await runGovernor({ config, gpu, dryRun, onMessage, onStep }, terminal.signal)
    return 0
  } finally {
    await server?.close()
    if (log !== null) closeSync(log)
    view.end()
  }
}

function openLog(file: string): number {
  try {
    return openToWrite(file, { existing: 'append' })
  } catch (error) {
    throw new UsageError(`--log ${file}: ${(error as Error).message}`)
  }
}

/** One status line: redrawn on a terminal, otherwise printed when the clock or its reason changes. */
function newView(stdout: TextOutput, isDryRun: boolean) {
  let [shown, drawnJ, savedJ, atMs] = ['', 0, 0, NaN]
  const saving = () => (isDryRun && drawnJ > 0 ? [`expected to save ${((100 * savedJ) / drawnJ).toFixed(0)} %`] : [])
  return {
    show({ at, smClockMhz, reason, powerW, predictedW, services }: GovernStep): void {
      const seconds = Math.max(0, Date.parse(at) - atMs) / 1000 || 0
      atMs = Date.parse(at)
      drawnJ += seconds * (powerW ?? 0)
      savedJ += seconds * ((powerW ?? 0) - (predictedW ?? powerW ?? 0))
      const held = smClockMhz === null ? "operator's clocks" : `${isDryRun ? 'would hold ' : ''}${smClockMhz} MHz`
      const clock = `${held} (${reason})`
      if (clock === shown && !stdout.isTTY) return
      shown = clock
      const states = services.map(({ name, state, ratePerS, lateShare }) => {
        const serves = `${ratePerS.toFixed(0)}/s ${(100 * lateShare).toFixed(1)} % late`
        return `${name} ${state === 'serving' ? serves : state}`
      })
      const line = [clock, `${powerW?.toFixed(0) ?? '?'} W`, ...states, ...saving()].join('  ')
      stdout.write(stdout.isTTY ? `\r${line.slice(0, (stdout.columns ?? 80) - 1)}\u001b[K` : `${line}\n`)
    },
    end(): void {
      if (stdout.isTTY) stdout.write('\n')
      for (const saved of saving()) stdout.write(`${saved}; an estimate: no other clock was tried\n`)
    },
  }
}
