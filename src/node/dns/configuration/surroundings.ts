import { readFile } from 'node:fs/promises'
import { networkInterfaces } from 'node:os'
import { type Ip, parseIp } from '../../../model/ip.ts'
import { parseResolverConfig } from '../../../model/resolver-config.ts'
import type { Logger } from '../../../observe/index.ts'
import type { Corefile } from '../corefile/settings.ts'
import { filesOf, type Surroundings } from './server-plan.ts'

/** Reads the files that a Corefile names and the addresses of this machine. A file that cannot be read is told and left out. */
export async function readSurroundings(
  corefile: Corefile,
  log: Logger,
): Promise<Pick<Surroundings, 'linkAddresses' | 'nameservers' | 'hostsTexts' | 'pemTexts'>> {
  const { resolver, hosts, pem } = filesOf(corefile)
  const texts = await readFiles(resolver, log)
  const nameservers = new Map(Array.from(texts, ([path, text]) => [path, parseResolverConfig(text).nameservers]))
  return {
    linkAddresses: readLinkAddresses(),
    nameservers,
    hostsTexts: await readFiles(hosts, log),
    pemTexts: await readFiles(pem, log),
  }
}

async function readFiles(paths: Iterable<string>, log: Logger): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>()
  for (const path of paths) {
    try {
      texts.set(path, await readFile(path, 'utf8'))
    } catch (error) {
      log.warn('a file that the Corefile names cannot be read', { path, error })
    }
  }
  return texts
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
