import type { PerfModel } from '@pctodl/perf-model'

/** What stories are about. */
export interface StorySubject {
  readonly board: string
  readonly model: string
}

export const firstSubject: StorySubject = { board: '3080Ti', model: 'resnet50' }

/** An explanation of one question, with the figures of a board and a network. */
export interface Story {
  readonly question: string
  /** What holds for every board. */
  readonly why: string
  /** The answer, from the figures. */
  readonly finding: string
  readonly plot: {
    readonly description: string
    readonly xLabel: string
    readonly yLabel: string
    readonly curves: readonly {
      /** Empty for a curve that another label covers. */
      readonly label: string
      readonly color: string
      readonly points?: boolean
      readonly width?: number
    }[]
    /** Values of x, then of each curve. */
    readonly values: readonly (readonly (number | null)[])[]
  }
}

export type Teller = (predictor: PerfModel, model: string) => Story | Promise<Story>

export const storyNames = ['clock', 'shares', 'batches', 'energy', 'peaks', 'unknown'] as const

export type StoryName = (typeof storyNames)[number]
