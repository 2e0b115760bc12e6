export { InferencePool } from './pool/inference-pool.js'
export type { InferencePoolOptions, MpsMembership, PoolEvent } from './pool/inference-pool-options.js'
export { assertRunning } from './pool/assert-running.js'
export type { MeasuredWindow, WindowTenant } from './pool/common-window.js'
export type { EndedWorker } from './pool/ended-worker.js'
export { commandWorker, type WorkerKind, type WorkerLaunch } from './pool/worker-kind.js'
export { onnxWorker, type OnnxWorkerOptions } from './pool/onnx-worker-kind.js'
export { torchWorker, torchWorkerFile, type TorchWorkerOptions } from './pool/torch-worker-kind.js'
export { type BatchTimes, timedWorker, type TimedWorkerOptions } from './pool/timed-worker-kind.js'
export { type Changes, planChanges } from './pool/plan-changes.js'
export { type ImageFolderOptions, imageFolder } from './images/image-folder.js'
export { syntheticImages, type SyntheticImagesOptions } from './images/synthetic-images.js'
export { type AskOptions, RequestDesk, type RequestDeskOptions } from './requests/request-desk.js'
export type { ServiceTraffic } from './requests/service-traffic.js'
export type { Answer } from './requests/pending-request.js'
export { type ImagePool, readImages } from './images/image-pool.js'
export {
  type Command,
  type ImageFile,
  parseCommand,
  parseReport,
  PROTOCOL_VERSION,
  type ProtocolVersion,
  type Report,
  type WorkerMode,
} from './protocol/messages.js'
export { LineSplitter } from './protocol/line-splitter.js'
