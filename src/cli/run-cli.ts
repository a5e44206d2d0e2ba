import { type Command, CommanderError } from 'commander'
import { type ExitCode, exitCodeOf, exitCodes, renderError } from './exit-code.ts'
import { type AddCommand, buildProgram, type CliContext } from './program.ts'

const longRunning = async (): Promise<AddCommand> => (await import('./long-running.ts')).addLongRunningCommands

/** Loads what adds a command, by the command's name. A daemon loads its own command alone: the others bring every part of the node side along. */
const commandLoaders = new Map<string, () => Promise<AddCommand>>([
  ['run', longRunning],
  ['server', longRunning],
  ['agent', longRunning],
  ['check', async () => (await import('./check.ts')).addCheckCommand],
  ['status', async () => (await import('./status.ts')).addStatusCommand],
  ['support-bundle', async () => (await import('./support-bundle.ts')).addSupportBundleCommand],
  ['plan', async () => (await import('./plan.ts')).addPlanCommand],
  ['explain', async () => (await import('./explain.ts')).addExplainCommand],
  ['policy', async () => (await import('./policy.ts')).addPolicyCommand],
  ['cleanup', async () => (await import('./cleanup.ts')).addCleanupCommand],
  ['config', async () => (await import('./config.ts')).addConfigCommand],
  ['dns', async () => (await import('./dns.ts')).addDnsCommand],
  ['logs', async () => (await import('./logs.ts')).addLogsCommand],
  ['cni', async () => (await import('./cni.ts')).addCniCommand],
  ['console', async () => (await import('./console.ts')).addConsoleCommand],
  ['demo', async () => (await import('./demo.ts')).addDemoCommand],
  ['version', async () => (await import('./version.ts')).addVersionCommand],
  ['completion', async () => (await import('./completion/index.ts')).addCompletionCommand],
])

/** Commands that show the others. */
const showingAll = ['completion']

/** Loads the command that the first argument names; all commands where it names none, as for help and for a mistyped name, or one that shows the others. */
async function loadCommands(first: string | undefined): Promise<readonly AddCommand[]> {
  const named = showingAll.includes(first ?? '') ? undefined : commandLoaders.get(first ?? '')
  const loaders = named ? [named] : new Set(commandLoaders.values())
  return Promise.all([...loaders].map((load) => load()))
}

/** Builds the program with all commands; `platnet completion` and the manual pages show it. */
export async function buildWholeProgram(context: CliContext): Promise<Command> {
  return buildProgram(context, await loadCommands(undefined))
}

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
  const program = buildProgram({ env, stdout, stderr, finish }, await loadCommands(argv[2]))
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
