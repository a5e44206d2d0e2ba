import { type Command, InvalidArgumentError, Option } from 'commander'
import {
  type CniRuntime,
  type CniSandbox,
  type CniUser,
  cleanCni,
  cniRuntimeOfCli,
  examineCni,
  type PortMapping,
  repairCni,
  type SandboxRequest,
  sandboxOfCli,
} from '../app/commands/cni.ts'
import type { Options } from '../app/context.ts'
import { renderFindings } from './check.ts'
import { exitCodes } from './exit-code.ts'
import { type OutputFormat, outputFlag, printAnswer, withProgress } from './output.ts'
import { type AddCommand, addOptionFlags, type CliContext, loadCommandOptions, print } from './program.ts'
import { withUser } from './with-user.ts'

const cniOptions = ['config', 'cniConfDir', 'cniBinDir', 'cniCacheDir', 'controlSocket']

/** `platnet cni …` runs CNI operations of this node by hand. */
export const addCniCommand: AddCommand = (program, context) => {
  const cni = program.command('cni').description('shows and operates the CNI networks of this node')
  addList(cni, context)
  addDoctor(cni, context)
  addSandboxCommand(cni, context, 'add', 'gives a network namespace an interface of the default network', add)
  addSandboxCommand(cni, context, 'check', 'asks the plugins whether an interface is as they made it', check)
  addSandboxCommand(cni, context, 'del', 'takes an interface away again', remove)
  addSubcommand(cni, context, 'gc', 'releases what is left of pods whose namespace is gone', collect)
}

type Work = (options: Options, context: CliContext, user: CniUser) => Promise<void>

function addSubcommand(cni: Command, context: CliContext, name: string, description: string, work: Work): void {
  const command = cni.command(name).description(description)
  addOptionFlags(command, 'agent', cniOptions).action(async () => {
    const options = await loadCommandOptions(command, context, 'agent')
    await withUser(context, false, (user) => work(options, context, user))
  })
}

type CniList = Awaited<ReturnType<CniRuntime['networks']>> & {
  readonly plugins: Awaited<ReturnType<CniRuntime['plugins']>>
}

function addList(cni: Command, context: CliContext): void {
  const command = cni
    .command('list')
    .description('shows the networks and plugins of this node, and which network pods get')
    .addOption(outputFlag())
  addOptionFlags(command, 'agent', cniOptions).action(async ({ output }: { output: OutputFormat }) => {
    const options = await loadCommandOptions(command, context, 'agent')
    await withUser(context, false, async (user) => {
      const runtime = cniRuntimeOfCli(options, user)
      const read = async () => ({ ...(await runtime.networks()), plugins: await runtime.plugins() })
      printAnswer(context, output, await withProgress(context, 'asking the plugins', read()), renderList)
    })
  })
}

function renderList({ networks, skipped, plugins }: CniList): string {
  const lines = [
    ...networks.map(({ name, cniVersion, plugins: chain, file }, index) => {
      const types = chain.map(({ type }) => type).join(', ')
      return `${index === 0 ? 'default' : 'unused '}  ${name}  ${cniVersion}  ${types}  ${file}`
    }),
    ...skipped.map(({ reason }) => `skipped  ${reason}`),
    ...plugins.map(
      ({ type, path, versions, problem }) => `plugin   ${type}  ${problem ?? versions.join(', ')}  ${path}`,
    ),
  ]
  return lines.map((line) => `${line}\n`).join('')
}

/** `platnet cni doctor` ends with exit code 3 if it finds a fault. */
function addDoctor(cni: Command, context: CliContext): void {
  const command = cni
    .command('doctor')
    .description('finds what is wrong with the networks of this node')
    .option('--fix', 'repair leaked addresses, orphan chains, empty results and missing links', false)
    .addOption(outputFlag())
  addOptionFlags(command, 'agent', cniOptions).action(
    async ({ fix, output }: { fix: boolean; output: OutputFormat }) => {
      const options = await loadCommandOptions(command, context, 'agent')
      await withUser(context, false, async (user) => {
        if (fix)
          await repair(options, { ...context, stdout: output === 'text' ? context.stdout : context.stderr }, user)
        const findings = await withProgress(context, 'asking the plugins', examineCni(options, user))
        printAnswer(context, output, { findings }, renderFindings)
        if (findings.some(({ level }) => level !== 'ok')) context.finish(exitCodes.unhealthy)
      })
    },
  )
}

const repair: Work = async (options, { stdout, stderr }, user) => {
  const { done, failures } = await repairCni(options, user)
  for (const line of done) print({ stdout }, `repaired  ${line}\n`)
  for (const line of failures) stderr.write(`error: ${line}\n`)
}

type SandboxWork = (sandbox: CniSandbox, runtime: CniRuntime, context: CliContext) => Promise<void>

function addSandboxCommand(
  cni: Command,
  context: CliContext,
  name: string,
  description: string,
  work: SandboxWork,
): void {
  const publish = new Option('--publish <hostPort:containerPort/protocol>', 'opens a port of the node (add)')
  const command = cni
    .command(`${name} <netns>`)
    .description(description)
    .option('--container-id <id>', 'under which it is remembered; "cli-" and the name of the namespace when not given')
    .option('--ifname <name>', 'the interface in the namespace', 'eth0')
    .option('--pod <namespace/name>', 'the pod that plugins receive', 'default/cli')
    .addOption(publish.argParser(parsePublish).default([], 'none'))
  addOptionFlags(command, 'agent', cniOptions).action(async (netns: string, flags: SandboxRequest) => {
    const options = await loadCommandOptions(command, context, 'agent')
    await withUser(context, name === 'add', (user) =>
      work(sandboxOfCli(netns, flags), cniRuntimeOfCli(options, user), context),
    )
  })
}

const running = 'running the plugins'

const add: SandboxWork = async (sandbox, runtime, context) => {
  const result = await withProgress(context, running, runtime.add(sandbox))
  print(context, `${JSON.stringify(result, undefined, 2)}\n`)
}

const check: SandboxWork = async (sandbox, runtime, context) => {
  const outcomes = await withProgress(context, running, runtime.check(sandbox))
  for (const { network, isAsked } of outcomes)
    print(context, isAsked ? 'as it was made\n' : `not checked: disableCheck is set in the list of ${network}\n`)
}

const remove: SandboxWork = async (sandbox, runtime, context) => {
  await withProgress(context, running, runtime.del(sandbox))
}

const collect: Work = async (options, context, user) => {
  const { stdout, stderr, finish } = context
  const { done, failures } = await withProgress(context, running, cleanCni(options, user))
  for (const line of done) print({ stdout }, `${line}\n`)
  for (const line of failures) stderr.write(`error: ${line}\n`)
  if (failures.length > 0) finish(exitCodes.failure)
}

function parsePublish(text: string, before: readonly PortMapping[]): readonly PortMapping[] {
  const [, host, container, protocol = 'tcp'] = /^(\d{1,5}):(\d{1,5})(?:\/(tcp|udp|sctp))?$/.exec(text) ?? []
  const ports = [Number(host), Number(container)]
  if (!ports.every((port) => port >= 1 && port <= 65535))
    throw new InvalidArgumentError('expected 8080:80 or 5353:53/udp')
  const [hostPort = 0, containerPort = 0] = ports
  return [...before, { hostPort, containerPort, protocol: protocol as 'tcp' | 'udp' | 'sctp' }]
}
