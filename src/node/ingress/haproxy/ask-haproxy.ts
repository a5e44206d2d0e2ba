import type { Command } from './command.ts'
import { HaproxyError } from './errors.ts'
import type { Holding } from './holding.ts'
import { type MapName, mapNames } from './map-entries.ts'
import { holdingCommands, readHolding } from './read-holding.ts'
import { nameOf, type RuntimeSocket } from './runtime-socket.ts'

/** A command that haproxy answered with an error. */
export class RefusedCommand extends HaproxyError {
  readonly certificate: string | undefined

  constructor(command: Command, answer: string) {
    const said = answer.split('\n').slice(0, 3).join('; ').slice(0, 300)
    super('refused-command', `haproxy answered "${nameOf(command.text)}" with: ${said}`)
    this.certificate = command.certificate
  }
}

/** Gives the commands in turn. Throws RefusedCommand at the first that fails; those before it hold. */
export async function runCommands(socket: RuntimeSocket, commands: readonly Command[]): Promise<void> {
  let version = ''
  for (const command of commands) {
    const answer = await socket.ask(command.text.replace('@VERSION', () => `@${version}`))
    const isSuccess = command.success === undefined ? answer === '' : command.success.test(answer)
    if (!isSuccess) throw new RefusedCommand(command, answer)
    version = /^New version created: (\d+)/.exec(answer)?.[1] ?? version
  }
}

/** Reads all that a routing table can change in the worker that the socket belongs to. */
export async function askHolding(socket: RuntimeSocket): Promise<Holding> {
  const maps: Partial<Record<MapName, string>> = {}
  for (const name of mapNames) maps[name] = await socket.ask(holdingCommands.map(name))
  return readHolding({
    backends: await socket.ask(holdingCommands.backends),
    servers: await socket.ask(holdingCommands.servers),
    maps: maps as Record<MapName, string>,
    certificateList: await socket.ask(holdingCommands.certificateList),
    defaultCertificate: await socket.ask(holdingCommands.defaultCertificate),
  })
}

export interface WorkerInfo {
  readonly pid: number
  /** `settingsHash` of its configuration. */
  readonly settings: string
  readonly generation: number
}

export async function askInfo(socket: RuntimeSocket): Promise<WorkerInfo> {
  const text = await socket.ask('show info')
  const pid = Number(/^Pid: (\d+)$/m.exec(text)?.[1])
  const [, settings = '', generation] = /^description: platnet ([0-9a-f]+) (\d+)$/m.exec(text) ?? []
  return { pid, settings, generation: Number(generation ?? -1) }
}

export interface ShownProcesses {
  readonly master: number
  readonly worker: number | undefined
  readonly oldWorkers: readonly number[]
  readonly failedReloads: number
}

/** Asks the master; workers that a reload replaced are there until their connections have ended. */
export async function askProcesses(master: RuntimeSocket): Promise<ShownProcesses> {
  const lines = (await master.ask('show proc')).split('\n')
  const pids = (from: string) => {
    const start = lines.findIndex((line) => line.startsWith(from))
    const rest = start < 0 ? [] : lines.slice(start + 1)
    const end = rest.findIndex((line) => line.startsWith('#'))
    const own = end < 0 ? rest : rest.slice(0, end)
    return own.filter((line) => /^\d+\s+worker\b/.test(line)).map((line) => Number.parseInt(line, 10))
  }
  const masterLine = lines.find((line) => /^\d+\s+master\b/.test(line)) ?? ''
  return {
    master: Number.parseInt(masterLine, 10),
    worker: pids('# workers')[0],
    oldWorkers: pids('# old workers'),
    failedReloads: Number(/\[failed: (\d+)\]/.exec(masterLine)?.[1] ?? 0),
  }
}
