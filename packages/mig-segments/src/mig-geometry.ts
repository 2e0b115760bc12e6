/** MIG geometry as plans use it; maps and their deployment use the same, so it is `@pctodl/mig-deploy`'s. */
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
} from '@pctodl/mig-deploy'
