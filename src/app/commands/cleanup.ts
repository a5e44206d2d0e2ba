import { runProgram } from '../../host/index.ts'
import { describeError } from '../../model/errors.ts'
import { cleanupRoutes } from '../../node/routes/index.ts'
import { cleanupRules } from '../../node/rules/index.ts'
import { silentLogger } from '../../observe/index.ts'

export interface HostCleanup {
  /** What was removed, a line each. */
  readonly lines: readonly string[]
  readonly failures: readonly string[]
}

/** Removes everything that is ours from this host, whether or not a daemon ever ran; needs no state and no configuration. */
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
    return { lines: [...rules, ...(await cleanupRoutes())], failures: failures.map(describeError) }
  } catch (error) {
    return { lines: rules, failures: [...failures, error].map(describeError) }
  }
}
