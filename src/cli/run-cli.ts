import { CommanderError } from 'commander'
import { addCheckCommand } from './check.ts'
import { addCleanupCommand } from './cleanup.ts'
import { addCniCommand } from './cni.ts'
import { addConfigCommand } from './config.ts'
import { addDemoCommand } from './demo.ts'
import { addDnsCommand } from './dns.ts'
import { type ExitCode, exitCodeOf, exitCodes, renderError } from './exit-code.ts'
import { addExplainCommand } from './explain.ts'
import { addLogsCommand } from './logs.ts'
import { addLongRunningCommands } from './long-running.ts'
import { addPlanCommand } from './plan.ts'
import { addPolicyCommand } from './policy.ts'
import { type AddCommand, buildProgram, type CliContext } from './program.ts'
import { addStatusCommand } from './status.ts'
import { addVersionCommand } from './version.ts'

const commands: readonly AddCommand[] = [
  addLongRunningCommands,
  addCheckCommand,
  addStatusCommand,
  addPlanCommand,
  addExplainCommand,
  addPolicyCommand,
  addCleanupCommand,
  addConfigCommand,
  addDnsCommand,
  addLogsCommand,
  addCniCommand,
  addDemoCommand,
  addVersionCommand,
]

/** Runs one command to its end and resolves with the exit code of the process; never throws. `argv` has the form of `process.argv`. */
export async function runCli(
  argv: readonly string[],
  streams: Pick<CliContext, 'env' | 'stdout' | 'stderr'>,
): Promise<ExitCode> {
  let code: ExitCode = exitCodes.ok
  const { env, stdout, stderr } = streams
  const finish = (chosen: ExitCode) => {
    code = chosen
  }
  const program = buildProgram({ env, stdout, stderr, finish }, commands)
  try {
    await program.parseAsync(argv)
    return code
  } catch (error) {
    // Commander has printed its message already, and ends with an "error" of code 0 after --help and --version.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage
    stderr.write(renderError(error, { debug: program.opts()['debug'] === true }))
    return exitCodeOf(error)
  }
}
