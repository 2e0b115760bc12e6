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
export function mergeSteps({ steps, tensors, outputs }: Interpretation): MergedStep[] {
  const readers = new Map<string, Set<number>>()
  /** Indices of the steps that have already been merged. */
  const taken = new Set<number>()
  steps.forEach((step, index) => {
    for (const name of step.inputs) readers.set(name, (readers.get(name) ?? new Set()).add(index))
  })
  const lastOf = new Map<number, readonly number[]>()
  const inside = new Set<number>()
  const add = (members: readonly number[]) => {
    for (const index of members) taken.add(index)
    for (const index of members.slice(0, -1)) inside.add(index)
    lastOf.set(members.at(-1)!, members)
  }
  steps.forEach((step, index) => {
    const bias = biasOf(step, index)
    if (bias !== null) add([index, bias])
  })
  for (const [name] of readers) {
    const members = functionOf(name)
    if (members !== null) add(members)
  }
  return steps.flatMap((step, index) => {
    if (inside.has(index)) return []
    const parts = (lastOf.get(index) ?? [index]).map((each) => steps[each]!)
    if (parts.length === 1) return [{ ...step, parts }]
    const written = new Set(parts.flatMap((part) => part.outputs))
    const inputs = [...new Set(parts.flatMap((part) => part.inputs))].filter((input) => !written.has(input))
    const operator = [...new Set(parts.map((part) => part.operator))].join('+')
    return [{ ...step, operator, inputs, parts }]
  })

  function isDynamic(name: string): boolean | undefined {
    return tensors.get(name)?.dynamic
  }

  /**
   * Index of the only step that reads this step's output; null if several steps do, or if the output is one of the
   * network's.
   */
  function onlyReader(step: Step): number | null {
    const [output = '', ...others] = step.outputs
    const [reader, ...more] = readers.get(output) ?? []
    return others.length > 0 || outputs.includes(output) || more.length > 0 ? null : (reader ?? null)
  }

  /**
   * Index of the step that adds a bias to this product with stored weights: a sum with one stored value per column.
   * Null if there is none.
   */
  function biasOf(step: Step, index: number): number | null {
    if (step.operator !== 'MatMul' || step.inputs.filter(isDynamic).length !== 1 || taken.has(index)) return null
    const reader = onlyReader(step)
    if (reader === null || steps[reader]!.operator !== 'Add' || taken.has(reader)) return null
    const stored = steps[reader]!.inputs.find((name) => !isDynamic(name))
    const columns = tensors.get(step.outputs[0]!)?.shape.at(-1)
    return stored !== undefined && size(stored) === columns ? reader : null
  }

  function size(name: string): number {
    return elementCount(tensors.get(name)?.shape ?? [])
  }

  /**
   * Indices of the steps that compute a function of the tensor `source` alone, read it at least twice, and expose only
   * the last result; null if there are none.
   */
  function functionOf(source: string): number[] | null {
    const derived = new Map<string, number>()
    const added: number[] = []
    const queue = new Set(readers.get(source))
    while (queue.size > 0 && added.length < MAX_PARTS) {
      const index = Math.min(...queue)
      queue.delete(index)
      const step = steps[index]!
      if (taken.has(index) || !mayJoin(step, source, derived)) continue
      added.push(index)
      derived.set(step.outputs[0]!, index)
      const members = closed(index, source, derived)
      if (members !== null) return withConstants(members)
      for (const reader of readers.get(step.outputs[0]!) ?? []) queue.add(reader)
    }
    return null
  }

  function mayJoin(step: Step, source: string, derived: ReadonlyMap<string, number>): boolean {
    if (!pointwise.has(step.operator) && step.operator !== 'ReduceMean') return false
    if (step.outputs.length !== 1 || size(step.outputs[0]!) > size(source)) return false
    return step.inputs.filter(isDynamic).every((name) => name === source || derived.has(name))
  }

  /** Indices of the steps that contribute to `last`, if they form a function that `mergeSteps` merges. */
  function closed(last: number, source: string, derived: ReadonlyMap<string, number>): number[] | null {
    const members = new Set<number>()
    const visit = (index: number) => {
      if (members.has(index)) return
      members.add(index)
      for (const name of steps[index]!.inputs) if (derived.has(name)) visit(derived.get(name)!)
    }
    visit(last)
    const parts = [...members].map((index) => steps[index]!)
    const reads = parts.flatMap((step) => step.inputs).filter((name) => name === source).length
    if (reads < 2 || size(steps[last]!.outputs[0]!) !== size(source)) return null
    const averages = parts.some((step) => step.operator === 'ReduceMean')
    const known = new Set(parts.map((step) => step.operator))
    // A norm divides by the root of a mean. Subtracting the mean is only its first part.
    const complete = averages ? isNorm(last, known) : isActivation(last, parts)
    if (!complete) return null
    const shown = [...members].some((index) => {
      const [output = ''] = steps[index]!.outputs
      if (index === last) return false
      return outputs.includes(output) || [...(readers.get(output) ?? [])].some((reader) => !members.has(reader))
    })
    return shown ? null : [...members].sort((a, b) => a - b)
  }

  /**
   * True if the steps end like an activation: the last step multiplies two computed tensors, and an earlier step is a
   * nonlinear function such as a sigmoid or `Erf`.
   */
  function isActivation(last: number, parts: readonly Step[]): boolean {
    const { operator } = steps[last]!
    const weighted = operator === 'Mul' && steps[last]!.inputs.filter(isDynamic).length === 2
    return weighted && parts.some((step) => curved.has(step.operator))
  }

  function isNorm(last: number, operators: ReadonlySet<string>): boolean {
    const { operator } = steps[last]!
    return (
      (operator === 'Div' || operator === 'Mul') && [...operators].some((each) => roots.has(each) && each !== 'Pow')
    )
  }

  /** Adds following steps that multiply by a constant, or that apply the scale and bias of a norm. */
  function withConstants(members: readonly number[]): number[] {
    const all = [...members]
    const averages = members.some((index) => steps[index]!.operator === 'ReduceMean')
    const wanted = averages ? [['Mul'], ['Add']] : [['Mul', 'Div']]
    for (const operators of wanted) {
      const reader = onlyReader(steps[all.at(-1)!]!)
      if (reader === null || taken.has(reader)) break
      const step = steps[reader]!
      const stored = step.inputs.filter((name) => !isDynamic(name))
      if (!operators.includes(step.operator) || stored.length !== 1) break
      if (!averages && size(stored[0]!) !== 1) break
      all.push(reader)
    }
    return all
  }
}
