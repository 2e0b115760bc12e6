import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { Backend } from '@pctodl/backend'
import { writeFileAtomically } from '@pctodl/command-line'
import { groupBy } from '@pctodl/platform'
import type { ProfileRow } from '../measure/profile-row.js'
import { runPlan } from '../run-plan.js'
import { type Manifest, newManifest } from '../trace/manifest.js'
import { readTrace, TraceStore } from '../trace/trace-store.js'
import { profileTable } from '../trace/trace-tables.js'
import { evaluateProof, isToFit, isToTest } from './evaluate-proof.js'
import { examine, type Preflight, whyNot } from './preflight.js'
import type { Proof } from './proof.js'
import { proofPage } from './proof-page.js'
import { provePlan } from './prove-plan.js'
import { measureSensorStep, type SensorStep } from './sensor-step.js'

/** A row is started only if at least this much time is left, ms. */
const ONE_ROW_MS = 20_000

export interface ProveOptions {
  /** Folder of the proof. A proof that it already contains is continued. */
  readonly out: string
  readonly seed: number
  readonly minutes: number
  readonly mps: boolean
  readonly allowSettings: boolean
  readonly signal: AbortSignal
  readonly note: (text: string) => void
}

/**
 * Measures the remaining rows of a proof for at most `minutes`, then evaluates all rows. Without `allowSettings` it
 * changes no setting of the board.
 *
 * @param open opens the board, with or without MPS; the board is closed at the end
 */
export async function prove(open: (mps: boolean) => Promise<Backend>, options: ProveOptions): Promise<Proof> {
  const { out, signal, note } = options
  const opened = await open(options.mps)
  let current = opened
  try {
    const startedMs = opened.clock.now()
    const { backend, preflight } = await examine(opened, options, async () => {
      current = await open(false)
      return current
    })
    current = backend
    note(backend.description)
    for (const [name, { works, because }] of Object.entries(preflight))
      note(`${works ? 'yes' : 'no '} ${name}: ${because}`)
    const plan = provePlan(backend.gpu.spec, options)
    const manifest = await newManifest(backend, plan, 'resident on the device')
    const store = new TraceStore(path.join(out, 'rows.csv'), manifest, true)
    try {
      const sensorStep = await sensorStepOf(backend, preflight, path.join(out, 'sensor-step.json'), signal)
      let measured = store.measured.length
      // A simulated board first measures the rows of earlier calls again. That time does not count.
      let overMs = backend.livesInProcess && measured > 0 ? undefined : startedMs + 60_000 * options.minutes
      await runPlan(backend, plan, {
        measured: store.measured,
        left: store.left.filter((row) => whyNot(preflight, plan.rows[row]!) === undefined),
        isOver: () => {
          overMs ??= backend.clock.now() + 60_000 * options.minutes
          return backend.clock.now() + ONE_ROW_MS > overMs
        },
        signal,
        onRefused: ({ message }) => note(`without a lease: ${message}`),
        onRow: (row) => {
          store.append(row)
          note(
            `${++measured}/${plan.rows.length} ${row.sweep}: ${row.failed ? `${row.status}: ${row.message}` : row.status}`,
          )
        },
      })
      return await evaluated(backend, manifest, out, { preflight, sensorStep })
    } finally {
      store.close()
    }
  } finally {
    await current.close()
  }
}

async function evaluated(
  backend: Backend,
  { tool, board, plan }: Manifest,
  out: string,
  found: Pick<Proof, 'preflight' | 'sensorStep'>,
): Promise<Proof> {
  const rows = readTrace(path.join(out, 'rows.csv'))
  const done = new Set(rows.map(({ row }) => row))
  const missing = plan.rows.filter((_, i) => !done.has(i))
  const byReason = [...groupBy(missing, (planned) => whyNot(found.preflight, planned) ?? '')]
  const { parameters, ...result } = await evaluateProof(rows, backend.gpu.spec, board.powerLimitW)
  const proof: Proof = {
    version: 1,
    tool,
    backend: backend.kind,
    board,
    description: backend.description,
    ...found,
    planned: plan.rows.length,
    left: byReason.find(([because]) => because === '')?.[1].length ?? 0,
    skipped: byReason.flatMap(([because, { length }]) => (because === '' ? [] : [{ rows: length, because }])),
    ...result,
    rows,
  }
  const write = (name: string, text: string) => writeFileAtomically(path.join(out, name), text)
  const table = (own: readonly ProfileRow[]) => `${[profileTable.header, ...own.map(profileTable.format)].join('\n')}\n`
  write('fit.csv', table(rows.filter(isToFit)))
  write('test.csv', table(rows.filter(isToTest)))
  if (parameters) write(`${board.key}.json`, `${JSON.stringify(parameters, null, 1)}\n`)
  write('proof.json', `${JSON.stringify(proof, null, 1)}\n`)
  write('proof.md', proofPage(proof))
  return proof
}

/**
 * Measures the sensor's step response once per proof. A simulated board exists only in its process, so each process
 * must measure it again.
 */
async function sensorStepOf(
  backend: Backend,
  preflight: Preflight,
  file: string,
  signal: AbortSignal,
): Promise<SensorStep | null> {
  if (!preflight.tenants.works || !preflight.powerSensor.works) return null
  if (existsSync(file) && !backend.livesInProcess) return JSON.parse(readFileSync(file, 'utf8')) as SensorStep
  const step = await measureSensorStep(backend, signal)
  if (step) writeFileAtomically(file, `${JSON.stringify(step)}\n`)
  return step
}
