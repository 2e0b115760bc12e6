// Maps: what stands on which GPU.
export {
  DEFAULT_GPUS_PER_NODE,
  formatDeploymentMap,
  type MappedGpu,
  type MappedSegment,
  mapColumns,
  parseDeploymentMap,
} from './map/deployment-map.js'
export {
  fleetMapColumns,
  formatFleetMap,
  isFleetMap,
  type MappedBoard,
  type MappedFleetSegment,
  parseFleetMap,
} from './map/fleet-map.js'
export { boardsOf } from './map/boards-of.js'
export { readMap } from './map/read-map.js'
export { drawMap, type PictureOptions } from './map/picture.js'
// MIG geometry.
export {
  assignStarts,
  assignStartsBeside,
  COMPUTE_SLICES,
  findMigBoard,
  footprints,
  freeStart,
  geometryOf,
  isSegmentSize,
  type MigBoard,
  migBoardKeys,
  type Placement,
  placementConflict,
  type SegmentSize,
  segmentSizes,
  sliceMask,
} from './mig-geometry.js'
// For the GPU operator.
export { formatMigParted } from './kubernetes/mig-parted.js'
export { formatKubernetes, type KubernetesOptions } from './kubernetes/kubernetes.js'
// On a node.
export {
  type DeployAction,
  type DeployedHealth,
  deployActions,
  segmentsOfNode,
  type TargetSegment,
} from './node/deploy-actions.js'
export { boardNamed, fleetSegmentsOfNode } from './node/fleet-segments.js'
export { renderAction } from './node/render-actions.js'
export { type ApplyOptions, applyActions } from './node/apply-actions.js'
export { type DeployedSegment, readDeployment } from './node/deployment-state.js'
export {
  type ExistingInstance,
  gpuListQuery,
  type NodeGpu,
  type NodeLayout,
  parseGpuList,
  parseInstanceList,
  productOfNode,
} from './node/mig-layout.js'
export { NodeMachine, readGpus, readLayout } from './node/node-machine.js'
export { type DeployOptions, deployMaps } from './node/deploy-maps.js'
export { splitWords, workerCommand } from './worker-command.js'
// Read files cell by cell, and say where they are wrong.
export { type CsvRow, csvRows, quoted, toNumber } from './map/csv-rows.js'
export { SegmentFileError } from './map/segment-file-error.js'
