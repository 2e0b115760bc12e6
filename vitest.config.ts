import { availableParallelism } from 'node:os'
import path from 'node:path'
import { defineConfig, type ViteUserConfig } from 'vitest/config'

const cores = availableParallelism()

/** Packages that only compute, and what computes of the others. */
const pure = [
  'packages/{baselines,charts,colocation,greedy-partition,numerics,platform,reference-data,scheduler,solver,thermo-dvfs,traffic}/test/**/*.test.ts',
  'packages/command-line/test/**/!(open-to-write).test.ts',
  'packages/perf-model/test/**/!(import-upstream).test.ts',
  'packages/backend/test/{open-backend,readme,visible-gpus,worker-words}.test.ts',
  'packages/bench-runner/test/{compare,no-peeking,oracle-throughput,server-scenario,settle-place,tasks,tuned-forms}.test.ts',
  'packages/gpu-sim/test/*.test.ts',
  'packages/gpu-sim/test/host/{board-file-layout,mps-daemon}.test.ts',
  'packages/hetero-training/test/{batch-and-replan,curves,find-plan,golden,memory,pctodl-hetero,readers,readme,replan,within-power}.test.ts',
  'packages/mig-segments/test/{cli,geometry,inputs,migration,outputs,plan,power,published,readme,replan,replan-counts,report,service-tails,solve-parts,tail}.test.ts',
  'packages/model-zoo/test/{exported-graphs,graph-from-onnx,network-facts,network-work,onnx-cli,onnx-export,onnx-operators,published-facts,shapes,torchvision,work}.test.ts',
  'packages/mps-control/test/mps-state.test.ts',
  'packages/node-service/test/policy.test.ts',
  'packages/nvml-control/test/{describe,sampler}.test.ts',
  'packages/playground/test/{address,drawing,readme,run-parity}.test.ts',
  'packages/profiler/test/{active-sweep,append-only-file,command-line,find-knee,plan,resume,row-validity,run-plan,settle,summarize-repeats}.test.ts',
  'packages/report/test/{chart-parts,charts,compare,paper,readme,report-logs,results-csv,run-summary,standings,summary-table,verdict}.test.ts',
  'packages/resource-sensitivity/test/{budget-engine,edges,engine,golden,laws,optimal,place-under-budget,profiling,published,readme,run-log,simulate,traces}.test.ts',
  'packages/run/test/{event-log-writer,readme,run-command}.test.ts',
  'packages/tenants/test/{onnx-memory,plan-changes}.test.ts',
  'test/{broken-links,browser-bundles,changed-figures,closed-loop,import-graph,inside-the-repository,service-plans,serving-accuracy,workflows}.test.ts',
]
const all = ['packages/*/test/**/*.test.ts', 'test/**/*.test.ts']

// Tests import the sources of the workspace (the `@pctodl/source` export condition), so a test never runs against a stale
// build. The end-to-end tests spawn the built command lines on purpose.
const config: ViteUserConfig = defineConfig({
  resolve: { conditions: ['@pctodl/source'] },
  ssr: { resolve: { conditions: ['@pctodl/source'], externalConditions: ['@pctodl/source'] } },
  test: {
    maxWorkers: cores,
    reporters: [
      'default',
      ...(process.env['GITHUB_ACTIONS'] ? ['github-actions'] : []),
      path.resolve(import.meta.dirname, 'scripts/summary-reporter.ts'),
    ],
    setupFiles: [path.resolve(import.meta.dirname, 'test/property-runs.ts')],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        // Nothing here changes its process, so files share workers, and modules that many of them import are imported once.
        test: { name: 'pure', include: pure, pool: 'threads', isolate: false },
      },
      {
        extends: true,
        // These start processes, simulated hosts in real time among them. They come last and each has a process of its own. They
        // wait for more than half of their time, so there are more of them than cores.
        test: {
          name: 'processes',
          include: all,
          exclude: pure,
          pool: 'forks',
          maxWorkers: 2 * cores,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})

export default config
