import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Test files that take ten seconds or more, the longest first, as measured with four of them in parallel on two cores.
 * Long files start first: tests that wait then overlap with other work, and no core is left idle while the last long
 * file runs.
 */
export const longestFiles: readonly string[] = [
  'test/examples.test.ts',
  'packages/resource-sensitivity/test/slurm-schedule.test.ts',
  'test/newcomer.test.ts',
  'packages/mps-control/test/mps-daemon.test.ts',
  'packages/playground/test/services-rooms.test.ts',
  'packages/tenants/test/onnx-worker.test.ts',
  'packages/backend/test/host-mode.test.ts',
  'packages/node-service/test/kill.test.ts',
  'packages/bench-runner/test/real-board.test.ts',
  'test/docs.test.ts',
  'packages/job-array/test/slurm-jobs.test.ts',
  'packages/tenants/test/pool.test.ts',
  'packages/playground/test/plan-room.test.ts',
  'packages/node-service/test/mig.test.ts',
  'packages/node-service/test/service.test.ts',
  'packages/node-service/test/hostile.test.ts',
  'packages/mig-segments/test/deploy.test.ts',
  'packages/tenants/test/requests.test.ts',
  'packages/bench-runner/test/resume.test.ts',
  'packages/cli/test/cleanup.test.ts',
  'packages/hetero-training/test/carry-out.test.ts',
  'packages/playground/test/run-room.test.ts',
  'packages/profiler/test/readme.test.ts',
  'test/mutants.test.ts',
  'packages/job-array/test/slurm-executor.test.ts',
  'packages/bench-runner/test/slurm.test.ts',
  'packages/model-zoo/test/onnx-runtime.test.ts',
  'packages/profiler/test/killed.test.ts',
  'packages/sim-host/test/mig.test.ts',
  'packages/bench-runner/test/command-line.test.ts',
  'packages/playground/test/hostile.test.ts',
  'test/commands.test.ts',
  'test/summary-reporter.test.ts',
  'packages/sim-host/test/nvml-library.test.ts',
  'test/versions.test.ts',
  'packages/published/test/import-reference.test.ts',
  'packages/tenants/test/readme.test.ts',
  'packages/mps-control/test/commands.test.ts',
]

/**
 * Orders the test files within each group of projects: first the longest files, then other long computations
 * (`*.slow.test.ts`), then the rest in the usual order.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const usual = await super.sort(files)
    return usual.sort((a, b) => groupOf(a) - groupOf(b) || placeOf(a) - placeOf(b))
  }
}

function groupOf({ project }: TestSpecification): number {
  return project.config.sequence.groupOrder
}

function placeOf({ moduleId }: TestSpecification): number {
  const place = longestFiles.findIndex((file) => moduleId.endsWith(`/${file}`))
  if (place >= 0) return place
  return longestFiles.length + (moduleId.endsWith('.slow.test.ts') ? 0 : 1)
}
