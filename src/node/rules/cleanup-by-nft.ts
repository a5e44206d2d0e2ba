import type { Run } from '../../host/index.ts'
import type { IpFamily } from '../../model/ip.ts'

const timeoutMs = 120_000

/** Removes what is ours from a table that iptables-nft cannot list, in one transaction. Throws ExecError, also where there is no nft. */
export async function cleanByNft(
  run: Run,
  family: IpFamily,
  table: string,
): Promise<{ chains: number; hooks: number }> {
  const place = `${family === 'IPv4' ? 'ip' : 'ip6'} ${table}`
  const { stdout } = await run('nft', ['-a', 'list', 'table', ...place.split(' ')], { timeoutMs })
  const { chains, hooks } = findOurs(stdout)
  const lines = [
    ...hooks.map(({ chain, handle }) => `delete rule ${place} ${chain} handle ${handle}`),
    ...chains.map((chain) => `flush chain ${place} ${chain}`),
    ...chains.map((chain) => `delete chain ${place} ${chain}`),
  ]
  await run('nft', ['-f', '-'], { input: `${lines.join('\n')}\n`, timeoutMs })
  return { chains: chains.length, hooks: hooks.length }
}

interface OurRules {
  readonly chains: readonly string[]
  /** Rules outside our chains that lead into one, by the number that the kernel gave them. */
  readonly hooks: readonly { readonly chain: string; readonly handle: string }[]
}

function findOurs(listed: string): OurRules {
  const chains: string[] = []
  const hooks: { chain: string; handle: string }[] = []
  let chain = ''
  for (const line of listed.split('\n')) {
    chain = /^\tchain (\S+) \{/.exec(line)?.[1] ?? chain
    if (/^\tchain PLAT-/.test(line)) chains.push(chain)
    const handle = /^\t\t.* (?:jump|goto) PLAT-\S+ # handle (\d+)$/.exec(line)?.[1]
    if (handle !== undefined && !chain.startsWith('PLAT-')) hooks.push({ chain, handle })
  }
  return { chains, hooks }
}
