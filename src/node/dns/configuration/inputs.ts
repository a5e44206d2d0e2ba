import { networkInterfaces } from 'node:os'
import { KeptFiles } from '../../../host/index.ts'
import { type Ip, parseIp } from '../../../model/ip.ts'
import { parseResolverConfig } from '../../../model/resolver-config.ts'
import type { LoadedCorefile } from './corefile-loader.ts'
import { readNamedFile } from './file-rights.ts'
import { type NamedFile, namedFiles } from './named-files.ts'
import type { ConfigurationInputs } from './server-plan.ts'

type FoundFiles = Pick<ConfigurationInputs, 'nameservers' | 'hostsTexts' | 'pemTexts'>

export interface FoundInputs extends FoundFiles {
  /** One sentence with its line for each missing file; DNS serves without it. */
  readonly missing: readonly string[]
  /** The missing files that leave questions without an answer. */
  readonly faults: readonly string[]
}

/**
 * Reads the files that a Corefile names. Files that do not exist are left out. A resolver file that is empty for
 * a moment, for example while it is written, keeps its nameservers of `before`. Throws CorefileError for a file that cannot be read.
 */
export async function readInputs(
  { corefile, rights }: Pick<LoadedCorefile, 'corefile' | 'rights'>,
  before: Pick<ConfigurationInputs, 'nameservers'> | undefined,
  files = new KeptFiles(),
): Promise<FoundInputs> {
  const texts = new Map<NamedFile, string | undefined>()
  for (const file of namedFiles(corefile)) texts.set(file, await readNamedFile(file, rights, files))
  const resolvers = [...texts]
    .filter(([{ kind }]) => kind === 'resolver')
    .map(([file, text]) => readResolver(file, text))
  const others = [...texts].filter(([{ kind }]) => kind !== 'resolver')
  const faults = resolvers.flatMap(({ fault }) => fault ?? [])
  const missing = others.filter(([{ isDefault }, text]) => !isDefault && text === undefined)
  return {
    nameservers: new Map(
      resolvers.map(({ path, found }) => [path, found.length > 0 ? found : (before?.nameservers.get(path) ?? [])]),
    ),
    hostsTexts: textsOf(others.filter(([{ kind }]) => kind !== 'pem')),
    pemTexts: textsOf(others.filter(([{ kind }]) => kind === 'pem')),
    missing: [...missing.map(([file]) => sentence(file, 'does not exist')), ...faults],
    faults,
  }
}

function readResolver(file: NamedFile, text: string | undefined) {
  const found = parseResolverConfig(text ?? '').nameservers
  const fault = sentence(file, text === undefined ? 'does not exist' : 'names no nameserver')
  return { path: file.path, found, fault: found.length > 0 ? undefined : fault }
}

function textsOf(files: readonly (readonly [NamedFile, string | undefined])[]): ReadonlyMap<string, string> {
  return new Map(files.flatMap(([{ path }, text]) => (text === undefined ? [] : [[path, text] as const])))
}

function sentence({ path, plugin, location }: NamedFile, what: string): string {
  return `${location.file}:${location.line} - ${plugin}: ${path} ${what}`
}

export function readLinkAddresses(): ReadonlyMap<string, readonly Ip[]> {
  const links = Object.entries(networkInterfaces())
  return new Map(
    links.map(([name, held]) => [
      name,
      (held ?? []).map(({ address }) => parseIp(address)).filter((address) => address !== undefined),
    ]),
  )
}
