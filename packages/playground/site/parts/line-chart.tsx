import { useEffect, useRef, useState } from 'preact/hooks'
import uPlot, { type AlignedData, type Band, type Options, type Series } from 'uplot'
import { Drawing } from './drawing.js'

/** All charts of the page share this drawing queue. */
const drawing = new Drawing((draw) => void requestAnimationFrame(draw))

/** One curve. */
export interface Curve {
  readonly label: string
  /** CSS variable of a colour, e.g. `--plan`. */
  readonly color: string
  readonly width?: number
  readonly dash?: readonly number[]
  /** Draws steps: each value holds until the next one. */
  readonly stepped?: boolean
  /** True for the bounds of a band, which are not drawn as lines. */
  readonly hidden?: boolean
  readonly points?: boolean
}

export interface LineChartProps {
  /** Describes the chart in one sentence for screen readers. */
  readonly description: string
  readonly height: number
  readonly xLabel: string
  readonly yLabel: string
  readonly curves: readonly Curve[]
  /** Bands filled between an upper and a lower curve, given by the indices of the curves. */
  readonly bands?: readonly { readonly between: readonly [number, number]; readonly color: string }[]
  /** The values of x, followed by the values of each curve. */
  readonly values: readonly (readonly (number | null)[])[]
  readonly xRange?: readonly [number, number]
  readonly yRange?: readonly [number | null, number | null] | undefined
  /** Vertical lines at values of x. */
  readonly markers?: readonly { readonly x: number; readonly color: string }[]
  /**
   * Shows the values at the first marker instead of the last values. While the pointer is over the chart, the values at
   * the pointer are shown.
   */
  readonly fromMarker?: boolean
  readonly readout?: (index: number) => string
  /** Called with the value of x that was clicked or dragged to. */
  readonly onPick?: (x: number) => void
}

/** A line chart that follows its values, its width and the colour scheme. */
export function LineChart(props: LineChartProps): preact.JSX.Element {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | undefined>(undefined)
  const latest = useRef(props)
  const onPoint = useRef<(index: number | null) => void>(() => {})
  latest.current = props
  const shape = JSON.stringify([props.curves, props.bands, props.height, props.xLabel, props.yLabel])

  useEffect(() => {
    const home = place.current!
    const make = () => {
      if (!home.isConnected) return
      plot.current?.destroy()
      plot.current = new uPlot(
        optionsOf(latest, home, (index) => onPoint.current(index)),
        latest.current.values as AlignedData,
        home,
      )
    }
    plot.current?.destroy()
    plot.current = undefined
    drawing.add(place, make)
    const sizes = new ResizeObserver(() => {
      const width = Math.floor(home.clientWidth)
      if (plot.current && width > 0 && width !== plot.current.width) {
        plot.current.setSize({ width, height: latest.current.height })
      }
    })
    sizes.observe(home)
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    scheme.addEventListener('change', make)
    return () => {
      sizes.disconnect()
      scheme.removeEventListener('change', make)
      drawing.remove(place)
      plot.current?.destroy()
      plot.current = undefined
    }
  }, [shape])

  useEffect(() => {
    // A plot that does not exist yet will be created with the latest values.
    if (!plot.current) return
    drawing.add(place, () => {
      const { values } = latest.current
      // The page may already have other curves, for which the effect above will make another plot.
      if (plot.current?.series.length === values.length) plot.current.setData(values as AlignedData)
    })
  }, [props.values, JSON.stringify([props.xRange, props.yRange, props.markers]), shape])

  const [pointed, setPointed] = useState<number | null>(null)
  onPoint.current = setPointed
  const count = props.values[0]?.length ?? 0
  const shown = pointed !== null && pointed < count ? pointed : nearest(props)
  return (
    <>
      <div class="chart" ref={place} role="img" aria-label={props.description} style={{ minHeight: props.height }} />
      {props.readout && <p class="readout">{shown === null ? '\u00a0' : props.readout(shown)}</p>}
    </>
  )
}

/**
 * Returns the index of the value nearest to the first marker if `fromMarker` is set, or else of the last value; null
 * without values.
 */
function nearest({ values: [xs = []], markers, fromMarker }: LineChartProps): number | null {
  if (xs.length === 0) return null
  const marker = markers?.[0]
  return marker && fromMarker ? nearestIndex(xs, marker.x) : xs.length - 1
}

export function nearestIndex(xs: readonly (number | null)[], x: number): number {
  const distance = (i: number) => Math.abs((xs[i] ?? Infinity) - x)
  return xs.reduce<number>((best, _, i) => (distance(i) < distance(best) ? i : best), 0)
}

function optionsOf(
  latest: { readonly current: LineChartProps },
  home: HTMLElement,
  onPoint: (index: number | null) => void,
): Options {
  const { curves, bands = [], xLabel, yLabel, height } = latest.current
  const style = getComputedStyle(home)
  const color = (name: string) => style.getPropertyValue(name).trim() || name
  const font = `12px ${style.fontFamily}`
  const axis = {
    stroke: color('--soft'),
    font,
    labelFont: font,
    grid: { stroke: color('--grid'), width: 1 },
    ticks: { show: false },
    labelGap: 0,
  }
  return {
    width: Math.max(200, Math.floor(home.clientWidth)),
    height,
    padding: [8, 12, 0, 0],
    legend: { show: false },
    cursor: { points: { size: 7 }, drag: { x: false, y: false }, y: false },
    scales: {
      x: { time: false, range: (_plot, low, high) => [...(latest.current.xRange ?? [low, high])] as [number, number] },
      y: {
        range: (_plot, low, high) => {
          const [least, most] = latest.current.yRange ?? [null, null]
          const room = (high - low || Math.abs(high) || 1) * 0.06
          return [least ?? low - room, most ?? high + room]
        },
      },
    },
    axes: [
      { ...axis, label: xLabel, labelSize: 18, size: 26, gap: 4 },
      { ...axis, label: yLabel, labelSize: 18, size: 50, gap: 4 },
    ],
    series: [
      {},
      ...curves.map(
        (curve): Series => ({
          label: curve.label,
          stroke: curve.hidden ? 'transparent' : color(curve.color),
          width: curve.hidden ? 0 : (curve.width ?? 1.75),
          ...(curve.dash ? { dash: [...curve.dash] } : {}),
          points: { show: curve.points ?? false, size: 5, fill: color(curve.color) },
          ...(curve.stepped ? { paths: uPlot.paths.stepped!({ align: 1 }) } : {}),
          spanGaps: false,
        }),
      ),
    ],
    bands: bands.map(
      ({ between, color: fill }): Band => ({ series: [between[0] + 1, between[1] + 1], fill: color(fill) }),
    ),
    hooks: {
      setCursor: [
        (plot) => onPoint(plot.cursor.left !== undefined && plot.cursor.left >= 0 ? (plot.cursor.idx ?? null) : null),
      ],
      draw: [
        (plot) => {
          const { ctx } = plot
          ctx.save()
          ctx.lineWidth = Math.max(1, devicePixelRatio)
          for (const marker of latest.current.markers ?? []) {
            const x = Math.round(plot.valToPos(marker.x, 'x', true)) + 0.5
            if (!(x >= plot.bbox.left && x <= plot.bbox.left + plot.bbox.width + 1)) continue
            ctx.strokeStyle = color(marker.color)
            ctx.beginPath()
            ctx.moveTo(x, plot.bbox.top)
            ctx.lineTo(x, plot.bbox.top + plot.bbox.height)
            ctx.stroke()
          }
          ctx.restore()
        },
      ],
      ready: [
        (plot) => {
          const pick = ({ offsetX }: MouseEvent) => latest.current.onPick?.(plot.posToVal(offsetX, 'x'))
          plot.over.addEventListener('click', pick)
          plot.over.addEventListener('pointermove', (event) => event.buttons === 1 && pick(event))
          if (latest.current.onPick) {
            plot.over.style.cursor = 'ew-resize'
            // A horizontal drag moves the marker; a vertical drag scrolls the page.
            plot.over.style.touchAction = 'pan-y'
          }
        },
      ],
    },
  }
}
