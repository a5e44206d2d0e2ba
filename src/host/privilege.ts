import { readFile } from 'node:fs/promises'

const capNetAdmin = 12n

/** Tells whether CAP_NET_ADMIN is effective in this process; changes to rules, links and network settings need it. */
export async function hasNetAdmin(statusPath = '/proc/self/status'): Promise<boolean> {
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(await readFile(statusPath, 'utf8'))?.[1]
  return effective !== undefined && ((BigInt(`0x${effective}`) >> capNetAdmin) & 1n) === 1n
}
