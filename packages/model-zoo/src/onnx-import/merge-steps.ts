import { elementCount } from '../shapes.js'
import type { Interpretation, Step } from './interpret-graph.js'

/** One or more nodes of a file that a framework runs as one call. */
export interface MergedStep extends Step {
  /** All nodes of the merged step, in the order of the file. */
  readonly parts: readonly Step[]
}

const pointwise = new Set([
  ...['Add', 'Sub', 'Mul', 'Div', 'Pow', 'Sqrt', 'Reciprocal', 'Neg', 'Abs', 'Exp', 'Log', 'Erf', 'Tanh', 'Sigmoid'],
  ...['HardSigmoid', 'Softplus', 'Clip', 'Relu', 'Min', 'Max', 'Where', 'Cast'],
])
/** Nonlinear operators. Every decomposed activation function contains at least one of them. */
const curved = new Set(['Sigmoid', 'HardSigmoid', 'Erf', 'Tanh', 'Softplus', 'Clip', 'Exp'])
const roots = new Set(['Sqrt', 'Reciprocal', 'Pow'])
const MAX_PARTS = 16

/**
 * Merges the nodes into which exporters decompose one function: an activation (SiLU, both forms of GELU, hard swish,
 * Mish), a layer norm or root-mean-square norm, or a linear layer with bias. The nodes of an activation or norm compute
 * a function of one tensor, and only their last result is used elsewhere.
 */
export function mergeSteps(interpretation: Interpretation): MergedStep[] {
  return new Merger(interpretation).merge()
}

class Merger {
  readonly #interpretation: Interpretation
  readonly #steps: readonly Step[]
  readonly #readers = new Map<string, Set<number>>()
  readonly #outputs: ReadonlySet<string>
  /** Indices of the steps that have already been merged. */
  readonly #taken = new Set<number>()

  constructor(interpretation: Interpretation) {
    this.#interpretation = interpretation
    this.#steps = interpretation.steps
    this.#outputs = new Set(interpretation.outputs)
    this.#steps.forEach((step, index) => {
      for (const name of step.inputs) this.#readers.set(name, (this.#readers.get(name) ?? new Set()).add(index))
    })
  }

  merge(): MergedStep[] {
    const lastOf = new Map<number, readonly number[]>()
    const inside = new Set<number>()
    const add = (members: readonly number[]) => {
      for (const index of members) this.#taken.add(index)
      for (const index of members.slice(0, -1)) inside.add(index)
      lastOf.set(members.at(-1)!, members)
    }
    this.#steps.forEach((step, index) => {
      const bias = this.#biasOf(step, index)
      if (bias !== null) add([index, bias])
    })
    for (const [name] of this.#readers) {
      const members = this.#functionOf(name)
      if (members !== null) add(members)
    }
    return this.#steps.flatMap((step, index) => {
      if (inside.has(index)) return []
      const parts = (lastOf.get(index) ?? [index]).map((each) => this.#steps[each]!)
      if (parts.length === 1) return [{ ...step, parts }]
      const written = new Set(parts.flatMap((part) => part.outputs))
      const inputs = [...new Set(parts.flatMap((part) => part.inputs))].filter((input) => !written.has(input))
      const operator = [...new Set(parts.map((part) => part.operator))].join('+')
      return [{ ...step, operator, inputs, parts }]
    })
  }

  #dynamicInputs(step: Step): string[] {
    return step.inputs.filter((name) => this.#interpretation.tensors.get(name)?.dynamic)
  }

  /**
   * Index of the only step that reads this step's output; null if several steps do, or if the output is one of the
   * network's.
   */
  #onlyReader({ outputs }: Step): number | null {
    const [output = '', ...others] = outputs
    const readers = this.#readers.get(output)
    if (others.length > 0 || this.#outputs.has(output) || readers?.size !== 1) return null
    const [reader] = readers
    return reader!
  }

  /**
   * Index of the step that adds a bias to this product with stored weights: a sum with one stored value per column.
   * Null if there is none.
   */
  #biasOf(step: Step, index: number): number | null {
    if (step.operator !== 'MatMul' || this.#dynamicInputs(step).length !== 1 || this.#taken.has(index)) return null
    const reader = this.#onlyReader(step)
    if (reader === null || this.#steps[reader]!.operator !== 'Add' || this.#taken.has(reader)) return null
    const stored = this.#steps[reader]!.inputs.find((name) => !this.#interpretation.tensors.get(name)?.dynamic)
    const columns = this.#interpretation.tensors.get(step.outputs[0]!)?.shape.at(-1)
    return stored !== undefined && this.#size(stored) === columns ? reader : null
  }

  #size(name: string): number {
    return elementCount(this.#interpretation.tensors.get(name)?.shape ?? [])
  }

  /**
   * Indices of the steps that compute a function of the tensor `source` alone, read it at least twice, and expose only
   * the last result; null if there are none.
   */
  #functionOf(source: string): number[] | null {
    const derived = new Map<string, number>()
    const added: number[] = []
    const queue = new Set(this.#readers.get(source))
    while (queue.size > 0 && added.length < MAX_PARTS) {
      const index = Math.min(...queue)
      queue.delete(index)
      const step = this.#steps[index]!
      if (this.#taken.has(index) || !this.#mayJoin(step, source, derived)) continue
      added.push(index)
      derived.set(step.outputs[0]!, index)
      const members = this.#closed(index, source, derived)
      if (members !== null) return this.#withConstants(members)
      for (const reader of this.#readers.get(step.outputs[0]!) ?? []) queue.add(reader)
    }
    return null
  }

  #mayJoin(step: Step, source: string, derived: ReadonlyMap<string, number>): boolean {
    if (!pointwise.has(step.operator) && step.operator !== 'ReduceMean') return false
    if (step.outputs.length !== 1 || this.#size(step.outputs[0]!) > this.#size(source)) return false
    return this.#dynamicInputs(step).every((name) => name === source || derived.has(name))
  }

  /** Indices of the steps that contribute to `last`, if they form a function that `mergeSteps` merges. */
  #closed(last: number, source: string, derived: ReadonlyMap<string, number>): number[] | null {
    const members = new Set<number>()
    const visit = (index: number) => {
      if (members.has(index)) return
      members.add(index)
      for (const name of this.#steps[index]!.inputs) if (derived.has(name)) visit(derived.get(name)!)
    }
    visit(last)
    const steps = [...members].map((index) => this.#steps[index]!)
    const reads = steps.flatMap((step) => step.inputs).filter((name) => name === source).length
    if (reads < 2 || this.#size(this.#steps[last]!.outputs[0]!) !== this.#size(source)) return null
    const averages = steps.some((step) => step.operator === 'ReduceMean')
    const known = new Set(steps.map((step) => step.operator))
    // A norm divides by the root of a mean. Subtracting the mean is only its first part.
    const complete = averages ? this.#isNorm(last, known) : this.#isActivation(last, steps)
    if (!complete) return null
    const shown = [...members].some((index) => {
      const [output = ''] = this.#steps[index]!.outputs
      if (index === last) return false
      return this.#outputs.has(output) || [...(this.#readers.get(output) ?? [])].some((reader) => !members.has(reader))
    })
    return shown ? null : [...members].sort((a, b) => a - b)
  }

  /**
   * True if the steps end like an activation: the last step multiplies two computed tensors, and an earlier step is a
   * nonlinear function such as a sigmoid or `Erf`.
   */
  #isActivation(last: number, steps: readonly Step[]): boolean {
    const { operator } = this.#steps[last]!
    const weighted = operator === 'Mul' && this.#dynamicInputs(this.#steps[last]!).length === 2
    return weighted && steps.some((step) => curved.has(step.operator))
  }

  #isNorm(last: number, operators: ReadonlySet<string>): boolean {
    const { operator } = this.#steps[last]!
    return (
      (operator === 'Div' || operator === 'Mul') && [...operators].some((each) => roots.has(each) && each !== 'Pow')
    )
  }

  /** Adds following steps that multiply by a constant, or that apply the scale and bias of a norm. */
  #withConstants(members: readonly number[]): number[] {
    const all = [...members]
    const averages = members.some((index) => this.#steps[index]!.operator === 'ReduceMean')
    const wanted = averages ? [['Mul'], ['Add']] : [['Mul', 'Div']]
    for (const operators of wanted) {
      const reader = this.#onlyReader(this.#steps[all.at(-1)!]!)
      if (reader === null || this.#taken.has(reader)) break
      const step = this.#steps[reader]!
      const stored = step.inputs.filter((name) => !this.#interpretation.tensors.get(name)?.dynamic)
      if (!operators.includes(step.operator) || stored.length !== 1) break
      if (!averages && this.#size(stored[0]!) !== 1) break
      all.push(reader)
    }
    return all
  }
}
