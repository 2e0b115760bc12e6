import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Orders the test files within each group of projects: first the slow ones, then the rest, each in the usual order. Tests
 * that wait then overlap with other work, and no core is left idle while the last long file runs.
 */
export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const usual = await super.sort(files)
    return usual.sort((a, b) => groupOf(a) - groupOf(b) || placeOf(a) - placeOf(b))
  }
}

function groupOf({ project }: TestSpecification): number {
  return project.config.sequence.groupOrder
}

function placeOf({ moduleId }: TestSpecification): number {
  return moduleId.endsWith('.slow.test.ts') ? 0 : 1
}
