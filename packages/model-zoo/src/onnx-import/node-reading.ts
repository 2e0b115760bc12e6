import type { OnnxAttribute, OnnxNode } from './read-onnx.js'
import type { TensorValue } from './tensor-value.js'

/** A node, and what is known about its inputs. The rules for shapes, constants and work read it. */
export class NodeReading {
  readonly node: OnnxNode
  readonly opset: number
  /** Inputs in the order of the node; undefined for an optional input that is omitted. */
  readonly inputs: readonly (TensorValue | undefined)[]

  constructor(node: OnnxNode, inputs: readonly (TensorValue | undefined)[], opset: number) {
    this.node = node
    this.inputs = inputs
    this.opset = opset
  }

  /** Name of the operator, with the domain unless it is ONNX's own. */
  get operator(): string {
    const { domain, operator } = this.node
    return domain === '' ? operator : `${domain}:${operator}`
  }

  /**
   * Shape of an input.
   *
   * @throws Unknown if the input is omitted
   */
  shape(index: number): readonly number[] {
    const input = this.inputs[index]
    if (input === undefined) throw new Unknown()
    return input.shape
  }

  /**
   * Values of an input's elements.
   *
   * @throws Unknown if they are not known before the model runs
   */
  values(index: number): readonly number[] {
    const values = this.inputs[index]?.values
    if (values === undefined || values === null) throw new Unknown()
    return values
  }

  has(index: number): boolean {
    return this.inputs[index] !== undefined
  }

  attribute(name: string): OnnxAttribute | undefined {
    return this.node.attributes.get(name)
  }

  int(name: string, otherwise: number): number {
    return this.attribute(name)?.int ?? otherwise
  }

  text(name: string, otherwise: string): string {
    return this.attribute(name)?.text ?? otherwise
  }

  ints(name: string): readonly number[] | undefined {
    return this.attribute(name)?.ints
  }

  /**
   * A list that is an attribute in older operator sets and an input in newer ones; undefined if the node has neither.
   */
  list(name: string, index: number): readonly number[] | undefined {
    return this.ints(name) ?? (this.has(index) ? this.values(index) : undefined)
  }
}

/** The order of the axes of a transposition. By default, all axes are reversed. */
export function permutationOf(node: NodeReading): readonly number[] {
  return node.ints('perm') ?? (node.inputs[0]?.shape ?? []).map((_, i, { length }) => length - 1 - i)
}

/** Ends a rule whose values or sizes are unknown. */
export function fail(): never {
  throw new Unknown()
}

/** Thrown if a shape or value depends on an unknown operator, or on values that are computed at run time. */
export class Unknown extends Error {}

/** Index of an axis. Negative numbers count from the last axis. */
export function axisOf(axis: number, rank: number): number {
  return axis < 0 ? axis + rank : axis
}
