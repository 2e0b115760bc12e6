// Maps of segments on GPUs.

// Manifests for Kubernetes.
export { formatKubernetes } from './kubernetes/kubernetes.js'
export { formatMigParted } from './kubernetes/mig-parted.js'
export { SegmentFileError } from './map/csv-rows.js'
export { boardsOf, formatDeploymentMap, parseDeploymentMap } from './map/deployment-map.js'
export { formatFleetMap, type MappedBoard, parseFleetMap } from './map/fleet-map.js'
export { drawMap } from './map/picture.js'
// On a node.
export { deployActions, renderAction, segmentsOfNode } from './node/deploy-actions.js'
export { deployMaps } from './node/deploy-maps.js'
