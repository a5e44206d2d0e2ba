import type { SourceLocation } from '../corefile/errors.ts'
import type { ForwardPlugin } from '../plugins/forward/settings.ts'
import type { Corefile, ServerBlock } from '../plugins/server-block.ts'

/** A file that a plugin reads. */
export interface NamedFile {
  readonly path: string
  readonly kind: 'hosts' | 'weights' | 'resolver' | 'pem'
  readonly plugin: string
  /** The path is the default of a plugin that names no file. */
  readonly isDefault: boolean
  readonly location: SourceLocation
}

/** Returns every file that a Corefile names beside its imports. A new plugin that reads a file adds it here. */
export function namedFiles({ blocks }: Corefile): readonly NamedFile[] {
  return blocks.flatMap((block) => [...filesOfBlock(block), ...block.forward.flatMap(filesOfForward)])
}

function filesOfBlock({ hosts, loadbalance }: ServerBlock): readonly NamedFile[] {
  const files: NamedFile[] = []
  if (hosts)
    files.push({
      path: hosts.file,
      kind: 'hosts',
      plugin: 'hosts',
      isDefault: !hosts.namesFile,
      location: hosts.location,
    })
  if (loadbalance?.file !== undefined)
    files.push({
      ...written,
      path: loadbalance.file,
      kind: 'weights',
      plugin: 'loadbalance',
      location: loadbalance.location,
    })
  return files
}

function filesOfForward({ to, tls, location }: ForwardPlugin): readonly NamedFile[] {
  const resolvers = to.flatMap((target) =>
    target.kind === 'file'
      ? [{ ...written, path: target.path, kind: 'resolver' as const, plugin: 'forward', location }]
      : [],
  )
  if (tls === undefined) return resolvers
  const paths = [tls.authority, tls.certificate, tls.key].filter((path) => path !== undefined)
  const pem = { ...written, kind: 'pem', plugin: 'forward: tls', location: tls.location } as const
  return [...resolvers, ...paths.map((path) => ({ ...pem, path }))]
}

const written = { isDefault: false }
