import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import path from 'node:path'
import { defineConfig, type ViteUserConfig } from 'vitest/config'
import { LongestFirst } from './scripts/longest-first.js'
import { moduleKeys } from './scripts/module-keys.js'

// Where onnxruntime is loaded into a test's own process, nothing of it is recorded or sent; workers of ours say so themselves.
process.env['ORT_DISABLE_TELEMETRY'] = '1'

const cores = availableParallelism()
/** Of files that start processes: they wait for two thirds of their time. */
const beside = 2 * cores + 2
const root = import.meta.dirname

/** Packages that only compute, and what computes of the others. */
const pure = [
  'packages/{baselines,colocation,gpu-sim,greedy-partition,mig-deploy,numerics,platform,reference-data,scheduler,solver,thermo-dvfs,traffic}/test/**/*.test.ts',
  'packages/command-line/test/**/!(open-to-write|own-files).test.ts',
  'packages/perf-model/test/**/*.test.ts',
  'packages/published/test/**/!(import-reference).test.ts',
  'packages/backend/test/{open-backend,readme,visible-gpus,worker-words}.test.ts',
  'packages/bench-runner/test/{compare,no-peeking,oracle-throughput,report-page.slow,server-scenario.slow,services-under-caps.slow,settle-place,tasks,tuned-forms}.test.ts',
  'packages/govern/test/{energy,law,metrics,readme}.test.ts',
  'packages/hetero-training/test/{by-hand.slow,curves,find-plan,golden,memory,pctodl-hetero,readers,readme,replan,simulated-loop,strange-clusters,within-power}.test.ts',
  'packages/mig-segments/test/{cheapest-cover,cli,commands-say,cool-down,fleet,fleet-ends,fleet-limits,fleet-sharing,geometry,inputs,migration,outputs,plan.slow,power,published,readme,replan-fleet.slow,replan-one-board,report,same-plans,schedule,stated-traffic.slow,tail.slow,tail-plans.slow,until-kept}.test.ts',
  'packages/model-zoo/test/{decoder,exported-graphs,graph-from-onnx,network-facts,network-work,onnx-export,onnx-operators,published-facts,shapes,torchvision,training-graph,work,write-onnx}.test.ts',
  'packages/mps-control/test/mps-state.test.ts',
  'packages/node-service/test/{identity,policy}.test.ts',
  'packages/nvml-control/test/{board-report,describe,event-reasons,lease-record,sampler,service-protocol}.test.ts',
  'packages/playground/test/{address,drawing,lane,peaks-story,readme,record-reading,run-parity,services-plan-parity,services-run-parity}.test.ts',
  'packages/profiler/test/{active-sweep,append-only-file,command-line,find-knee,plan,prove,resume,row-validity,run-plan,settle,summarize-repeats}.test.ts',
  'packages/report/test/{chart-parts,charts,cap-phases,compare,evaluate,moving-average,paper,power-metrics,readme,report-logs,render-chart,results-csv,run-recording,run-summary,same-evaluations,standings,summary-table,verdict}.test.ts',
  'packages/resource-sensitivity/test/{attack,edges,engine,ftf-mini-simulator,golden,laws,optimal,power,profiles,profiling,published,readme,run-log,simulate,traces}.test.ts',
  'packages/run/test/{event-log-writer,readme,run-command}.test.ts',
  'packages/sim-host/test/{board-file-layout,mps-daemon,simulate-command}.test.ts',
  'packages/tenants/test/{desk-ends,inference-thread,measured-window,onnx-memory,plan-changes,protocol-ends,queue-parts,request-laws}.test.ts',
  'test/contract/**/*.test.ts',
  'test/{architecture,broken-links,browser-bundles,closed-loop.slow,import-graph,inside-the-repository,local-imports,longest-first,related-tests,service-plans.slow,serving-accuracy,training-on-physics,workflows}.test.ts',
]

/**
 * What changes the process that it runs in for good (its user, its listeners), or loads a simulated board's library into it: a process
 * of its own for each file. A folder or a variable that goes back at the end of a file is no reason.
 */
const alone = [
  'packages/backend/test/service.test.ts',
  'packages/govern/test/{llm,processes}.test.ts',
  'packages/{mps-control,node-service}/test/!(peer-credentials|readme).test.ts',
  'packages/nvml-control/test/!(message-lines|no-secrets|readme|run-child|served-lease).test.ts',
  'packages/cli/test/doctor.test.ts',
  'packages/sim-host/test/{host-faults,hostile,nvml-library}.test.ts',
  'packages/mig-segments/test/deploy.test.ts',
  'packages/model-zoo/test/onnx-runtime.test.ts',
  'test/{mutants,newcomer}.test.ts',
]
const buildWhenStale = path.resolve(root, 'test/build-when-stale.ts')
const all = ['packages/*/test/**/*.test.ts', 'test/**/*.test.ts']

const weekMs = 7 * 24 * 60 * 60 * 1000

/**
 * Modules as tests run them, kept from one project and one run to the next. A module is looked up by its source and by where its
 * imports lead (`scripts/module-keys.ts`); how it is compiled and what packages export is up to these files as well. Nothing is
 * taken out of such a folder one by one: each week begins a new one, and what was not written to for a week goes.
 */
function moduleCache(): string {
  const all = path.join(root, 'node_modules', '.cache', 'vitest-modules')
  const ofPackages = readdirSync(path.join(root, 'packages')).map((name) => path.join('packages', name))
  const hash = createHash('sha1').update(`week ${Math.floor(Date.now() / weekMs)}\n`)
  for (const folder of ['', ...ofPackages]) {
    for (const file of ['package.json', 'pnpm-lock.yaml', 'tsconfig.base.json', 'tsconfig.json']) {
      const at = path.join(root, folder, file)
      if (existsSync(at)) hash.update(`${path.join(folder, file)}\n`).update(readFileSync(at))
    }
  }
  for (const name of existsSync(all) ? readdirSync(all) : []) {
    const age = Date.now() - (statSync(path.join(all, name), { throwIfNoEntry: false })?.mtimeMs ?? 0)
    if (age > weekMs) rmSync(path.join(all, name), { recursive: true, force: true })
  }
  return path.join(all, hash.digest('hex'))
}

// Tests import the sources of the workspace (the `@pctodl/source` export condition). The end-to-end tests start built command lines
// on purpose, which are built again before them where they are not of these sources.
const config: ViteUserConfig = defineConfig({
  plugins: [moduleKeys],
  resolve: { conditions: ['@pctodl/source'] },
  ssr: { resolve: { conditions: ['@pctodl/source'], externalConditions: ['@pctodl/source'] } },
  test: {
    maxWorkers: cores,
    sequence: { sequencer: LongestFirst },
    experimental: { fsModuleCache: true, fsModuleCachePath: moduleCache() },
    reporters: [
      'default',
      ...(process.env['GITHUB_ACTIONS'] ? ['github-actions'] : []),
      path.resolve(root, 'scripts/summary-reporter.ts'),
    ],
    setupFiles: [path.resolve(root, 'test/property-runs.ts')],
    // For what hangs: on a machine with ten busy processes beside it a test takes ten times as long, and is right.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
    projects: [
      {
        extends: true,
        // Nothing here changes its process, so files share workers, and modules that many of them import are imported once.
        test: { name: 'pure', include: pure, pool: 'threads', isolate: false },
      },
      // These start processes, simulated hosts in real time among them. They come last.
      {
        extends: true,
        test: {
          name: 'processes',
          include: all,
          exclude: [...pure, ...alone],
          pool: 'forks',
          isolate: false,
          globalSetup: buildWhenStale,
          maxWorkers: beside,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'processes-alone',
          include: alone,
          exclude: pure,
          pool: 'forks',
          globalSetup: buildWhenStale,
          maxWorkers: beside,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})

export default config
