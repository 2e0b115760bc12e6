import type { Command } from 'commander'

/** Adds the options of every command that opens real boards. The parsed values are `library` and `leaseDir`. */
export function withNvmlOptions(command: Command): Command {
  return command
    .option('--library <path>', "NVML's library (default: where drivers put it)")
    .option(
      '--lease-dir <folder>',
      'folder of the leases (default: $PCTODL_LEASE_DIR, or /var/lib/pctodl/leases for root)',
    )
}
