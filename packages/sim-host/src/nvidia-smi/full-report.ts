import type { BoardReading } from '../board-file-reader.js'
import { supportedClocks } from './csv-query.js'
import { migReport } from './mig-report.js'
import {
  active,
  architectureName,
  bar1UsedBytes,
  brandName,
  computeModeName,
  ctime,
  cudaVersion,
  enabled,
  eventReasons,
  freeBytes,
  hasReason,
  hex,
  instanceId,
  mebibytes,
  megahertz,
  quantity,
  type SmiReading,
  shown,
  topSmClock,
  usedBytes,
  watts,
} from './reading.js'
import { item, type ReportNode, renderText, renderXml, section } from './report-tree.js'
import { SmiError } from './smi-error.js'

export const reportSections = [
  'MEMORY',
  'UTILIZATION',
  'ECC',
  'TEMPERATURE',
  'POWER',
  'CLOCK',
  'COMPUTE',
  'PIDS',
  'PERFORMANCE',
  'SUPPORTED_CLOCKS',
  'PAGE_RETIREMENT',
  'ACCOUNTING',
  'ENCODER_STATS',
  'ROW_REMAPPER',
  'VOLTAGE',
] as const

/**
 * Returns the output of `nvidia-smi -q`.
 *
 * @param display sections to show; default: all
 */
export function textReport(reading: SmiReading, display?: readonly string[]): string {
  const { boards, attachedGpus, date } = reading
  const head = [
    item('Timestamp', 'timestamp', ctime(date)),
    item('Driver Version', 'driver_version', boards[0]!.identity.driverVersion),
    item('CUDA Version', 'cuda_version', cudaVersion(boards[0]!.identity.cudaDriverVersion)),
  ]
  const gpus = boards.map((board) => {
    const nodes = boardReport(board)
    return `GPU ${board.identity.busId}\n${renderText(display ? selected(nodes, display) : nodes, 1)}`
  })
  const attached = renderText([item('Attached GPUs', 'attached_gpus', String(attachedGpus))])
  return `\n==============NVSMI LOG==============\n\n${renderText(head)}\n${attached}${gpus.join('\n')}\n`
}

/** `nvidia-smi -q -x`. */
export function xmlReport({ boards, attachedGpus, date }: SmiReading): string {
  const { driverVersion, cudaDriverVersion } = boards[0]!.identity
  return [
    '<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\n<nvidia_smi_log>\n',
    `\t<timestamp>${ctime(date)}</timestamp>\n`,
    `\t<driver_version>${driverVersion}</driver_version>\n`,
    `\t<cuda_version>${cudaVersion(cudaDriverVersion)}</cuda_version>\n`,
    `\t<attached_gpus>${attachedGpus}</attached_gpus>\n`,
    ...boards.map((board) => `\t<gpu id="${board.identity.busId}">\n${renderXml(boardReport(board), 2)}\t</gpu>\n\n`),
    '</nvidia_smi_log>\n',
  ].join('')
}

/**
 * Parses the sections of `-d`.
 *
 * @throws SmiError if a section is unknown
 */
export function parseSections(text: string): string[] {
  return text.split(',').map((name) => {
    const wanted = name.trim().toUpperCase()
    if (!(reportSections as readonly string[]).includes(wanted)) {
      throw new SmiError(2, `Invalid display type "${name}" provided to --display.\n`)
    }
    return wanted
  })
}

function selected(nodes: readonly ReportNode[], display: readonly string[]): ReportNode[] {
  return nodes.filter((node) => 'children' in node && node.display?.some((name) => display.includes(name)))
}

function boardReport(board: BoardReading): ReportNode[] {
  return [...identityReport(board), ...stateReport(board)]
}

const NA = 'N/A'

function identityReport(board: BoardReading): ReportNode[] {
  const { header, identity, state } = board
  const mig = (mode: number) => (identity.hasMig ? enabled(mode) : NA)
  const pciId = (id: number) => hex(id, 8)
  return [
    item('Product Name', 'product_name', identity.name),
    item('Product Brand', 'product_brand', brandName(identity.brand)),
    item('Product Architecture', 'product_architecture', architectureName(identity.architecture)),
    item('Display Mode', 'display_mode', 'Disabled'),
    item('Display Active', 'display_active', 'Disabled'),
    item('Persistence Mode', 'persistence_mode', enabled(state.persistenceMode)),
    item('Addressing Mode', 'addressing_mode', 'None'),
    section('MIG Mode', 'mig_mode', [
      item('Current', 'current_mig', mig(state.migCurrent)),
      item('Pending', 'pending_mig', mig(state.migPending)),
    ]),
    ...migReport(board),
    item('Accounting Mode', 'accounting_mode', 'Disabled'),
    item('Accounting Mode Buffer Size', 'accounting_mode_buffer_size', '4000'),
    section('Driver Model', 'driver_model', [item('Current', 'current_dm', NA), item('Pending', 'pending_dm', NA)]),
    item('Serial Number', 'serial', NA),
    item('GPU UUID', 'uuid', identity.uuid),
    item('Minor Number', 'minor_number', String(header.gpuIndex)),
    item('VBIOS Version', 'vbios_version', identity.vbiosVersion),
    item('MultiGPU Board', 'multigpu_board', 'No'),
    item('Board ID', 'board_id', `0x${((identity.pciBus << 8) | identity.pciDevice).toString(16)}`),
    item('Board Part Number', 'board_part_number', NA),
    item('GPU Part Number', 'gpu_part_number', NA),
    item('FRU Part Number', 'gpu_fru_part_number', NA),
    section('Inforom Version', 'inforom_version', [
      item('Image Version', 'img_version', NA),
      item('OEM Object', 'oem_object', NA),
      item('ECC Object', 'ecc_object', NA),
      item('Power Management Object', 'pwr_object', NA),
    ]),
    section('GPU Operation Mode', 'gpu_operation_mode', [
      item('Current', 'current_gom', NA),
      item('Pending', 'pending_gom', NA),
    ]),
    item('GSP Firmware Version', 'gsp_firmware_version', NA),
    section('GPU Virtualization Mode', 'gpu_virtualization_mode', [
      item('Virtualization Mode', 'virtualization_mode', 'None'),
      item('Host VGPU Mode', 'host_vgpu_mode', NA),
    ]),
    section('PCI', 'pci', [
      item('Bus', 'pci_bus', hex(identity.pciBus, 2)),
      item('Device', 'pci_device', hex(identity.pciDevice, 2)),
      item('Domain', 'pci_domain', hex(identity.pciDomain, 4)),
      item('Device Id', 'pci_device_id', pciId(identity.pciDeviceId)),
      item('Bus Id', 'pci_bus_id', identity.busId),
      item('Sub System Id', 'pci_sub_system_id', pciId(identity.pciSubsystemId)),
      section('GPU Link Info', 'pci_gpu_link_info', [
        section('PCIe Generation', 'pcie_gen', [
          item('Max', 'max_link_gen', String(identity.pcieGenMax)),
          item('Current', 'current_link_gen', String(state.pcieGen)),
          item('Device Current', 'device_current_link_gen', String(state.pcieGen)),
          item('Device Max', 'max_device_link_gen', String(identity.pcieGenMax)),
          item('Host Max', 'max_host_link_gen', String(identity.pcieGenMax)),
        ]),
        section('Link Width', 'link_widths', [
          item('Max', 'max_link_width', `${identity.pcieWidthMax}x`),
          item('Current', 'current_link_width', `${identity.pcieWidthMax}x`),
        ]),
      ]),
      section('Bridge Chip', 'pci_bridge_chip', [
        item('Type', 'bridge_chip_type', NA),
        item('Firmware', 'bridge_chip_fw', NA),
      ]),
      item('Replays Since Reset', 'replay_counter', '0'),
      item('Replay Number Rollovers', 'replay_rollover_counter', '0'),
      item('Tx Throughput', 'tx_util', shown(quantity(state.pcieTxKbps, 'KB/s'))),
      item('Rx Throughput', 'rx_util', shown(quantity(state.pcieRxKbps, 'KB/s'))),
    ]),
  ]
}

function stateReport(board: BoardReading): ReportNode[] {
  const { identity, state } = board
  const memory = (mib: (bytes: number) => string) => [
    item('Total', 'total', mib(identity.memoryTotalBytes)),
    item('Reserved', 'reserved', mib(identity.memoryReservedBytes)),
    item('Used', 'used', mib(usedBytes(board))),
    item('Free', 'free', mib(freeBytes(board))),
  ]
  const mib = (bytes: number) => shown(mebibytes(bytes))
  const bar1Used = bar1UsedBytes(board)
  const celsius = (value: number) => shown(quantity(value, 'C'))
  const mhz = (value: number) => shown(megahertz(value))
  const application = (value: number) => (identity.hasApplicationClocks ? mhz(value) : NA)
  const applicationClocks = (tag: string, label: string, sm: number, mem: number) =>
    section(
      label,
      tag,
      [item('Graphics', 'graphics_clock', application(sm)), item('Memory', 'mem_clock', application(mem))],
      'CLOCK',
    )
  const eccMode = identity.hasEcc ? 'Enabled' : NA
  const eccCount = identity.hasEcc ? '0' : NA
  const top = topSmClock(board)
  const video = 15 * Math.round((0.9 * top) / 15)
  return [
    item('Fan Speed', 'fan_speed', shown(quantity(state.fanPercent, '%'))),
    item('Performance State', 'performance_state', state.pstate > 15 ? NA : `P${state.pstate}`),
    section(
      'Clocks Event Reasons',
      'clocks_event_reasons',
      eventReasons.map(({ name, label, bit }) =>
        item(label, `clocks_event_reason_${name}`, active(hasReason(board, bit))),
      ),
      'PERFORMANCE',
    ),
    section('FB Memory Usage', 'fb_memory_usage', memory(mib), 'MEMORY'),
    section(
      'BAR1 Memory Usage',
      'bar1_memory_usage',
      [
        item('Total', 'total', mib(identity.bar1TotalBytes)),
        item('Used', 'used', mib(bar1Used)),
        item('Free', 'free', mib(identity.bar1TotalBytes - bar1Used)),
      ],
      'MEMORY',
    ),
    section(
      'Conf Compute Protected Memory Usage',
      'cc_protected_memory_usage',
      [item('Total', 'total', '0 MiB'), item('Used', 'used', '0 MiB'), item('Free', 'free', '0 MiB')],
      'MEMORY',
    ),
    item('Compute Mode', 'compute_mode', computeModeName(state.computeMode, 'query')),
    section(
      'Utilization',
      'utilization',
      [
        item('Gpu', 'gpu_util', shown(quantity(state.smUtilPercent, '%'))),
        item('Memory', 'memory_util', shown(quantity(state.memUtilPercent, '%'))),
        item('Encoder', 'encoder_util', '0 %'),
        item('Decoder', 'decoder_util', '0 %'),
        item('JPEG', 'jpeg_util', '0 %'),
        item('OFA', 'ofa_util', '0 %'),
      ],
      'UTILIZATION',
    ),
    section(
      'Encoder Stats',
      'encoder_stats',
      [
        item('Active Sessions', 'session_count', '0'),
        item('Average FPS', 'average_fps', '0'),
        item('Average Latency', 'average_latency', '0'),
      ],
      'ENCODER_STATS',
    ),
    section(
      'ECC Mode',
      'ecc_mode',
      [item('Current', 'current_ecc', eccMode), item('Pending', 'pending_ecc', eccMode)],
      'ECC',
    ),
    section(
      'ECC Errors',
      'ecc_errors',
      (['Volatile', 'Aggregate'] as const).map((span) =>
        section(span, span.toLowerCase(), [
          item('SRAM Correctable', 'sram_correctable', eccCount),
          item('SRAM Uncorrectable', 'sram_uncorrectable', eccCount),
          item('DRAM Correctable', 'dram_correctable', eccCount),
          item('DRAM Uncorrectable', 'dram_uncorrectable', eccCount),
        ]),
      ),
      'ECC',
    ),
    section(
      'Temperature',
      'temperature',
      [
        item('GPU Current Temp', 'gpu_temp', celsius(state.temperatureC)),
        item('GPU T.Limit Temp', 'gpu_temp_tlimit', NA),
        item('GPU Shutdown Temp', 'gpu_temp_max_threshold', celsius(identity.temperatureShutdownC)),
        item('GPU Slowdown Temp', 'gpu_temp_slow_threshold', celsius(identity.temperatureSlowdownC)),
        item('GPU Max Operating Temp', 'gpu_temp_max_gpu_threshold', celsius(identity.temperatureMaxC)),
        item('GPU Target Temperature', 'gpu_target_temperature', NA),
        item('Memory Current Temp', 'memory_temp', celsius(state.memoryTemperatureC)),
        item('Memory Max Operating Temp', 'gpu_temp_max_mem_threshold', identity.hasMemoryTemperature ? '95 C' : NA),
      ],
      'TEMPERATURE',
    ),
    section(
      'GPU Power Readings',
      'gpu_power_readings',
      [
        item('Power Draw', 'power_draw', shown(watts(state.powerAverageMw))),
        item('Current Power Limit', 'current_power_limit', shown(watts(state.powerLimitMw))),
        item('Requested Power Limit', 'requested_power_limit', shown(watts(state.powerLimitMw))),
        item('Default Power Limit', 'default_power_limit', shown(watts(identity.powerDefaultMw))),
        item('Min Power Limit', 'min_power_limit', shown(watts(identity.powerMinMw))),
        item('Max Power Limit', 'max_power_limit', shown(watts(identity.powerMaxMw))),
      ],
      'POWER',
    ),
    section(
      'Clocks',
      'clocks',
      [
        item('Graphics', 'graphics_clock', mhz(state.smClockMhz)),
        item('SM', 'sm_clock', mhz(state.smClockMhz)),
        item('Memory', 'mem_clock', mhz(state.memClockMhz)),
        item('Video', 'video_clock', mhz(state.videoClockMhz)),
      ],
      'CLOCK',
    ),
    applicationClocks(
      'applications_clocks',
      'Applications Clocks',
      state.applicationSmClockMhz,
      state.applicationMemClockMhz,
    ),
    applicationClocks(
      'default_applications_clocks',
      'Default Applications Clocks',
      identity.defaultSmClockMhz,
      identity.memClocksMhz[0]!,
    ),
    section(
      'Max Clocks',
      'max_clocks',
      [
        item('Graphics', 'graphics_clock', mhz(top)),
        item('SM', 'sm_clock', mhz(top)),
        item('Memory', 'mem_clock', mhz(identity.memClocksMhz[0]!)),
        item('Video', 'video_clock', mhz(video)),
      ],
      'CLOCK',
    ),
    section(
      'Clock Policy',
      'clock_policy',
      [item('Auto Boost', 'auto_boost', NA), item('Auto Boost Default', 'auto_boost_default', NA)],
      'CLOCK',
    ),
    section('Voltage', 'voltage', [item('Graphics', 'graphics_volt', NA)], 'VOLTAGE'),
    section('Supported Clocks', 'supported_clocks', clocksReport(board), 'SUPPORTED_CLOCKS'),
    processReport(board),
  ]
}

function clocksReport(board: BoardReading): ReportNode[] {
  return supportedClocks(board).map(({ memClockMhz, smClocksMhz }) => ({
    label: 'Memory',
    tag: 'supported_mem_clock',
    heading: { tag: 'value', value: `${memClockMhz} MHz` },
    children: smClocksMhz.map((smClockMhz) => item('Graphics', 'supported_graphics_clock', `${smClockMhz} MHz`)),
  }))
}

function processReport({ state }: BoardReading): ReportNode {
  const processes = state.processes.slice(0, state.processCount)
  if (processes.length === 0)
    return { label: 'Processes', tag: 'processes', children: [], whenEmpty: 'None', display: ['PIDS'] }
  return section(
    'Processes',
    'processes',
    processes.map((process) =>
      section('Process', 'process_info', [
        item('GPU instance ID', 'gpu_instance_id', instanceId(process.gpuInstanceId)),
        item('Compute instance ID', 'compute_instance_id', instanceId(process.computeInstanceId)),
        item('Process ID', 'pid', String(process.pid)),
        item('Type', 'type', process.isMpsClient ? 'M+C' : 'C'),
        item('Name', 'process_name', process.name),
        item('Used GPU Memory', 'used_memory', shown(mebibytes(process.usedBytes))),
      ]),
    ),
    'PIDS',
  )
}
