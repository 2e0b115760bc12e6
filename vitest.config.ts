import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import path from 'node:path'
import { defineConfig, type ViteUserConfig } from 'vitest/config'
import { moduleKeys } from './test/module-keys.js'
import { SlowFirst } from './test/slow-first.js'

// Disables the telemetry of onnxruntime if a test's own process loads it. Our workers disable it themselves.
process.env['ORT_DISABLE_TELEMETRY'] = '1'

// Parallel test files keep the cores busy. More threads per process for garbage collection only cost CPU time.
process.env['NODE_OPTIONS'] = `${process.env['NODE_OPTIONS'] ?? ''} --v8-pool-size=1`

const cores = availableParallelism()
/**
 * Number of parallel workers for files that start processes. With twice as many as cores and two more, simulated hosts, which
 * run in real time, waited for a core longer than a driver may.
 */
const beside = cores + 2
const root = import.meta.dirname

/** Test files that only compute. */
export const pure: readonly string[] = [
  'packages/{baselines,colocation,gpu-sim,greedy-partition,numerics,platform,reference-data,scheduler,thermo-dvfs,traffic}/test/**/*.test.ts',
  'packages/command-line/test/**/!(open-to-write|own-files).test.ts',
  'packages/perf-model/test/**/*.test.ts',
  'packages/published/test/**/!(import-reference*).test.ts',
  'packages/backend/test/{open-backend,readme,visible-gpus,worker-words}?(.slow).test.ts',
  'packages/bench-runner/test/{compare,matrix-options,no-peeking,oracle-throughput,report-page,server-scenario,services-under-caps,settle-place,tasks,tuned-forms}?(.slow).test.ts',
  'packages/govern/test/{energy,language-model,law,metrics,readme}?(.slow).test.ts',
  'packages/hetero-training/test/{by-hand,curves,find-plan,golden,memory,pctodl-hetero,readers,readme,replan,simulated-loop,strange-clusters,within-power}?(.slow).test.ts',
  'packages/mig-segments/test/{cli,commands-say,deploy-actions,deploy-outputs,fleet,fleet-ends,fleet-limits,fleet-outputs,fleet-sharing,geometry,inputs,kubernetes-schemas,migration,outputs,plan,power,published,readme,replan-fleet,replan-one-board,report,schedule,stated-traffic,tail,tail-plans,until-kept}?(.slow).test.ts',
  'packages/model-zoo/test/{decoder,exported-graphs,graph-from-onnx,network-facts,network-work,onnx-export,onnx-operators,published-facts,shapes,torchvision,training-graph,work,write-onnx}?(.slow).test.ts',
  'packages/mps-control/test/mps-state?(.slow).test.ts',
  'packages/node-service/test/{identity,policy}?(.slow).test.ts',
  'packages/nvml-control/test/{board-report,describe,event-reasons,lease-record,sampler,service-protocol}?(.slow).test.ts',
  'packages/playground/test/{address,drawing,lane,peaks-story,readme,record-reading,run-parity,services-plan-parity,services-run-parity,tables-and-forms}?(.slow).test.ts',
  'packages/profiler/test/{active-sweep,append-only-file,command-line,find-knee,plan,prove,resume,row-validity,run-plan,settle}?(.slow).test.ts',
  'packages/report/test/{chart-parts,charts,cap-phases,compare,evaluate,moving-average,power-metrics,readme,report-logs,render-chart,results-csv,run-recording,run-summary,same-evaluations,standings,summary-table,verdict}?(.slow).test.ts',
  'packages/resource-sensitivity/test/{attack,edges,engine,ftf-mini-simulator,golden,laws,optimal,power,profiles,profiling,published,readme,run-log,simulate,traces}?(.slow).test.ts',
  'packages/run/test/{event-log-writer,readme,run-command}?(.slow).test.ts',
  'packages/sim-host/test/{board-file-layout,mps-daemon,simulate-command}?(.slow).test.ts',
  'packages/tenants/test/{desk-ends,inference-thread,measured-window,onnx-memory,plan-changes,protocol-ends,queue-parts,request-laws}?(.slow).test.ts',
  'test/contract/**/*.test.ts',
  'test/{architecture,broken-links,browser-bundles,closed-loop,import-graph,inside-the-repository,local-imports,refit-of-real-rows,related-tests,script-options,service-plans,serving-accuracy,tests-of-changes,training-on-physics,workflows}?(.slow).test.ts',
]

/**
 * Test files that need a process each, because they change it permanently (its user, its listeners) or load a simulated board's
 * library into it. Files that restore a folder or a variable at their end do not belong here.
 */
const alone = [
  'packages/backend/test/service?(.slow).test.ts',
  'packages/govern/test/{llm,processes}?(.slow).test.ts',
  'packages/{mps-control,node-service}/test/!(peer-credentials|readme).test.ts',
  'packages/nvml-control/test/!(message-lines|no-secrets|readme|run-child|served-lease).test.ts',
  'packages/cli/test/{doctor,on-a-host}?(.slow).test.ts',
  'packages/sim-host/test/{host-faults,hostile,nvml-library}?(.slow).test.ts',
  'packages/mig-segments/test/deploy?(.slow).test.ts',
  'packages/model-zoo/test/onnx-runtime?(.slow).test.ts',
  'test/{mutants,newcomer}?(.slow).test.ts',
]
const buildWhenStale = path.resolve(root, 'test/build-when-stale.ts')
const all = ['packages/*/test/**/*.test.ts', 'test/**/*.test.ts']
/** Files that `npm test` leaves to `npm run test:all`, because they take long for what they detect. */
const left = process.env['PCTODL_QUICK'] ? ['**/*.slow.test.ts'] : []

const weekMs = 7 * 24 * 60 * 60 * 1000

/**
 * Folder of compiled modules that all projects and runs share. The key of a module is its source and the files to which its imports
 * resolve (`test/module-keys.ts`). The folder's name depends on the files that determine compilation and the packages' exports.
 * Single modules are not removed: a new folder is used each week, and folders that were not written to for a week are removed.
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

// Tests import the sources of the workspace (the `@pctodl/source` export condition). Only the end-to-end tests start built commands;
// these are built again first if the sources have changed.
const config: ViteUserConfig = defineConfig({
  plugins: [moduleKeys],
  resolve: { conditions: ['@pctodl/source'] },
  ssr: { resolve: { conditions: ['@pctodl/source'], externalConditions: ['@pctodl/source'] } },
  test: {
    maxWorkers: cores,
    sequence: { sequencer: SlowFirst },
    experimental: { fsModuleCache: true, fsModuleCachePath: moduleCache() },
    reporters: [
      'default',
      ...(process.env['GITHUB_ACTIONS'] ? ['github-actions'] : []),
      path.resolve(root, 'test/summary-reporter.ts'),
    ],
    setupFiles: [path.resolve(root, 'test/property-runs.ts')],
    // The limit is only for tests that hang: on a machine with ten other busy processes, a correct test takes ten times as long.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
    projects: [
      {
        extends: true,
        // No test here changes its process, so files share workers, and common modules are imported once.
        test: { name: 'pure', include: [...pure], exclude: left, pool: 'threads', isolate: false },
      },
      // These tests start processes, including simulated hosts in real time. They run last.
      {
        extends: true,
        test: {
          name: 'processes',
          include: all,
          exclude: [...pure, ...alone, ...left],
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
          exclude: [...pure, ...left],
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
