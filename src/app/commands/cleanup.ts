import { runProgram } from '../../host/index.ts'
import { describeError } from '../../model/errors.ts'
import { cleanupHaproxy } from '../../node/ingress/index.ts'
import { cleanupRoutes } from '../../node/routes/index.ts'
import { cleanupRules } from '../../node/rules/index.ts'
import { silentLogger } from '../../observe/index.ts'

export interface HostCleanup {
  /** One line for each thing that was removed. */
  readonly lines: readonly string[]
  readonly failures: readonly string[]
}

/** Removes everything of Platnet from this host; needs no running daemon, no state and no configuration. */
export async function cleanupHost(): Promise<HostCleanup> {
  const { removed, sets, failures } = await cleanupRules(silentLogger, runProgram)
  const rules = [
    ...removed.map(
      ({ family, flavour, table, chains, hooks }) =>
        `removed ${chains} chains and ${hooks} jumps from the ${table} table (${family}, iptables-${flavour})`,
    ),
    ...(sets > 0 ? [`removed ${sets} ipsets`] : []),
  ]
  try {
    return {
      lines: [...rules, ...(await cleanupRoutes()), ...(await cleanupHaproxy())],
      failures: failures.map(describeError),
    }
  } catch (error) {
    return { lines: rules, failures: [...failures, error].map(describeError) }
  }
}
