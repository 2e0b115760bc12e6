// Maps of segments on GPUs.

export { formatKubernetes } from './kubernetes/kubernetes.js'
// Manifests for Kubernetes.
export { formatMigParted } from './kubernetes/mig-parted.js'
export { boardsOf } from './map/boards-of.js'
export { SegmentFileError } from './map/csv-rows.js'
export { formatDeploymentMap, parseDeploymentMap } from './map/deployment-map.js'
export { formatFleetMap, type MappedBoard, parseFleetMap } from './map/fleet-map.js'
export { drawMap } from './map/picture.js'
// On a node.
export { deployActions, segmentsOfNode } from './node/deploy-actions.js'
export { deployMaps } from './node/deploy-maps.js'
export { renderAction } from './node/render-actions.js'
