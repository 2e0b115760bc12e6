import { findGpuSpec, networkName, UnknownNameError } from '@pctodl/platform'
import { type PublishedEnsembles, PublishedPredictor } from './published-predictor.js'
import type { ClosedFormParameters, PublishedSetId } from './published-set.js'

/** One set of the Python code's parameters. Its tree ensembles are large, so they are read on first use. */
export interface PublishedSet {
  readonly id: PublishedSetId
  readonly closedForms: ClosedFormParameters
  readonly ensembles: () => PublishedEnsembles
}

export interface PublishedSelection {
  /** Name of the network in the Python code or torchvision, or an alias. */
  readonly model: string
  /**
   * The Python code's name of the board, `3080ti` or `a100`. If absent, sets without a platform in their name are used.
   */
  readonly platform?: string | undefined
  readonly dataset?: string | undefined
  /** Memory clock, MHz. Default: the platform's highest, if a platform is given. */
  readonly memFreq?: number | undefined
}

export interface PublishedPredictorOptions extends PublishedSelection {
  /**
   * Whether to apply the Python code's formula for the SM utilisation of several tenants, which saturates. The Python
   * code applies it when fitting but not when predicting. Default false.
   */
  readonly smSystemStage?: boolean | undefined
  /** Whether to correct the closed forms with the tree ensembles, as the Python code does. Default true. */
  readonly ensembles?: boolean | undefined
  /** Whether to accept shares that sum to more than 100. Default false. */
  readonly oversubscribe?: boolean | undefined
  /**
   * What to do if there is no parameter set: throw (default), or predict from default constants, as the Python code
   * does without a warning.
   */
  readonly whenMissing?: 'throw' | 'reference-defaults' | undefined
}

/** The Python code's fitted parameters in memory. `loadPublishedParameters` reads them from a folder of JSON files. */
export class PublishedParameters {
  readonly #sets: readonly PublishedSet[]

  constructor(sets: readonly PublishedSet[]) {
    this.#sets = sets
  }

  /** Identifiers of the available sets. */
  get sets(): readonly PublishedSetId[] {
    return this.#sets.map((set) => set.id)
  }

  /** Memory clocks at which there is a parameter set for the selection, MHz, descending. */
  memClocksMhz({ model, platform, dataset }: PublishedSelection): number[] {
    const clocks = [...new Set(this.#sets.map((set) => set.id.memClockMhz))].sort((a, b) => b - a)
    return clocks.filter((memFreq) => this.#find({ model, platform, dataset, memFreq }) !== undefined)
  }

  /**
   * Returns a predictor of one network at one memory clock. It uses the first set that exists, in the Python code's
   * order: named after dataset and platform, after the platform only, after the dataset only, after neither.
   *
   * @throws UnknownNameError listing the sets of the network, unless `whenMissing` selects the Python code's constants
   */
  predictor(options: PublishedPredictorOptions): PublishedPredictor {
    const { smSystemStage = false, ensembles = true, oversubscribe = false, whenMissing = 'throw' } = options
    const memFreq = options.memFreq ?? defaultMemClock(options.platform)
    const set = this.#find({ ...options, memFreq })
    if (set === undefined && whenMissing === 'throw') throw this.#missing(options, memFreq)
    return new PublishedPredictor(set?.id ?? null, memFreq, {
      closedForms: set?.closedForms ?? null,
      ensembles: set && ensembles ? set.ensembles() : null,
      smSystemStage,
      oversubscribe,
    })
  }

  #find({ model, platform, dataset, memFreq }: PublishedSelection): PublishedSet | undefined {
    if (memFreq === undefined) return undefined
    const name = publishedModelName(model)
    const candidates = this.#sets.filter((set) => set.id.model === name && set.id.memClockMhz === Math.trunc(memFreq))
    const wantedDataset = dataset?.toLowerCase() ?? null
    const wantedPlatform = platform?.toLowerCase() ?? null
    for (const [d, p] of [
      [wantedDataset, wantedPlatform],
      [null, wantedPlatform],
      [wantedDataset, null],
      [null, null],
    ]) {
      const found = candidates.find((set) => set.id.dataset === d && set.id.platform === p)
      if (found) return found
    }
    return undefined
  }

  #missing({ model, platform, dataset }: PublishedSelection, memFreq: number | undefined): UnknownNameError {
    const wanted = setName({
      model: publishedModelName(model),
      dataset: dataset ?? null,
      platform: platform ?? null,
      memClockMhz: memFreq ?? 0,
    })
    const ofModel = this.#sets.filter((set) => set.id.model === publishedModelName(model))
    const known = (ofModel.length > 0 ? ofModel : this.#sets).map((set) => setName(set.id))
    return new UnknownNameError('reference parameter set', wanted, known)
  }
}

/**
 * Name of a parameter set, e.g. `resnet50_imagenet_a100_mem1215`, as in the names of the Python code's folders and
 * files.
 */
export function setName({ model, dataset, platform, memClockMhz }: PublishedSetId): string {
  const memory = memClockMhz > 0 ? `mem${memClockMhz}` : 'no memory clock'
  return [model, dataset, platform, memory].filter((part) => part !== null).join('_')
}

/** The Python code's name of a network. It equals torchvision's name, except for `mnasnet`. */
export function publishedModelName(model: string): string {
  const lower = model.toLowerCase()
  try {
    const name = networkName(lower)
    return name === 'mnasnet1_0' ? 'mnasnet' : name
  } catch (error) {
    // The name may be of a network that this project does not know but that has a published set.
    if (error instanceof UnknownNameError) return lower
    throw error
  }
}

function defaultMemClock(platform: string | undefined): number | undefined {
  return platform === undefined ? undefined : findGpuSpec(platform).performanceMemClocksMhz[0]
}
