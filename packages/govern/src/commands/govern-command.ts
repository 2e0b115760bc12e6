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
import { openGpu } from '@pctodl/nvml-control'
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

/** The command `pctodl govern`. */
export const govern: CommandFunction = async (argv, terminal) => {
  const command = newCommand(
    {
      name: 'pctodl govern',
      version,
      description:
        'Set the SM clock of a board for the Triton and vLLM servers on it, so that they meet their latency objectives.',
      example: 'pctodl govern --config govern.yaml --dry-run',
    },
    terminal,
  )
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
  const address = options.http === undefined ? null : /^(.+):(\d{1,5})$/.exec(options.http)
  if (options.http !== undefined && !(Number(address?.[2]) <= 65_535))
    throw new UsageError(`--http: '${options.http}' is no address (127.0.0.1:9403)`)
  const log = options.log === undefined ? null : openLog(options.log)
  const gpu = await openGpu(config.gpu, {
    ...given({ libraryPath: options.library }),
    // A dry run only reads the board, which needs neither a lease nor root.
    access: dryRun ? 'direct' : 'service',
  })
  let last: GovernStep | null = null
  const server = address === null ? null : await startMetricsServer(address[1]!, Number(address[2]), () => last)
  const view = new View(terminal.stdout, dryRun)
  try {
    await runGovernor(
      {
        config,
        gpu,
        dryRun,
        onMessage: (message) => terminal.stderr.write(`pctodl govern: ${message}\n`),
        onStep(step) {
          view.show(step)
          last = step
          if (log !== null) appendFileSync(log, `${JSON.stringify(step)}\n`)
        },
      },
      terminal.signal,
    )
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
class View {
  readonly #stdout: TextOutput
  readonly #isDryRun: boolean
  #shown = ''
  #savedJ = 0
  #drawnJ = 0
  #atMs = 0

  constructor(stdout: TextOutput, isDryRun: boolean) {
    this.#stdout = stdout
    this.#isDryRun = isDryRun
  }

  show({ at, smClockMhz, reason, powerW, predictedW, services }: GovernStep): void {
    const atMs = Date.parse(at)
    const seconds = this.#atMs === 0 ? 0 : Math.max(0, atMs - this.#atMs) / 1000
    this.#atMs = atMs
    if (powerW !== null) {
      this.#drawnJ += powerW * seconds
      this.#savedJ += (powerW - (predictedW ?? powerW)) * seconds
    }
    const would = this.#isDryRun ? 'would hold ' : ''
    const clock = `${smClockMhz === null ? "operator's clocks" : `${would}${smClockMhz} MHz`} (${reason})`
    const states = services.map(({ name, state, ratePerS, lateShare }) =>
      state === 'serving'
        ? `${name} ${ratePerS.toFixed(0)}/s ${(100 * lateShare).toFixed(1)} % late`
        : `${name} ${state}`,
    )
    const line = [clock, `${powerW?.toFixed(0) ?? '?'} W`, ...states, this.#saving()].join('  ')
    if (this.#stdout.isTTY) this.#stdout.write(`\r${line.slice(0, (this.#stdout.columns ?? 80) - 1)}\u001b[K`)
    else if (clock !== this.#shown) this.#stdout.write(`${line}\n`)
    this.#shown = clock
  }

  end(): void {
    if (this.#stdout.isTTY) this.#stdout.write('\n')
    const saving = this.#saving()
    if (saving !== '') this.#stdout.write(`${saving}; an estimate: no other clock was tried\n`)
  }

  #saving(): string {
    if (!this.#isDryRun || this.#drawnJ === 0) return ''
    return `expected to save ${((100 * this.#savedJ) / this.#drawnJ).toFixed(0)} %`
  }
}
