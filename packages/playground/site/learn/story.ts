import type { PerfModel } from '@pctodl/perf-model'

/** The board and the network of a story. */
export interface StorySubject {
  readonly board: string
  readonly model: string
}

export const firstSubject: StorySubject = { board: '3080Ti', model: 'resnet50' }

/** Explains one question with the figures of one board and one network. */
export interface Story {
  readonly question: string
  /** The explanation that applies to every board. */
  readonly why: string
  /** The answer for this board, with its figures. */
  readonly finding: string
  readonly plot: {
    readonly description: string
    readonly xLabel: string
    readonly yLabel: string
    readonly curves: readonly {
      /** Label of the curve; empty if it shares the label of another curve. */
      readonly label: string
      readonly color: string
      readonly points?: boolean
      readonly width?: number
    }[]
    /** The values of x, followed by the values of each curve. */
    readonly values: readonly (readonly (number | null)[])[]
  }
}

export type Teller = (predictor: PerfModel, model: string) => Story | Promise<Story>

export const storyNames = ['clock', 'shares', 'batches', 'energy', 'peaks', 'unknown'] as const

export type StoryName = (typeof storyNames)[number]
