import type { ConnectSubresource } from '../resources/resource.ts'

/** A parameter of an operation, for both versions of OpenAPI. */
export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query'
  readonly type: 'string' | 'boolean' | 'integer'
  readonly description: string
}

type Entry = readonly [name: string, type: Parameter['type'], description: string]

function query(...entries: readonly Entry[]): readonly Parameter[] {
  return entries.map(([name, type, description]) => ({ name, in: 'query', type, description }))
}

const dryRun: Entry = ['dryRun', 'string', 'With the value All everything is checked and nothing is stored.']
const selectors: readonly Entry[] = [
  ['fieldSelector', 'string', 'Limits the objects by the values of fields.'],
  ['labelSelector', 'string', 'Limits the objects by their labels.'],
]
const version: Entry = ['resourceVersion', 'string', 'The version of the data that is wanted.']
const reading: readonly Entry[] = [
  ['continue', 'string', 'The token of the page before, from its metadata.'],
  ['limit', 'integer', 'The largest number of objects in the answer; the rest comes by further pages.'],
  version,
  ['resourceVersionMatch', 'string', 'How the resourceVersion is meant: Exact or NotOlderThan.'],
  ['sendInitialEvents', 'boolean', 'A watch begins with the objects there are, and a bookmark after them.'],
  ['timeoutSeconds', 'integer', 'How long a list or watch may take.'],
  ['watch', 'boolean', 'Changes are sent as they happen, instead of a list.'],
]

export const readParameters = query(version)

export const listParameters = query(
  ['allowWatchBookmarks', 'boolean', 'A watch may send bookmarks: events that bring a new resourceVersion alone.'],
  ...selectors,
  ...reading,
)

export const writeParameters = query(
  dryRun,
  ['fieldManager', 'string', 'The name under which the fields that are written are recorded.'],
  ['fieldValidation', 'string', 'What happens to unknown and duplicate fields: Ignore, Warn or Strict.'],
)

export const patchParameters = [
  ...writeParameters,
  ...query(['force', 'boolean', 'An apply takes over fields that other managers own.']),
]

export const deleteParameters = query(
  dryRun,
  ['gracePeriodSeconds', 'integer', 'How long the object may take to end. Zero ends it at once.'],
  ['orphanDependents', 'boolean', 'Deprecated by propagationPolicy. Dependents stay when it is true.'],
  ['propagationPolicy', 'string', 'What happens to dependents: Orphan, Background or Foreground.'],
)

const container: Entry = ['container', 'string', 'The container; absent: the only one of the pod, or its default one.']
const streams = (isOnByDefault: boolean): readonly Entry[] => {
  const ifAbsent = isOnByDefault ? 'true' : 'false'
  return [
    ['stderr', 'boolean', `Whether the standard error stream is sent; ${ifAbsent} where absent.`],
    ['stdin', 'boolean', 'Whether the client sends a standard input stream; false where absent.'],
    ['stdout', 'boolean', `Whether the standard output stream is sent; ${ifAbsent} where absent.`],
    ['tty', 'boolean', 'Whether the command runs in a terminal; false where absent.'],
  ]
}

const logParameters = query(
  container,
  ['follow', 'boolean', 'The answer goes on with what is logged later.'],
  ['insecureSkipTLSVerifyBackend', 'boolean', 'The certificate of the node is not checked.'],
  ['limitBytes', 'integer', 'The largest number of bytes of the answer.'],
  ['previous', 'boolean', 'The log of the container that ran before.'],
  ['sinceSeconds', 'integer', 'Lines that are at most as many seconds old.'],
  ['stream', 'string', 'The stream: All, Stdout or Stderr.'],
  ['tailLines', 'integer', 'As many lines from the end of the log.'],
  ['timestamps', 'boolean', 'Each line begins with its time in RFC 3339.'],
)

/** The parameters of connections, which all methods of a path share. */
export const connectionParameters: Readonly<Record<ConnectSubresource, readonly Parameter[]>> = {
  attach: query(container, ...streams(true)),
  exec: query(
    ['command', 'string', 'The program and its arguments, one parameter each.'],
    container,
    ...streams(false),
  ),
  log: logParameters,
  portforward: query(['ports', 'integer', 'The ports to forward; a WebSocket needs them.']),
  proxy: query(['path', 'string', 'The path at the backend.']),
}

const pathTexts: Readonly<Record<string, string>> = {
  name: 'The name of the object.',
  namespace: 'The namespace of the objects.',
  path: 'The path at the backend.',
}

/** Returns the parameters that a path names in braces. */
export function pathParameters(path: string): readonly Parameter[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => {
    return { name, in: 'path', type: 'string', description: pathTexts[name] ?? '' }
  })
}
