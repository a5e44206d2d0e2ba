import type { Command } from 'commander'
import { type RunEnd, runAgent, runNode, runServer } from '../app/commands/run.ts'
import { createContext } from '../app/context.ts'
import { type CommandName, suggestName } from '../config/index.ts'
import { exitCodes, UsageError } from './exit-code.ts'
import { type AddCommand, addOptionFlags, type CliContext, loadCommandOptions } from './program.ts'
import { addKubeconfigCommand } from './server-kubeconfig.ts'
import { addMigrateCommand, addStoreCommands } from './server-store.ts'

const commands = {
  run: { start: runNode, description: 'runs one node: the server, with the agent as a supervised second process' },
  server: { start: runServer, description: 'runs the API server alone' },
  agent: {
    start: runAgent,
    description: 'runs the node side alone, against the API server of --kubeconfig or --server',
  },
} as const

/** `platnet run`, `platnet server`, `platnet agent`. */
export const addLongRunningCommands: AddCommand = (program, context) => {
  for (const name of ['run', 'server', 'agent'] as const) addOne(program, context, name)
}

function addOne(program: Command, context: CliContext, name: CommandName): void {
  const { start, description } = commands[name]
  const command = addOptionFlags(program.command(name).description(description), name)
  if (name === 'server') addServerCommands(command, context)
  command.action(async () => {
    refuseWords(command)
    const readOptions = () => loadCommandOptions(command, context, name)
    const end: RunEnd = await start(await createContext(readOptions, context.env, process.stdout))
    if (end === 'forced') context.finish(exitCodes.failure)
  })
}

/** Refuses a mistyped subcommand, before a daemon starts in its place. */
function refuseWords({ args: [word], commands: children }: Command): void {
  if (word === undefined) return
  const meant = suggestName(
    word,
    children.map((child) => child.name()),
  )
  throw new UsageError('bad-question', `unknown command ${JSON.stringify(word)}`, {
    remedy: meant === undefined ? 'see --help' : `did you mean ${meant}?`,
  })
}

function inEtcd(): UsageError {
  return new UsageError('bad-question', 'the state is in etcd', {
    remedy: 'copy it with etcdctl snapshot save, or to SQLite with platnet server migrate --from etcd --to sqlite',
  })
}

/** Adds the subcommands of `platnet server`; they use the options of their parent command. */
function addServerCommands(server: Command, context: CliContext): void {
  const readOptions = () => loadCommandOptions(server, context, 'server')
  const readStore = async () => {
    const { app, api } = (await readOptions()).values
    if (api.store === 'etcd') throw inEtcd()
    return { dataDir: app.dataDir, dialect: api.dialect }
  }
  addKubeconfigCommand(server, context, readOptions)
  addStoreCommands(server, context, readStore)
  addMigrateCommand(server, context, readOptions)
  // Subcommands take the setting from their parent when they are made.
  server.allowExcessArguments()
}
