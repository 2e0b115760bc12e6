import { InvalidInputError, type NetworkName } from '@pctodl/platform'
import type {
  Extent,
  GraphNode,
  NetworkGraph,
  OperatorAttributes,
  OperatorKind,
  WeightTensor,
} from './network-graph.js'

/** The output of a node while a graph is built. A following layer with weights needs the number of its channels. */
export interface Activation {
  readonly id: string
  readonly channels: number
}

export interface ConvOptions {
  readonly kernel?: number
  readonly stride?: number
  /** Padding on each side, pixels. Default: half the kernel, which keeps the size at stride 1. */
  readonly padding?: number
  readonly groups?: number
  readonly bias?: boolean
}

export interface ConvNormOptions extends ConvOptions {
  readonly first?: number
  readonly epsilon?: number | undefined
  /** Activation function after the norm. It overwrites its input if the framework can do so. */
  readonly activation?: ActivationKind
}

export interface PoolOptions {
  readonly kernel: number
  readonly stride: number
  readonly padding?: number
}

export type ActivationKind = 'relu' | 'relu6' | 'silu' | 'gelu' | 'sigmoid' | 'tanh'

interface NodeTensors {
  readonly weights?: readonly WeightTensor[]
  readonly buffers?: readonly WeightTensor[]
}

/**
 * Builds a network operator by operator, in the order in which an eager framework calls them. Every method adds one
 * node (or a few) and returns its output. One number describes a square kernel or stride.
 */
export class GraphBuilder {
  readonly #nodes: GraphNode[] = []
  readonly #ids = new Set<string>()

  input(channels = 3): Activation {
    return this.#node('input', 'input', [], channels, { channels })
  }

  conv2d(id: string, x: Activation, outChannels: number, options: ConvOptions = {}): Activation {
    const { kernel = 1, stride = 1, groups = 1, bias = false } = options
    const padding = options.padding ?? (kernel - 1) / 2
    const weights = [tensor(`${id}.weight`, [outChannels, x.channels / groups, kernel, kernel])]
    if (bias) weights.push(tensor(`${id}.bias`, [outChannels]))
    return this.#node(
      id,
      'conv2d',
      [x],
      outChannels,
      {
        inChannels: x.channels,
        outChannels,
        kernel: square(kernel),
        stride: square(stride),
        padding: square(padding),
        groups,
        bias,
      },
      { weights },
    )
  }

  /**
   * Adds a convolution, its batch norm and an activation. In torchvision they are the elements of the sequence at
   * `path`, from `first` on.
   */
  convNorm(path: string, input: Activation, outChannels: number, options: ConvNormOptions = {}): Activation {
    const { first = 0, epsilon, activation, ...convolution } = options
    const x = this.conv2d(`${path}.${first}`, input, outChannels, convolution)
    const normalised = this.batchNorm(`${path}.${first + 1}`, x, epsilon)
    if (activation === undefined) return normalised
    return this.activation(`${path}.${first + 2}`, activation, normalised, { inPlace: true })
  }

  batchNorm(id: string, x: Activation, epsilon = 1e-5): Activation {
    const { channels } = x
    return this.#node(
      id,
      'batchNorm',
      [x],
      channels,
      { channels, epsilon },
      {
        weights: [tensor(`${id}.weight`, [channels]), tensor(`${id}.bias`, [channels])],
        buffers: [tensor(`${id}.running_mean`, [channels]), tensor(`${id}.running_var`, [channels])],
      },
    )
  }

  layerNorm(id: string, x: Activation, options: { copiesInput?: boolean } = {}): Activation {
    const features = x.channels
    const attributes = { features, epsilon: 1e-5, copiesInput: options.copiesInput ?? false }
    return this.#node(id, 'layerNorm', [x], features, attributes, {
      weights: [tensor(`${id}.weight`, [features]), tensor(`${id}.bias`, [features])],
    })
  }

  linear(id: string, x: Activation, outFeatures: number, bias = true): Activation {
    const inFeatures = x.channels
    const weights = [tensor(`${id}.weight`, [outFeatures, inFeatures])]
    if (bias) weights.push(tensor(`${id}.bias`, [outFeatures]))
    return this.#node(id, 'linear', [x], outFeatures, { inFeatures, outFeatures, bias }, { weights })
  }

  activation(id: string, kind: ActivationKind, x: Activation, options: { inPlace?: boolean } = {}): Activation {
    const inPlace = options.inPlace === true && ['relu', 'relu6', 'silu'].includes(kind)
    return this.#node(id, kind as 'relu', [x], x.channels, { inPlace })
  }

  add(id: string, a: Activation, b: Activation, options: { inPlace?: boolean } = {}): Activation {
    return this.#node(id, 'add', [a, b], a.channels, { inPlace: options.inPlace ?? false })
  }

  mul(id: string, a: Activation, b: Activation): Activation {
    return this.#node(id, 'mul', [a, b], a.channels, { inPlace: false })
  }

  concat(id: string, parts: readonly Activation[]): Activation {
    const channels = parts.reduce((sum, part) => sum + part.channels, 0)
    return this.#node(id, 'concat', parts, channels, { axis: 1 })
  }

  maxPool(id: string, x: Activation, options: PoolOptions): Activation {
    return this.#node(id, 'maxPool', [x], x.channels, poolAttributes(options))
  }

  avgPool(id: string, x: Activation, options: PoolOptions): Activation {
    return this.#node(id, 'avgPool', [x], x.channels, poolAttributes(options))
  }

  adaptiveAvgPool(id: string, x: Activation, outputSize: number): Activation {
    return this.#node(id, 'adaptiveAvgPool', [x], x.channels, { outputSize: square(outputSize) })
  }

  spatialMean(id: string, x: Activation): Activation {
    return this.#node(id, 'spatialMean', [x], x.channels, { axes: [2, 3] })
  }

  /**
   * Adds a flatten. `positions` is the number of pixels that remain; the number of features is channels times pixels.
   */
  flatten(id: string, x: Activation, positions = 1): Activation {
    return this.#node(id, 'flatten', [x], x.channels * positions, { startAxis: 1 })
  }

  /** Adds an attention operator for which this class has no method of its own. */
  operator<Kind extends OperatorKind>(
    id: string,
    kind: Kind,
    inputs: readonly Activation[],
    channels: number,
    attributes: OperatorAttributes[Kind],
  ): Activation {
    return this.#node(id, kind, inputs, channels, attributes)
  }

  relativePositionBias(id: string, size: number, heads: number): Activation {
    const span = 2 * size - 1
    return this.#node(
      id,
      'relativePositionBias',
      [],
      heads,
      { size, heads },
      {
        weights: [tensor(`${id}_table`, [span * span, heads])],
      },
    )
  }

  /** Returns the graph. Call it after the last operator has been added. */
  build(name: NetworkName, inputSize: NetworkGraph['inputSize']): NetworkGraph {
    return { name, nodes: this.#nodes, inputSize }
  }

  #node<Kind extends OperatorKind>(
    id: string,
    kind: Kind,
    inputs: readonly Activation[],
    channels: number,
    attributes: OperatorAttributes[Kind],
    tensors: NodeTensors = {},
  ): Activation {
    if (this.#ids.has(id)) throw new InvalidInputError('id', id, 'an ID unique in the graph')
    this.#ids.add(id)
    const { weights = [], buffers = [] } = tensors
    const node = { id, kind, inputs: inputs.map((input) => input.id), attributes, weights, buffers }
    // The method's signature makes sure that kind and attributes match. The compiler cannot see this, because it does
    // not distribute a union over a type parameter.
    this.#nodes.push(node as unknown as GraphNode)
    return { id, channels }
  }
}

function tensor(name: string, shape: readonly number[]): WeightTensor {
  return { name, shape, elements: shape.reduce((product, size) => product * size, 1) }
}

function square(size: number): Extent {
  return [size, size]
}

function poolAttributes({ kernel, stride, padding = 0 }: PoolOptions): OperatorAttributes['maxPool'] {
  return { kernel: square(kernel), stride: square(stride), padding: square(padding) }
}
