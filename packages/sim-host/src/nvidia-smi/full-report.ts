import type { BoardReading } from '../board-file-reader.js'
import { architectures, brands } from '../nvml-return.js'
import { supportedClocks } from './csv-query.js'
import { gpuFields } from './gpu-fields.js'
import { migReport } from './mig-report.js'
import {
  bar1UsedBytes,
  ctime,
  cudaVersion,
  instanceId,
  mebibytes,
  megahertz,
  quantity,
  type SmiReading,
  shown,
  topSmClock,
  type Value,
} from './reading.js'
import { type ReportNode, renderText, renderXml, reportOf } from './report-tree.js'
import { SmiError } from './smi-error.js'

const reportSections = [
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
]

/** The report as an outline (see `reportOf`), up to the place of the MIG devices. Values are fields of `--query-gpu`. */
const identity = `
Product Name | product_name | name
Product Brand | product_brand | brand
Product Architecture | product_architecture | architecture
Display Mode | display_mode | display_mode
Display Active | display_active | display_active
Persistence Mode | persistence_mode | persistence_mode
Addressing Mode | addressing_mode | addressing_mode
MIG Mode | mig_mode
  Current | current_mig | mig.mode.current
  Pending | pending_mig | mig.mode.pending
`
const rest = `
Accounting Mode | accounting_mode | accounting.mode
Accounting Mode Buffer Size | accounting_mode_buffer_size | accounting.buffer_size
Driver Model | driver_model
  Current | current_dm | driver_model.current
  Pending | pending_dm | driver_model.pending
Serial Number | serial | serial
GPU UUID | uuid | uuid
Minor Number | minor_number | index
VBIOS Version | vbios_version | vbios_version
MultiGPU Board | multigpu_board | =No
Board ID | board_id | board_id
Board Part Number | board_part_number | =N/A
GPU Part Number | gpu_part_number | =N/A
FRU Part Number | gpu_fru_part_number | =N/A
Inforom Version | inforom_version
  Image Version | img_version | inforom.img
  OEM Object | oem_object | inforom.oem
  ECC Object | ecc_object | inforom.ecc
  Power Management Object | pwr_object | inforom.pwr
GPU Operation Mode | gpu_operation_mode
  Current | current_gom | gom.current
  Pending | pending_gom | gom.pending
GSP Firmware Version | gsp_firmware_version | =N/A
GPU Virtualization Mode | gpu_virtualization_mode
  Virtualization Mode | virtualization_mode | =None
  Host VGPU Mode | host_vgpu_mode | =N/A
PCI | pci
  Bus | pci_bus | pci.bus
  Device | pci_device | pci.device
  Domain | pci_domain | pci.domain
  Device Id | pci_device_id | pci.device_id
  Bus Id | pci_bus_id | pci.bus_id
  Sub System Id | pci_sub_system_id | pci.sub_device_id
  GPU Link Info | pci_gpu_link_info
    PCIe Generation | pcie_gen
      Max | max_link_gen | pcie.link.gen.max
      Current | current_link_gen | pcie.link.gen.current
      Device Current | device_current_link_gen | pcie.link.gen.gpucurrent
      Device Max | max_device_link_gen | pcie.link.gen.gpumax
      Host Max | max_host_link_gen | pcie.link.gen.hostmax
    Link Width | link_widths
      Max | max_link_width | width
      Current | current_link_width | width
  Bridge Chip | pci_bridge_chip
    Type | bridge_chip_type | =N/A
    Firmware | bridge_chip_fw | =N/A
  Replays Since Reset | replay_counter | =0
  Replay Number Rollovers | replay_rollover_counter | =0
  Tx Throughput | tx_util | tx
  Rx Throughput | rx_util | rx
Fan Speed | fan_speed | fan.speed
Performance State | performance_state | pstate
Clocks Event Reasons | clocks_event_reasons | -d PERFORMANCE
  Idle | clocks_event_reason_gpu_idle | clocks_event_reasons.gpu_idle
  Applications Clocks Setting | clocks_event_reason_applications_clocks_setting | clocks_event_reasons.applications_clocks_setting
  SW Power Cap | clocks_event_reason_sw_power_cap | clocks_event_reasons.sw_power_cap
  HW Slowdown | clocks_event_reason_hw_slowdown | clocks_event_reasons.hw_slowdown
  HW Thermal Slowdown | clocks_event_reason_hw_thermal_slowdown | clocks_event_reasons.hw_thermal_slowdown
  HW Power Brake Slowdown | clocks_event_reason_hw_power_brake_slowdown | clocks_event_reasons.hw_power_brake_slowdown
  Sync Boost | clocks_event_reason_sync_boost | clocks_event_reasons.sync_boost
  SW Thermal Slowdown | clocks_event_reason_sw_thermal_slowdown | clocks_event_reasons.sw_thermal_slowdown
  Display Clock Setting | clocks_event_reason_display_clocks_setting | clocks_event_reasons.display_clocks_setting
FB Memory Usage | fb_memory_usage | -d MEMORY
  Total | total | memory.total
  Reserved | reserved | memory.reserved
  Used | used | memory.used
  Free | free | memory.free
BAR1 Memory Usage | bar1_memory_usage | -d MEMORY
  Total | total | bar1.total
  Used | used | bar1.used
  Free | free | bar1.free
Conf Compute Protected Memory Usage | cc_protected_memory_usage | -d MEMORY
  Total | total | protected_memory.total
  Used | used | protected_memory.used
  Free | free | protected_memory.free
Compute Mode | compute_mode | compute_mode
Utilization | utilization | -d UTILIZATION
  Gpu | gpu_util | utilization.gpu
  Memory | memory_util | utilization.memory
  Encoder | encoder_util | utilization.encoder
  Decoder | decoder_util | utilization.decoder
  JPEG | jpeg_util | utilization.jpeg
  OFA | ofa_util | utilization.ofa
Encoder Stats | encoder_stats | -d ENCODER_STATS
  Active Sessions | session_count | encoder.stats.sessionCount
  Average FPS | average_fps | encoder.stats.averageFps
  Average Latency | average_latency | encoder.stats.averageLatency
ECC Mode | ecc_mode | -d ECC
  Current | current_ecc | ecc.mode.current
  Pending | pending_ecc | ecc.mode.pending
ECC Errors | ecc_errors | -d ECC
  Volatile | volatile
    SRAM Correctable | sram_correctable | ecc.errors.corrected.volatile.sram
    SRAM Uncorrectable | sram_uncorrectable | ecc.errors.uncorrected.volatile.sram
    DRAM Correctable | dram_correctable | ecc.errors.corrected.volatile.dram
    DRAM Uncorrectable | dram_uncorrectable | ecc.errors.uncorrected.volatile.dram
  Aggregate | aggregate
    SRAM Correctable | sram_correctable | ecc.errors.corrected.aggregate.sram
    SRAM Uncorrectable | sram_uncorrectable | ecc.errors.uncorrected.aggregate.sram
    DRAM Correctable | dram_correctable | ecc.errors.corrected.aggregate.dram
    DRAM Uncorrectable | dram_uncorrectable | ecc.errors.uncorrected.aggregate.dram
Temperature | temperature | -d TEMPERATURE
  GPU Current Temp | gpu_temp | celsius
  GPU T.Limit Temp | gpu_temp_tlimit | =N/A
  GPU Shutdown Temp | gpu_temp_max_threshold | celsius.shutdown
  GPU Slowdown Temp | gpu_temp_slow_threshold | celsius.slowdown
  GPU Max Operating Temp | gpu_temp_max_gpu_threshold | celsius.max
  GPU Target Temperature | gpu_target_temperature | =N/A
  Memory Current Temp | memory_temp | celsius.memory
  Memory Max Operating Temp | gpu_temp_max_mem_threshold | celsius.memory.max
GPU Power Readings | gpu_power_readings | -d POWER
  Power Draw | power_draw | power.draw
  Current Power Limit | current_power_limit | enforced.power.limit
  Requested Power Limit | requested_power_limit | power.limit
  Default Power Limit | default_power_limit | power.default_limit
  Min Power Limit | min_power_limit | power.min_limit
  Max Power Limit | max_power_limit | power.max_limit
Clocks | clocks | -d CLOCK
  Graphics | graphics_clock | clocks.current.graphics
  SM | sm_clock | clocks.current.sm
  Memory | mem_clock | clocks.current.memory
  Video | video_clock | clocks.current.video
Applications Clocks | applications_clocks | -d CLOCK
  Graphics | graphics_clock | clocks.applications.graphics
  Memory | mem_clock | clocks.applications.memory
Default Applications Clocks | default_applications_clocks | -d CLOCK
  Graphics | graphics_clock | clocks.default_applications.graphics
  Memory | mem_clock | clocks.default_applications.memory
Max Clocks | max_clocks | -d CLOCK
  Graphics | graphics_clock | clocks.max.graphics
  SM | sm_clock | clocks.max.sm
  Memory | mem_clock | clocks.max.memory
  Video | video_clock | clocks.max.video
Clock Policy | clock_policy | -d CLOCK
  Auto Boost | auto_boost | =N/A
  Auto Boost Default | auto_boost_default | =N/A
Voltage | voltage | -d VOLTAGE
  Graphics | graphics_volt | =N/A
`
const processOutline = `
Process | process_info
  GPU instance ID | gpu_instance_id | gpuInstance
  Compute instance ID | compute_instance_id | computeInstance
  Process ID | pid | pid
  Type | type | type
  Name | process_name | name
  Used GPU Memory | used_memory | memory
`

const celsius = (value: number): Value => quantity(value, 'C')

/** Values of the report that `--query-gpu` does not have, or shows in another form. */
const ownFields: Readonly<Record<string, (board: BoardReading) => Value>> = {
  brand: (board) => Object.entries(brands).find(([, code]) => code === board.identity.brand)![0],
  architecture: (board) => architectures[board.identity.architecture] ?? 'Unknown',
  board_id: (board) => `0x${((board.identity.pciBus << 8) | board.identity.pciDevice).toString(16)}`,
  width: (board) => `${board.identity.pcieWidthMax}x`,
  tx: (board) => quantity(board.state.pcieTxKbps, 'KB/s'),
  rx: (board) => quantity(board.state.pcieRxKbps, 'KB/s'),
  'bar1.total': (board) => mebibytes(board.identity.bar1TotalBytes),
  'bar1.used': (board) => mebibytes(bar1UsedBytes(board)),
  'bar1.free': (board) => mebibytes(board.identity.bar1TotalBytes - bar1UsedBytes(board)),
  celsius: (board) => celsius(board.state.temperatureC),
  'celsius.shutdown': (board) => celsius(board.identity.temperatureShutdownC),
  'celsius.slowdown': (board) => celsius(board.identity.temperatureSlowdownC),
  'celsius.max': (board) => celsius(board.identity.temperatureMaxC),
  'celsius.memory': (board) => celsius(board.state.memoryTemperatureC),
  'celsius.memory.max': (board) => (board.identity.hasMemoryTemperature ? celsius(95) : null),
  'clocks.max.video': (board) => megahertz(15 * Math.round((0.9 * topSmClock(board)) / 15)),
}
const queried = new Map(gpuFields.map((field) => [field.name, field.value]))

/**
 * Returns the output of `nvidia-smi -q`.
 *
 * @param display sections to show; default: all
 */
export function textReport(reading: SmiReading, display?: readonly string[]): string {
  const { boards, attachedGpus, date } = reading
  const { driverVersion, cudaDriverVersion } = boards[0]!.identity
  const head: ReportNode[] = [
    { label: 'Timestamp', tag: 'timestamp', value: ctime(date) },
    { label: 'Driver Version', tag: 'driver_version', value: driverVersion },
    { label: 'CUDA Version', tag: 'cuda_version', value: cudaVersion(cudaDriverVersion) },
  ]
  const isShown = (node: ReportNode) =>
    display === undefined || ('children' in node && node.display !== undefined && display.includes(node.display))
  const gpus = boards.map(
    (board) => `GPU ${board.identity.busId}\n${renderText(boardReport(board, reading).filter(isShown), 1)}`,
  )
  const attached = renderText([{ label: 'Attached GPUs', tag: 'attached_gpus', value: String(attachedGpus) }])
  return `\n==============NVSMI LOG==============\n\n${renderText(head)}\n${attached}${gpus.join('\n')}\n`
}

/** `nvidia-smi -q -x`. */
export function xmlReport(reading: SmiReading): string {
  const { boards, attachedGpus, date } = reading
  const { driverVersion, cudaDriverVersion } = boards[0]!.identity
  return [
    '<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\n<nvidia_smi_log>\n',
    `\t<timestamp>${ctime(date)}</timestamp>\n`,
    `\t<driver_version>${driverVersion}</driver_version>\n`,
    `\t<cuda_version>${cudaVersion(cudaDriverVersion)}</cuda_version>\n`,
    `\t<attached_gpus>${attachedGpus}</attached_gpus>\n`,
    ...boards.map(
      (board) => `\t<gpu id="${board.identity.busId}">\n${renderXml(boardReport(board, reading), 2)}\t</gpu>\n\n`,
    ),
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
    if (!reportSections.includes(wanted)) {
      throw new SmiError(2, `Invalid display type "${name}" provided to --display.\n`)
    }
    return wanted
  })
}

function boardReport(board: BoardReading, reading: SmiReading): ReportNode[] {
  const read = (field: string) => shown(ownFields[field]?.(board) ?? queried.get(field)?.(board, reading) ?? null)
  return [
    ...reportOf(identity, read),
    ...migReport(board),
    ...reportOf(rest, read),
    { label: 'Supported Clocks', tag: 'supported_clocks', children: clocksReport(board), display: 'SUPPORTED_CLOCKS' },
    { label: 'Processes', tag: 'processes', children: processReport(board), display: 'PIDS', whenEmpty: 'None' },
  ]
}

function clocksReport(board: BoardReading): ReportNode[] {
  return supportedClocks(board).map(({ memClockMhz, smClocksMhz }) => ({
    label: 'Memory',
    tag: 'supported_mem_clock',
    heading: { tag: 'value', value: `${memClockMhz} MHz` },
    children: smClocksMhz.map((mhz) => ({ label: 'Graphics', tag: 'supported_graphics_clock', value: `${mhz} MHz` })),
  }))
}

function processReport({ state }: BoardReading): ReportNode[] {
  return state.processes.flatMap((process) => {
    const values: Record<string, string> = {
      gpuInstance: instanceId(process.gpuInstanceId),
      computeInstance: instanceId(process.computeInstanceId),
      pid: String(process.pid),
      type: process.isMpsClient ? 'M+C' : 'C',
      name: process.name,
      memory: shown(mebibytes(process.usedBytes)),
    }
    return reportOf(processOutline, (field) => values[field]!)
  })
}
