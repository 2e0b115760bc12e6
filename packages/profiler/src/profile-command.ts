import path from 'node:path'
import type { Backend } from '@pctodl/backend'
import { type CommandFunction, jsonText, type Terminal, writeFileAtomically } from '@pctodl/command-line'
import { upperMedian } from '@pctodl/numerics'
import { openAsked } from './board-options.js'
import { describeDuration, describePlan, describeRow, duration, showProgress } from './describe.js'
import type { ProfileRow } from './measure/profile-row.js'
import { rowStatuses } from './measure/row-status.js'
import { expectedDuration } from './plan/expected-duration.js'
import type { ProfilePlan } from './plan/profile-plan.js'
import { type ProfileOptions, parseOptions, requestedPlan } from './profile-options.js'
import { runPlan } from './run-plan.js'
import { newManifest } from './trace/manifest.js'
import { TraceStore } from './trace/trace-store.js'

/** The command `pctodl profile`: runs with the given arguments and returns an exit code. */
export const pctodlProfile: CommandFunction = async (argv, terminal) => {
  const options = await parseOptions(argv, terminal)
  const backend = await openAsked(options, (message) => terminal.stderr.write(`${message}\n`))
  try {
    const plan = await requestedPlan(options, backend.gpu.spec)
    if (options.writePlan !== undefined) {
      writeFileAtomically(options.writePlan, `${JSON.stringify(plan, null, 1)}\n`)
    }
    terminal.stderr.write(`${backend.description}\n${describePlan(plan)}\n`)
    if (options.dryRun) {
      const report = { ...expectedDuration(plan), plan }
      terminal.stdout.write(options.json ? jsonText(report) : listing(plan))
      return 0
    }
    return await measure(options, backend, plan, terminal)
  } finally {
    await backend.close()
  }
}

async function measure(
  options: ProfileOptions,
  backend: Backend,
  plan: ProfilePlan,
  terminal: Terminal,
): Promise<number> {
  const { stdout, stderr, signal } = terminal
  const manifest = await newManifest(backend, plan, backend.inputs)
  const out = options.out ?? path.join('profile', `${backend.gpu.spec.key}.csv`)
  const store = new TraceStore(out, manifest, options.resume ?? false)
  const rows = [...store.measured]
  const startedMs = performance.now()
  const boardStartedMs = backend.clock.now()
  try {
    if (rows.length > 0 && rows.length < plan.rows.length) {
      stderr.write(`resuming after row ${rows.length} of ${plan.rows.length}\n`)
    }
    const { onBegin, onRow } = showProgress(stderr, plan, store.left.length)
    await runPlan(backend, plan, {
      measured: store.measured,
      left: store.left,
      signal,
      onBegin,
      onRefused: ({ message }) => stderr.write(`without a lease: ${message}\n`),
      onRow: (row) => {
        store.append(row)
        rows.push(row)
        onRow(row)
      },
    })
  } catch (error) {
    if (rows.length > 0) stderr.write(`\n${rows.length} of ${plan.rows.length} rows are kept; go on with --resume\n`)
    throw error
  } finally {
    store.close()
  }
  const boardMs = backend.clock.now() - boardStartedMs
  const report = reportOf(rows, boardMs, performance.now() - startedMs, store.files)
  stdout.write(options.json ? jsonText(report) : report.text)
  // That a configuration does not fit in memory is a valid result. Any other row without a measurement is a failure.
  return rows.every((row) => row.failed && row.status !== 'out-of-memory') ? 1 : 0
}

/** @param boardMs time on the board's clock, which is virtual on a simulated board; `wallMs`: on the wall clock */
function reportOf(rows: readonly ProfileRow[], boardMs: number, wallMs: number, files: readonly string[]) {
  const counts = rowStatuses.map((status) => [status, rows.filter((row) => row.status === status).length] as const)
  const byStatus = counts.filter(([, count]) => count > 0)
  const measured = rows.filter((row) => !row.failed)
  const settleMs = upperMedian(measured.map((row) => row.settleMs))
  const windowMs = upperMedian(measured.map((row) => row.windowMs))
  const text = [
    `${rows.length} rows: ${byStatus.map(([status, count]) => `${count} ${status}`).join(', ')}`,
    `${duration(boardMs)} on the board, ${duration(wallMs)} here`,
    ...(measured.length === 0
      ? []
      : [`settling ${(settleMs / 1000).toFixed(1)} s, window ${(windowMs / 1000).toFixed(1)} s (medians)`]),
    'Written:',
    ...files.map((file) => `  ${file}`),
    '',
  ].join('\n')
  return {
    rows: rows.length,
    byStatus: Object.fromEntries(byStatus),
    boardSeconds: boardMs / 1000,
    wallSeconds: wallMs / 1000,
    medianSettleSeconds: settleMs / 1000,
    medianWindowSeconds: windowMs / 1000,
    files,
    text,
  }
}

function listing(plan: ProfilePlan): string {
  const lines = plan.rows.map((row, i) => `${i + 1}  ${describeRow(row)}`)
  return `${lines.join('\n')}\n${describeDuration(expectedDuration(plan))}\n`
}
