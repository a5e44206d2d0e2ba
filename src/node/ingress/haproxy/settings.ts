import type { IngressSettings } from '../driver.ts'
import { HaproxyError } from './errors.ts'

/** Which traces are exported, as `Sampling` of src/observe has it. */
export interface TracedShare {
  /** The share of traces that begin here, 0 to 1. */
  readonly ratio: number
  /** Whether a trace that a client began keeps the client's decision. */
  readonly followsParent: boolean
}

export interface HaproxySettings extends IngressSettings {
  /** Absolute path of the folder for files, sockets and the empty root of the workers. */
  readonly folder: string
  /** Share of requests that get a line in the access log, 0 to 1. */
  readonly accessLog: number
  /** Which requests get a span; absent: none. A line in the access log carries the span. */
  readonly tracing?: TracedShare
  /** User and group of the workers; `haproxy` unless given. */
  readonly user?: string
  readonly group?: string
  /** haproxy decides unless given: one for each CPU. */
  readonly threads?: number
}

/** Whether requests get lines in the access log, for the log or for their spans. */
export function writesLines({ accessLog, tracing }: Pick<HaproxySettings, 'accessLog' | 'tracing'>): boolean {
  return accessLog > 0 || tracing !== undefined
}

/** Names of files and sockets of one haproxy, all below `folder`. */
export interface HaproxyPaths {
  readonly folder: string
  /** Configuration that is in use: a link to a folder `files-NUMBER`. */
  readonly current: string
  readonly masterSocket: string
  readonly runtimeSocket: string
  /** Gives the listening sockets of a haproxy that was killed to the one that starts. */
  readonly keptSocket: string
  /** The root of the workers' file system; empty but for sockets to the next worker. */
  readonly emptyRoot: string
  /** FIFO of the access log. */
  readonly accessLog: string
  /** Warnings and errors of haproxy itself. */
  readonly messages: string
}

/** The folder of the files of one generation, below the folder of haproxy. */
export function filesFolderOf(folder: string, generation: number): string {
  return `${folder}/files-${generation}`
}

/** Length of `sun_path` in unix(7), less what haproxy appends while it binds (`.PID.tmp`). */
const maxSocketPath = 107 - 16

/** Throws HaproxyError (`unsafe-text`) if the folder cannot stand in a configuration or is too long for sockets. */
export function haproxyPaths(folder: string): HaproxyPaths {
  const paths = {
    folder,
    current: `${folder}/current`,
    masterSocket: `${folder}/master.sock`,
    runtimeSocket: `${folder}/runtime.sock`,
    keptSocket: `${folder}/kept.sock`,
    emptyRoot: `${folder}/empty`,
    accessLog: `${folder}/access.fifo`,
    messages: `${folder}/messages.log`,
  }
  const isPlain = /^\/[A-Za-z0-9._/-]+$/.test(folder)
  if (isPlain && paths.runtimeSocket.length <= maxSocketPath) return paths
  const expected = `expected an absolute path of letters, digits, "._-/" and at most ${maxSocketPath - 13} characters`
  throw new HaproxyError('unsafe-text', `the folder of haproxy is ${JSON.stringify(folder)}: ${expected}`)
}

/** Descriptors that haproxy needs beside those of connections: listeners, sockets, pipes, threads. */
const ownDescriptors = 256

/** Computes how many connections haproxy makes to itself at most: one for each request whose body has no length. More such requests wait, then get 503. */
export function ownConnections({ maxConnections, maxBodyBytes }: OwnLimits): number {
  return maxBodyBytes === 0 ? 0 : maxConnections
}

type OwnLimits = Pick<IngressSettings['limits'], 'maxConnections' | 'maxBodyBytes'>

/** Lowers the number of connections to what the limit of open files allows: each has two ends, and haproxy does not start with more. */
export function withinFileLimit(settings: HaproxySettings, maxOpenFiles: number): HaproxySettings {
  const all = (maxOpenFiles - ownDescriptors) / 2
  const { limits } = settings
  const possible = Math.max(1, Math.floor(limits.maxBodyBytes === 0 ? all : all / 2))
  return { ...settings, limits: { ...limits, maxConnections: Math.min(limits.maxConnections, possible) } }
}
