// Maps of segments on GPUs.
export { DEFAULT_GPUS_PER_NODE, formatDeploymentMap, mapColumns, parseDeploymentMap } from './map/deployment-map.js'
export { fleetMapColumns, formatFleetMap, type MappedBoard, parseFleetMap, segmentConflict } from './map/fleet-map.js'
export { boardsOf } from './map/boards-of.js'
export { readMap } from './map/read-map.js'
export { drawMap } from './map/picture.js'
// MIG geometry.
export {
  assignStarts,
  COMPUTE_SLICES,
  findMigBoard,
  footprints,
  geometryOf,
  isSegmentSize,
  type MigBoard,
  migBoardKeys,
  type Placement,
  placementConflict,
  type SegmentSize,
  segmentSizes,
} from './mig-geometry.js'
// Manifests for Kubernetes.
export { formatMigParted } from './kubernetes/mig-parted.js'
export { formatKubernetes } from './kubernetes/kubernetes.js'
// On a node.
export { deployActions, segmentsOfNode } from './node/deploy-actions.js'
export { renderAction } from './node/render-actions.js'
export { type DeployedSegment, readDeployment } from './node/deployment-state.js'
export { gpuListQuery, parseGpuList, parseInstanceList } from './node/mig-layout.js'
export { type DeployOptions, deployMaps } from './node/deploy-maps.js'
export { splitWords } from './worker-command.js'
// Reading files cell by cell, with errors that name the place.
export { type CsvRow, csvRows, quoted, toNumber } from './map/csv-rows.js'
export { SegmentFileError } from './map/segment-file-error.js'
