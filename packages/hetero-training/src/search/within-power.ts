import { IndexedHeap } from '@pctodl/numerics'
import { DeadlineSearch, type Objective, type Split, splitOf } from './best-deadline.js'
import { DeadlineRelaxation, SAME_COST } from './deadline-relaxation.js'
import { type GpuOptions, LEFT_OUT, onlyLevel } from './option-table.js'
import { type LevelBox, PowerRelaxation } from './power-relaxation.js'

export interface SplitWithinPower {
  /** Null if the search found no split within the budget. */
  readonly split: Split | null
  /** Lower bound of the objective over all splits within the budget; infinite if there is none. */
  readonly lowerBound: number
}

export interface PowerProblem {
  readonly gpus: readonly GpuOptions[]
  readonly globalBatch: number
  readonly objective: Objective
  /** Maximum sum of the limits, W. */
  readonly powerW: number
}

/** The search ends after `MAX_WORK` lookups of a cheapest share, and `MORE_WORK` further ones for each GPU. */
const MAX_WORK = 4e6
const MORE_WORK = 1e5
/** A deadline interval is halved down to this fraction of the deadline; then the limits of a GPU are split. */
const NARROW = 2e-3

/** A set of plans: the slowest GPU takes longer than `afterS` and at most `deadlineS`, and the levels lie in a box. */
interface Node extends LevelBox {
  readonly afterS: number
  readonly deadlineS: number
  readonly bound: number
  readonly price: number
}

/**
 * Finds the cheapest split whose limits add up to at most `powerW`, by branch and bound over the time of the slowest
 * GPU and the limits. The relaxation of a node bounds its cost and leads to a plan. A node's time interval is halved
 * until it is narrow; then the limits of a GPU are split. Once all limits are decided, the exact search completes the
 * node. The search is limited by work, not time; if it ends early, the bound gives the distance to the optimum.
 */
export class PowerSearch {
  readonly #problem: PowerProblem
  readonly #relaxation: PowerRelaxation
  #best: Split | null
  readonly #nodes: Node[] = []
  readonly #open = new IndexedHeap()

  /** @param known a split that meets all requirements; nothing more expensive is returned */
  constructor(problem: PowerProblem, known: Split | null) {
    this.#problem = problem
    this.#best = known
    this.#relaxation = new PowerRelaxation(problem.gpus, problem.globalBatch, problem.powerW)
  }

  run(): SplitWithinPower {
    const { gpus, objective } = this.#problem
    const floor = Int16Array.from(gpus, ({ mayBeLeftOut }) => (mayBeLeftOut ? LEFT_OUT : 0))
    const cap = this.#tightened({ floor, cap: Int16Array.from(gpus, (gpu) => gpu.settings.length - 1) })
    if (cap === null) return { split: this.#best, lowerBound: this.#best?.cost ?? Infinity }
    const deadlineS = Math.min(objective.longestS, this.#relaxation.longestS)
    this.#add({ floor, cap, afterS: 0, deadlineS, bound: 0, price: 0 })
    const maxWork = MAX_WORK + MORE_WORK * gpus.length
    while (this.#open.size > 0 && this.#relaxation.work < maxWork && this.#open.firstKey < this.#upper()) {
      const first = this.#open.first
      this.#open.remove(first)
      this.#branch(this.#nodes[first]!)
    }
    const split = this.#best
    return { split, lowerBound: Math.min(this.#open.firstKey, split?.cost ?? Infinity) }
  }

  /** Cost below which a plan is an improvement. */
  #upper(): number {
    return this.#best === null ? Infinity : this.#best.cost * (1 - SAME_COST)
  }

  #add(node: Node): void {
    if (node.bound >= this.#upper()) return
    this.#nodes.push(node)
    this.#open.set(this.#nodes.length - 1, node.bound)
  }

  #branch(node: Node): void {
    const { energyWeight, timeWeightW, idlePowerW, maxEnergyJ } = this.#problem.objective
    const { afterS, deadlineS, floor, cap } = node
    const relaxation = this.#relaxation
    const enough = energyWeight === 0 ? Infinity : (this.#upper() - timeWeightW * afterS) / energyWeight
    relaxation.solve(deadlineS, node, enough, node.price)
    const energyJ = relaxation.bound
    const { price } = relaxation
    if (energyJ === Infinity || energyJ + idlePowerW * afterS > maxEnergyJ) return
    const bound = Math.max(node.bound, energyWeight * energyJ + timeWeightW * afterS)
    if (bound >= this.#upper()) return
    this.#round(deadlineS)
    // Beyond this time, plans cost more than the best one, even with the lowest energy.
    const lastS =
      timeWeightW === 0 ? deadlineS : Math.min(deadlineS, (this.#upper() - energyWeight * energyJ) / timeWeightW)
    if (lastS <= afterS) return
    const child = (change: Partial<Node>) => this.#add({ ...node, deadlineS: lastS, bound, price, ...change })
    if (timeWeightW > 0 && lastS - afterS > NARROW * lastS) {
      const middleS = (afterS + lastS) / 2
      child({ deadlineS: middleS })
      child({ afterS: middleS })
      return
    }
    if (floor.every((level, gpu) => level === cap[gpu])) {
      this.#solve(floor)
      return
    }
    const { gpu, level } = this.#widest(node)
    const low = { floor, cap: cap.with(gpu, level) }
    const high = { floor: floor.with(gpu, level + 1), cap }
    for (const box of [low, high]) {
      const tight = this.#tightened(box)
      if (tight !== null) child({ floor: box.floor, cap: tight })
    }
  }

  /** The GPU with the most remaining levels, and the level at which to branch: near the relaxation's choice. */
  #widest({ floor, cap }: LevelBox): { readonly gpu: number; readonly level: number } {
    let gpu = 0
    for (let i = 1; i < floor.length; i++) if (cap[i]! - floor[i]! > cap[gpu]! - floor[gpu]!) gpu = i
    const chosen = this.#relaxation.levels[gpu]!
    return { gpu, level: chosen < cap[gpu]! ? chosen : chosen - 1 }
  }

  /** Rounds the relaxation's result to a split at its levels, if one meets the deadline. */
  #round(deadlineS: number): void {
    const { levels } = this.#relaxation
    const all = this.#problem.gpus.map(() => ({ first: 0, last: this.#problem.globalBatch }))
    const atLevels = all.map((_, gpu) => this.#relaxation.at(gpu, levels[gpu]!))
    const rounding = new DeadlineRelaxation(atLevels, this.#problem.globalBatch)
    rounding.solve(deadlineS, all)
    if (rounding.cost === Infinity) return
    this.#consider(splitOf(this.#problem.gpus, rounding.shares, levels, this.#problem.objective))
  }

  #solve(levels: Int16Array): void {
    const fixed = this.#problem.gpus.map((gpu, i) => onlyLevel(gpu, levels[i]!))
    const found = new DeadlineSearch(fixed, this.#problem.globalBatch).cheapest(this.#problem.objective, 0, this.#best)
    if (found && found !== this.#best) this.#consider({ ...found, limits: levels })
  }

  #consider(split: Split): void {
    const { longestS, maxEnergyJ } = this.#problem.objective
    if (split.timeS > longestS || split.energyJ > maxEnergyJ || !this.#keepsWatts(split.limits)) return
    if (this.#best === null || split.cost < this.#best.cost) this.#best = split
  }

  #keepsWatts(levels: Int16Array): boolean {
    let watts = 0
    for (const [gpu, { settings, idlePowerW }] of this.#problem.gpus.entries()) {
      watts += levels[gpu] === LEFT_OUT ? idlePowerW : settings[levels[gpu]!]!.powerLimitW
    }
    return watts <= this.#problem.powerW
  }

  /** Caps that fit the budget if all other GPUs are at their minimum; null if the minimums alone exceed it. */
  #tightened({ floor, cap }: LevelBox): Int16Array | null {
    if (!this.#keepsWatts(floor)) return null
    return cap.map((most, gpu) => {
      let level = most
      while (level > floor[gpu]! && !this.#keepsWatts(floor.with(gpu, level))) level--
      return level
    })
  }
}
