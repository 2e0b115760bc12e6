/**
 * Adaptive average pooling of one axis as a matrix [out, in], row by row: output i is the mean of the inputs from
 * floor(i * in / out) up to, not including, ceil((i + 1) * in / out).
 */
export function adaptiveAverage(inSize: number, outSize: number): readonly number[] {
  return Array.from({ length: outSize * inSize }, (_, cell) => {
    const row = Math.floor(cell / inSize)
    const column = cell % inSize
    const begin = Math.floor((row * inSize) / outSize)
    const end = Math.ceil(((row + 1) * inSize) / outSize)
    return column >= begin && column < end ? 1 / (end - begin) : 0
  })
}
