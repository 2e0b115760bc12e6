import type { PerfModel } from '@pctodl/perf-model'

/** What stories are told of. */
export interface StorySubject {
  readonly board: string
  readonly model: string
}

export const firstSubject: StorySubject = { board: '3080Ti', model: 'resnet50' }

/** A plot of a story. */
export interface StoryPlot {
  readonly description: string
  readonly xLabel: string
  readonly yLabel: string
  readonly curves: readonly { readonly label: string; readonly color: string; readonly isPoints?: boolean }[]
  /** Values of x, then of each curve. */
  readonly values: readonly (readonly (number | null)[])[]
}

/** What a story says of its subject. */
export interface ToldStory {
  /** What was computed, in a sentence. */
  readonly finding: string
  readonly plot: StoryPlot
}

export type Teller = (predictor: PerfModel, model: string) => ToldStory | Promise<ToldStory>

export const storyNames = ['clock', 'shares', 'batches', 'energy', 'peaks', 'unknown'] as const

export type StoryName = (typeof storyNames)[number]
