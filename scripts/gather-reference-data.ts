/**
 * Makes the files and the manifest of `@pctodl/reference-data` from a folder with the originals:
 *
 *   tsx --conditions=@pctodl/source scripts/gather-reference-data.ts <folder>
 *
 * Nobody needs it to run or to test the project. It says how each file was made, and makes the same bytes again.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { brotliCompressSync, constants, gunzipSync } from 'node:zlib'
import { SeededRandom, seedFrom } from '@pctodl/numerics'
import { parse } from 'csv-parse/sync'
import { PublishedParameters } from '../packages/published/src/predictor/published-parameters.js'
import { closedFormSchema, ensembleFileSchema } from '../packages/published/src/predictor/published-schemas.js'
import type { EnsembleDescription } from '../packages/published/src/predictor/published-set.js'
import { TreeEnsemble } from '../packages/published/src/predictor/tree-ensemble.js'

const [folder] = process.argv.slice(2)
if (folder === undefined) throw new Error('name the folder with the originals: pctodl-params/, kace/, measured/, ...')
const target = path.resolve(import.meta.dirname, '../packages/reference-data')
const COMPRESSED_FROM_BYTES = 4000

interface ManifestFile {
  readonly name: string
  readonly source: string
  readonly sha256: string
  readonly original: { readonly name: string; readonly sha256: string }
  readonly reduced: string | null
  readonly compressed: boolean
}

const manifest: ManifestFile[] = []
const sha256 = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest('hex')
const original = (name: string) => readFileSync(path.join(folder, name))

function keep(
  name: string,
  source: string,
  from: string,
  reduced?: { readonly how: string; readonly content: string },
): void {
  const bytes = original(from)
  const content = reduced === undefined ? bytes : Buffer.from(reduced.content)
  const compressed = content.length >= COMPRESSED_FROM_BYTES
  const file = path.join(target, 'files', compressed ? `${name}.br` : name)
  mkdirSync(path.dirname(file), { recursive: true })
  const options = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 24 }
  writeFileSync(file, compressed ? brotliCompressSync(content, { params: options }) : content)
  manifest.push({
    name,
    source,
    sha256: sha256(content),
    original: { name: from, sha256: sha256(bytes) },
    reduced: reduced?.how ?? null,
    compressed,
  })
}

function writeManifest(): void {
  const files = manifest.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  writeFileSync(path.join(target, 'manifest.json'), `${JSON.stringify(files, null, 2)}\n`)
}

/** A CSV as header and lines; lines are kept as they are, so figures keep their digits. */
function lines(name: string) {
  const [header = '', ...rows] = original(name).toString('utf8').trim().split(/\r?\n/)
  return { columns: header.split(','), header, rows }
}
const rowsOf = (name: string): Record<string, string>[] => parse(original(name), { columns: true })
const csv = (header: string, rows: readonly string[]) => `${[header, ...rows].join('\n')}\n`
const quoted = (cell: string) => (/[",\n]/.test(cell) ? `"${cell}"` : cell)

/** Some columns of some rows. */
function columnsOf(
  name: string,
  columns: readonly string[],
  where: (row: Record<string, string>) => boolean = () => true,
) {
  const rows = rowsOf(name).filter(where)
  return csv(
    columns.join(','),
    rows.map((row) => columns.map((column) => quoted(row[column]!)).join(',')),
  )
}

rmSync(path.join(target, 'files'), { recursive: true, force: true })

// What the published program is configured with, and what it answered.
keep('pctodl/golden_greedy.csv', 'pctodl', 'golden_greedy.csv')
keep('pctodl/greedy_vs_exhaustive.csv', 'pctodl', 'greedy_vs_exhaustive.csv')
keep('pctodl/profiler_matrix.json', 'pctodl', 'profiler_matrix.json')
const { configs } = JSON.parse(original('model_configs.json').toString())
keep('pctodl/model_configs.json', 'pctodl', 'model_configs.json', {
  how: 'the fields of the variants morak and batchdvfs that are compared',
  content: `${JSON.stringify({
    configs: configs
      .filter(({ variant }: { variant: string }) => variant === 'morak' || variant === 'batchdvfs')
      .map(({ folder, variant, gpuResourcesPct, batchSizes, sloMs, alpha, beta }: Record<string, unknown>) => ({
        ...{ folder, variant, gpuResourcesPct, batchSizes, sloMs, alpha, beta },
      })),
  })}\n`,
})
const { tasks } = JSON.parse(original('task_matrix.json').toString())
keep('pctodl/task_matrix.json', 'pctodl', 'task_matrix.json', {
  how: 'the tasks, with the fields that are compared',
  content: `${JSON.stringify({
    tasks: tasks.map(({ id, gpus, model, dataset, powerCapW, schedule, csvSuffix }: Record<string, unknown>) => ({
      ...{ id, gpus, model, dataset, powerCapW, schedule, csvSuffix },
    })),
  })}\n`,
})

// The published predictor: closed forms whole, the surrogate of measurements where a test fits it.
const parameters = 'pctodl-params'
const index: {
  model: string
  dataset: string | null
  platform: string | null
  mem_freq_mhz: number
  params: string
  gbr: string
}[] = JSON.parse(original(`${parameters}/index.json`).toString())
const plain = (gbr: string) => gbr.replace(/\.gz$/, '')
keep(`${parameters}/index.json`, 'pctodl', `${parameters}/index.json`, {
  how: 'the ensembles are named without .gz',
  content: `${JSON.stringify(index.map((set) => ({ ...set, gbr: plain(set.gbr) })))}\n`,
})
for (const { params } of index) keep(`${parameters}/${params}`, 'pctodl', `${parameters}/${params}`)
keep(`${parameters}/golden_physics.csv`, 'pctodl', `${parameters}/golden_physics.csv`)
const surrogate = lines(`${parameters}/surrogate_anchor.csv`)
keep(`${parameters}/surrogate_anchor.csv`, 'pctodl', `${parameters}/surrogate_anchor.csv`, {
  how: 'resnet50 on the A100 at 1215 MHz and efficientnet_v2_m on the 3080 Ti at 5001 MHz, 526 of 5,523 rows',
  content: csv(
    surrogate.header,
    surrogate.rows.filter((row) => /^(a100,resnet50,1215|3080ti,efficientnet_v2_m,5001),/.test(row)),
  ),
})
const SEEDED_ROWS = 2
const predictions = lines(`${parameters}/golden_predict.csv`)
const kept = hardRows()
keep(`${parameters}/golden_predict.csv`, 'pctodl', `${parameters}/golden_predict.csv`, {
  how:
    `of each parameter set the rows with the most and the fewest tenants, the most and the least share, the largest and the ` +
    `smallest batch, clock, throughput and power, and ${SEEDED_ROWS} seeded ones: ${kept.length} of 3,580`,
  content: csv(predictions.header, kept),
})

/** The rows at the ends of every input and output of a set, where a mistake shows first, and a few at random. */
function hardRows(): string[] {
  const groups = new Map<string, string[]>()
  for (const row of predictions.rows) {
    const set = row.split(',').slice(1, 5).join()
    groups.set(set, [...(groups.get(set) ?? []), row])
  }
  const keptRows = new Set<string>()
  for (const [set, rows] of groups) {
    const cells = (row: string, column: string) =>
      row.split(',')[predictions.columns.indexOf(column)]!.split(' ').map(Number)
    const sum = (values: number[]) => values.reduce((total, value) => total + value, 0)
    const measures: ((row: string) => number)[] = [
      (row) => cells(row, 'p_list').length,
      (row) => sum(cells(row, 'p_list')),
      (row) => Math.max(...cells(row, 'b_list')),
      ...['f_mhz', 'throughput', 'power'].map((column) => (row: string) => cells(row, column)[0]!),
    ]
    for (const measure of measures) {
      const sorted = rows.toSorted((a, b) => measure(a) - measure(b))
      keptRows.add(sorted[0]!).add(sorted.at(-1)!)
    }
    const random = new SeededRandom(seedFrom(set))
    for (let i = 0; i < SEEDED_ROWS; i++) keptRows.add(rows[random.integer(rows.length)]!)
  }
  return predictions.rows.filter((row) => keptRows.has(row))
}

// KACE: without a licence, so only what is compared.
keep('kace/workloads_kace.csv', 'kace', 'kace/workloads_kace.csv')
keep('kace/colocations2.csv', 'kace', 'kace/colocations2.csv')
keep('kace/splits2/n_occur_splits.json', 'kace', 'kace/splits2/n_occur_splits.json')
keep('kace/solo_mps_sweep.csv', 'kace', 'kace/solo_mps_sweep.csv')
keep('kace/pair_mps_sweep.csv', 'kace', 'kace/pair_mps_sweep.csv')
keep('kace/reference_results2.csv', 'kace', 'kace/reference_results2.csv', {
  how: 'the errors of the published model, without those of the methods that are not compared',
  content: columnsOf('kace/reference_results2.csv', ['n', 'r', 'm', 'mse'], (row) => row['m'] === 'KACE'),
})
keep('kace/reference_per_target2.csv', 'kace', 'kace/reference_per_target2.csv', {
  how: 'without the column of the hotcloud baseline',
  content: columnsOf('kace/reference_per_target2.csv', [
    ...['n_occur', 'seed', 'HPworkload', 'prediction', 'random', 'sm%', 'mem%', 'memcap'],
  ]),
})

// With a licence: whole.
for (const source of ['parvagpu', 'synergy', 'zeus2']) {
  const names = readdirSync(path.join(folder, source), { recursive: true, encoding: 'utf8' }).sort()
  for (const name of names.filter((each) => statSync(path.join(folder, source, each)).isFile())) {
    // Licences are in NOTICE, what the files are in the README.
    if (/LICENSE|README/.test(name) || name === 'traces.csv') continue
    keep(`${source}/${name}`, source, `${source}/${name}`)
  }
}

// Measured tables under Apache-2.0, MIT or CC BY; those of sources without a licence stay where they are.
const measured = (
  table: string,
  source: string,
  how?: string,
  where: (row: Record<string, string>) => boolean = () => true,
) => {
  const from = `measured/${table}.csv`
  const { columns } = lines(from)
  keep(from, source, from, how === undefined ? undefined : { how, content: columnsOf(from, columns, where) })
}
measured('cap_sweep_llm', 'club-3090')
measured('cap_sweep_training', 'zeus')
measured('cap_sweep_diffusion_v100', 'ai-server')
measured('mlperf_power_pairs', 'mlperf')
measured('mlperf_throughput', 'mlperf')
measured('mlperf_mig_neighbours', 'mlperf')
measured('sharing_training_pairs', 'gavel')
measured('sensor_boards', 'gpu-power-benchmark')
measured('sensor_step_response', 'gpu-power-benchmark')
measured('llm_operators', 'vidur')
measured('llm_serving_times', 'splitwise-sim')
measured(
  'throughput_resnet_batch',
  'deep-learning-examples',
  'the PyTorch and TensorFlow rows: those under Apache-2.0',
  (row) => /^(PyTorch|TensorFlow)/.test(row['framework']!),
)
const ofTheZoo =
  /^(resnet50|vgg19|densenet201|mobilenetv2_100|mnasnet_100|efficientnetv2_m|tf_efficientnetv2_m|efficientnetv2_rw_m|maxvit_(rmlp_)?(tiny|t)_)/
for (const board of ['rtx3090', 'rtx4090', 'rtx5090', 'pro6000']) {
  measured(
    `throughput_networks_${board}`,
    'timm',
    'the networks that the model zoo has, or has a near relative of',
    (row) => ofTheZoo.test(row['model']!),
  )
}
for (const service of ['conv', 'code']) {
  measured(`arrivals_azure_llm_${service}`, 'azure-llm-2023', 'the first 600 s', (row) => Number(row['t_s']) < 600)
}

// Tree ensembles: those that a search of ours wanders through whole, of the others the paths that are walked.
writeManifest()
const { publishedRuns, publishedOptima } = await import('../packages/published/test/published-cases.js')
const { searchWith, publishedOn } = await import('../packages/published/test/reference-board.js')

type Kind = keyof EnsembleDescriptions
type EnsembleDescriptions = Readonly<Record<'sm' | 'mem' | 'throughput' | 'power', EnsembleDescription>>
const kinds: readonly Kind[] = ['sm', 'mem', 'throughput', 'power']
/** Nodes that somebody stood on, of each tree. */
const walked = new Map<string, Readonly<Record<Kind, Uint8Array[]>>>()

const watched = new PublishedParameters(
  index.map(({ model, dataset, platform, mem_freq_mhz: memClockMhz, params, gbr }) => {
    const { ensembles } = ensembleFileSchema.parse(JSON.parse(gunzipSync(original(`${parameters}/${gbr}`)).toString()))
    const seen = Object.fromEntries(
      kinds.map((kind) => [kind, ensembles[kind].trees.map(([features]) => new Uint8Array(features.length))]),
    ) as Record<Kind, Uint8Array[]>
    walked.set(gbr, seen)
    const built = Object.fromEntries(
      kinds.map((kind) => [kind, watchedEnsemble(ensembles[kind], seen[kind], kind)]),
    ) as Record<Kind, TreeEnsemble>
    return {
      id: { model, dataset, platform, memClockMhz },
      closedForms: closedFormSchema.parse(JSON.parse(original(`${parameters}/${params}`).toString())),
      ensembles: () => built,
    }
  }),
)

function watchedEnsemble(description: EnsembleDescription, seen: Uint8Array[], name: string): TreeEnsemble {
  const ensemble = new TreeEnsemble(description, name)
  const predict = ensemble.predict.bind(ensemble)
  const known = new Set<string>()
  ensemble.predict = (features) => {
    const key = features.subarray(0, description.n_features).join()
    if (!known.has(key)) {
      known.add(key)
      description.trees.forEach(([feature, value, right], tree) => {
        let node = 0
        for (;;) {
          seen[tree]![node] = 1
          if (feature[node] === -1) break
          node = Math.fround(features[feature[node]!]!) <= value[node]! ? node + 1 : right[node]!
        }
      })
    }
    return predict(features)
  }
  return ensemble
}

for (const line of kept) {
  const cell = (column: string) => line.split(',')[predictions.columns.indexOf(column)]!
  const numbers = (column: string) => cell(column).split(' ').map(Number)
  watched
    .predictor({
      model: cell('model'),
      dataset: cell('dataset') || undefined,
      platform: cell('platform') || undefined,
      memFreq: Number(cell('mem_freq')),
      oversubscribe: true,
      whenMissing: 'upstream-defaults',
    })
    .predictAll(numbers('p_list'), numbers('b_list'), Number(cell('f_mhz')))
}
// The point at which the tests read every set.
for (const { model, dataset, platform, memClockMhz: memFreq } of watched.sets) {
  watched
    .predictor({ model, dataset: dataset ?? undefined, platform: platform ?? undefined, memFreq })
    .predictAll([40], [8], 1200)
}
searchWith(watched)
const runs = publishedRuns()
for (const run of runs) publishedOn(run)

const searched = new Set(publishedOptima().map(({ caseId }) => caseId))
const whole = new Set(
  runs
    .filter(({ caseId }) => searched.has(caseId))
    .flatMap((run) =>
      run.memClocksMhz.map((memFreq) => {
        const { set } = watched.predictor({ ...run, memFreq })
        return index.find(
          ({ model, dataset, platform, mem_freq_mhz }) =>
            model === set!.model &&
            dataset === set!.dataset &&
            platform === set!.platform &&
            mem_freq_mhz === set!.memClockMhz,
        )!.gbr
      }),
    ),
)
/** Stands where nothing is kept: no prediction that ends there can be taken for one. */
const NOT_KEPT = 1e300
for (const { gbr } of index) {
  const { ensembles } = ensembleFileSchema.parse(JSON.parse(gunzipSync(original(`${parameters}/${gbr}`)).toString()))
  const seen = walked.get(gbr)!
  const part = kinds.map((kind) => [
    kind,
    {
      ...ensembles[kind],
      trees: whole.has(gbr)
        ? ensembles[kind].trees
        : ensembles[kind].trees.map((tree, i) => pruned(tree, seen[kind][i]!)),
    },
  ])
  keep(`${parameters}/${plain(gbr)}`, 'pctodl', `${parameters}/${gbr}`, {
    how: whole.has(gbr)
      ? 'unpacked, and the fields that no prediction reads left out'
      : `of each tree the nodes that the recorded searches and predictions reach; ${NOT_KEPT} stands for the others`,
    content: JSON.stringify({ ensembles: Object.fromEntries(part) }),
  })
}
writeManifest()
const bytes = manifest.reduce((sum, { name, compressed }) => {
  return sum + statSync(path.join(target, 'files', compressed ? `${name}.br` : name)).size
}, 0)
console.log(`${manifest.length} files, ${(bytes / 1e6).toFixed(2)} MB`)

type Tree = EnsembleDescription['trees'][number]
function pruned([features, values, rights]: Tree, seen: Uint8Array): Tree {
  const out: Tree = [[], [], []]
  const visit = (node: number): void => {
    const leaf = features[node] === -1 || seen[node] === 0
    const at = out[0].length
    out[0].push(leaf ? -1 : features[node]!)
    out[1].push(seen[node] === 0 ? NOT_KEPT : values[node]!)
    out[2].push(0)
    if (leaf) return
    visit(node + 1)
    out[2][at] = out[0].length
    visit(rights[node]!)
  }
  visit(0)
  return out
}
