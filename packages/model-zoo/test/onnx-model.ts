import { createRequire } from 'node:module'
import type * as OnnxProto from 'onnx-proto'
import { InferenceSession, Tensor } from 'onnxruntime-node'

// A CommonJS package whose exports Node cannot name beforehand.
const { onnx } = createRequire(import.meta.url)('onnx-proto') as typeof OnnxProto

export type Model = InstanceType<typeof OnnxProto.onnx.ModelProto>

/** Reads a model with an implementation of Protocol Buffers that is not the package's own. */
export function decodeModel(bytes: Uint8Array): Model {
  return onnx.ModelProto.decode(bytes)
}

/** A 64-bit integer of protobuf.js, as a number. */
export const integer = (value: unknown): number => Number(String(value))

/** The axes of the graph's inputs or outputs: names where they are open. */
export function axesOf(
  value: NonNullable<NonNullable<Model['graph']>['input']>[number] | undefined,
): (string | number)[] {
  const axes = value?.type?.tensorType?.shape?.dim ?? []
  return axes.map((axis) => axis.dimParam || integer(axis.dimValue))
}

/** The model with more tensors as outputs. Messages that are written one behind the other are read as one. */
export function withOutputs(model: Uint8Array, names: readonly string[]): Uint8Array {
  const more = onnx.ModelProto.encode({ graph: { output: names.map((name) => ({ name })) } }).finish()
  return Buffer.concat([model, more])
}

/** On the CPU, one thread, without the optimizations that fuse operators and so remove the tensors between them. */
export function openSession(model: Uint8Array | string): Promise<InferenceSession> {
  const options: InferenceSession.SessionOptions = {
    executionProviders: ['cpu'],
    graphOptimizationLevel: 'disabled',
    enableCpuMemArena: false,
    intraOpNumThreads: 1,
    logSeverityLevel: 3,
  }
  return typeof model === 'string' ? InferenceSession.create(model, options) : InferenceSession.create(model, options)
}

export interface Result {
  readonly dims: readonly number[]
  readonly values: Float32Array
}

export async function run(
  session: InferenceSession,
  values: Float32Array,
  dims: readonly number[],
): Promise<Record<string, Result>> {
  const outputs = await session.run({ input: new Tensor('float32', values, dims) })
  return Object.fromEntries(
    Object.entries(outputs).map(([name, tensor]) => [name, { dims: tensor.dims, values: tensor.data as Float32Array }]),
  )
}
