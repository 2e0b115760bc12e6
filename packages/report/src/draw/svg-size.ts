/** Width and height of an SVG that `renderSvg` drew, px. */
export function svgSize(svg: string): [width: number, height: number] {
  const [, width, height] = /<svg[^>]* viewBox="0 0 ([\d.]+) ([\d.]+)"/.exec(svg)!
  return [Number(width), Number(height)]
}
