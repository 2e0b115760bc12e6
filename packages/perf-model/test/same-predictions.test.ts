import { loadPerfModel } from '@pctodl/perf-model'
import { ServingModel } from '@pctodl/perf-model/serving'
import type { Configuration, Service, Tenant } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'

const tenant = (model: string, mpsPercent: number, batchSize: number): Tenant => ({ model, mpsPercent, batchSize })
const digits = (...values: readonly (number | undefined)[]) => values.map((value) => value?.toPrecision(8)).join(' ')

const mixes: Readonly<Record<string, readonly Tenant[]>> = {
  alone: [tenant('resnet50', 100, 32)],
  alike: Array<Tenant>(6).fill(tenant('mobilenet_v2', 15, 8)),
  unlike: [tenant('vgg19', 12.5, 4), tenant('vgg19', 60, 96)],
  mixed: [tenant('efficientnet_v2_m', 35, 24), tenant('vgg19', 30, 64), tenant('resnet50', 20, 3)],
  // Beyond what was measured, where a prediction is less sure than the calibration says.
  strange: [...Array<Tenant>(20).fill(tenant('maxvit_t', 3, 256)), tenant('mnasnet1_0', 1.5, 1)],
}

// The equations with the shipped parameters. A new fit or a changed equation shows here how much predictions move;
// plans and published figures depend on them.
describe('the same predictions as before', () => {
  const boards = { A100: [1410, 600], '3080Ti': [1905, 900] } as const

  it('are made for each board', () => {
    const lines = Object.entries(boards).flatMap(([board, clocks]) => linesOf(board, clocks))
    expect(lines).toMatchInlineSnapshot(`
      [
        "A100, alone at 1410 | 2644.4947 114.70919 161.82651 5.7447897 | 52.667551 31.883262 0.48337950 | 2644.4947 12.100611 13.385405 | cap 1335",
        "A100, alone at 600 | 2023.4966 78.052403 80.047308 2.4484429 | 64.520604 25.456410 0.48337950 | 2023.4966 15.814210 17.298905 | cap 420",
        "A100, alike at 1410 | 7462.9020 346.30138 162.30662 5.8560976 | 99.669769 37.457558 0.38353237 | 1243.8170 6.4318143 7.1649873 | cap 1335",
        "A100, alike at 600 | 5947.9726 192.79112 82.500912 3.6734798 | 99.995524 31.206048 0.38353237 | 991.32877 8.0699767 8.7020123 | cap 450",
        "A100, unlike at 1410 | 1617.5582 60.512546 229.91491 8.2022330 | 97.684807 23.692191 0.49197589 | 1285.5186 74.678031 81.468316 | cap 1350",
        "A100, unlike at 600 | 874.69484 30.089459 85.085877 2.9677427 | 99.407718 13.602901 0.49197589 | 723.83628 132.62668 143.67653 | cap 480",
        "A100, mixed at 1410 | 2150.5418 69.033414 221.08264 6.7946507 | 98.763838 36.083727 0.44452996 | 515.54039 5.8191367 6.2703288 | cap 1350",
        "A100, mixed at 600 | 1338.6382 40.043757 88.315174 2.8307345 | 99.904107 24.385447 0.44452996 | 408.64949 7.3412547 7.8703275 | cap 480",
        "A100, strange at 1410 | 1076.3967 78.882203 159.84222 10.091259 | 100.00000 55.127365 1.3120265 | 195.95162 5.1033005 6.0518899 | cap 1350",
        "A100, strange at 600 | 539.29142 42.911291 65.821472 4.3367832 | 100.00000 31.473662 1.3120265 | 126.37750 7.9128008 9.5218462 | cap 480",
        "1212.5362 1266.1122 1296.9024 1329.9678 1363.8763 1397.0440 1458.7725",
        "79.832273 83.617770 85.798521 88.144539 90.554704 92.916371 97.322291",
        "3080Ti, alone at 1905 | 1605.5784 56.238493 281.16359 7.3773834 | 48.523590 34.200229 0.62823834 | 1605.5784 19.930512 21.622548 | cap 1785",
        "3080Ti, alone at 900 | 1113.1635 34.989064 135.12988 2.6745610 | 64.412647 42.380209 0.56994819 | 1113.1635 28.746901 30.927693 | cap 645",
        "3080Ti, alike at 1905 | 5780.1641 232.74527 306.47559 8.3928881 | 98.642694 47.885953 0.66670383 | 963.36069 8.3042624 9.1197476 | cap 1770",
        "3080Ti, alike at 900 | 4017.1103 155.69931 154.45087 2.9096087 | 99.985650 57.705502 0.68968354 | 669.51838 11.948888 13.076349 | cap 660",
        "3080Ti, unlike at 1905 | 806.92485 25.064960 316.38099 7.5509388 | 99.222580 30.323650 0.55338224 | 646.93223 148.39267 159.51272 | cap 1800",
        "3080Ti, unlike at 900 | 422.15936 11.646486 128.95050 2.4904789 | 99.799124 30.170671 0.55600022 | 344.53505 278.63638 297.10531 | cap 720",
        "3080Ti, mixed at 1905 | 1417.8201 41.469365 348.68314 7.9068993 | 99.308595 43.880058 0.50602031 | 417.92566 7.1783102 7.6837416 | cap 1800",
        "3080Ti, mixed at 900 | 839.56914 22.100961 149.94536 2.4323224 | 99.940800 47.022181 0.51353136 | 289.82665 10.351015 11.004714 | cap 720",
        "3080Ti, strange at 1905 | 1039.0020 46.456458 326.95932 10.303651 | 100.00000 52.185610 0.93526753 | 200.90075 4.9775822 5.5232214 | cap 1800",
        "3080Ti, strange at 900 | 556.47606 19.789001 136.36297 3.9355084 | 100.00000 49.696809 0.92446754 | 151.79640 6.5877715 7.1559418 | cap 720",
        "811.76726 843.09242 861.02017 880.21387 899.83542 918.96977 954.43175",
        "167.26837 171.70642 174.22346 176.90039 179.61845 182.25147 187.08706",
      ]
    `)
  })

  function linesOf(board: string, clocks: readonly number[]): string[] {
    const model = loadPerfModel(board)
    const lines = Object.entries(mixes).flatMap(([name, tenants]) =>
      clocks.map((smClockMhz, i) => {
        const configuration: Configuration = {
          tenants,
          smClockMhz,
          memClockMhz: model.memClocksMhz[i % model.memClocksMhz.length]!,
        }
        const { throughput, throughputSd, powerW, powerSdW, smUtilPercent, memUtilPercent, distance, ...rest } =
          model.predict(configuration)
        const own = rest.tenants.at(-1)!
        return [
          `${board}, ${name} at ${smClockMhz}`,
          digits(throughput, throughputSd, powerW, powerSdW),
          digits(smUtilPercent, memUtilPercent, distance),
          digits(own.throughput, own.latencyMs, own.p99LatencyMs),
          `cap ${model.solveSmClock(tenants, configuration.memClockMhz, 0.9 * powerW)}`,
        ].join(' | ')
      }),
    )
    const { throughput, powerW } = model.quantiles(
      { tenants: mixes['mixed']!, smClockMhz: clocks[1]!, memClockMhz: model.memClocksMhz[0]! },
      [0.001, 0.05, 0.2, 0.5, 0.8, 0.95, 0.999],
    )
    return [...lines, digits(...throughput), digits(...powerW)]
  }

  it('are made of what requests meet', () => {
    const model = loadPerfModel('A100')
    const service = (name: string, network: string, more: Partial<Service> = {}): Service => ({
      name,
      model: network,
      objective: { p99Ms: 60 },
      weight: 1,
      maxBatchSize: 32,
      maxQueueDelayMs: 0,
      ...more,
    })
    const services = [service('search', 'resnet50'), service('ads', 'vgg19', { maxQueueDelayMs: 6, maxBatchSize: 12 })]
    const serving = new ServingModel(
      model,
      {
        tenants: [
          { ...tenant('resnet50', 20, 32), service: 'search' },
          { ...tenant('resnet50', 30, 32), service: 'search' },
          { ...tenant('vgg19', 50, 16), service: 'ads' },
        ],
        smClockMhz: 1200,
        memClockMhz: 1215,
      },
      services,
    )
    const lines = (
      [
        [20, 10, 1, 1],
        [500, 150, 1, 1],
        [500, 150, 4, 1.5],
        [1300, 420, 1, 1],
        [1300, 420, 2, 8],
        [9000, 50, 1, 1],
      ] as const
    ).map(([a, b, ...burstiness]) => {
      const { powerW, services: of } = serving.predict([a, b], burstiness)
      const each = of.map(({ p50Ms, p90Ms, p99Ms, attainment, utilisation, meanBatch, answeredPerS }) =>
        digits(p50Ms, p90Ms, p99Ms, attainment, utilisation, meanBatch, answeredPerS),
      )
      return [`${a} and ${b}/s, ${burstiness}: ${powerW.toPrecision(8)} W`, ...each].join(' | ')
    })
    expect(lines).toMatchInlineSnapshot(`
      [
        "20 and 10/s, 1,1: 44.304970 W | 5.3186807 5.3186807 7.4818961 1.0000000 0.053064325 1.0013871 20.000000 | 7.7699182 7.7699182 7.7699182 1.0000000 0.017060714 1.0600000 10.000000",
        "500 and 150/s, 1,1: 69.121987 W | 6.8249078 8.2244198 9.8643765 1.0000000 0.84450549 1.6295273 500.00000 | 8.4334399 8.8401686 10.532160 1.0000000 0.19573827 1.9000001 150.00000",
        "500 and 150/s, 4,1.5: 70.387121 W | 7.4760679 13.949834 25.609393 1.0000000 0.73631734 1.9646098 500.00000 | 8.5238183 9.0949556 12.462899 1.0000000 0.19458235 1.9580655 150.00000",
        "1300 and 420/s, 1,1: 124.59839 W | 9.1228205 14.767564 19.012848 1.0000000 0.99678495 4.6350586 1300.0000 | 8.5968289 11.535744 14.195710 1.0000000 0.52635901 3.5264490 420.00000",
        "1300 and 420/s, 2,8: 122.98134 W | 9.9717120 17.434931 31.224621 1.0000000 0.98960697 4.9637146 1300.0000 | 10.138403 17.916114 29.291212 0.99980434 0.48294502 4.4359103 420.00000",
        "9000 and 50/s, 1,1: 119.29055 W | Infinity Infinity Infinity 0.0000000 1.0000000 32.000000 2654.1533 | 7.7739628 7.7739628 8.5588825 1.0000000 0.076953986 1.3000000 50.000000",
      ]
    `)
  })
})
