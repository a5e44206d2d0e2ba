import type { Run } from '../../host/index.ts'
import type { IpFamily } from '../../model/ip.ts'
import { type BaseChain, readIptablesChains, readNftBaseChains, readNftRules } from '../../netfilter/foreign-path.ts'

const timeoutMs = 10_000

/**
 * The base chains of kind filter that packets of a family meet: iptables' of both kinds, and those of tables written with nft. What cannot be read (no such
 * program, a kernel without it) is left out; a legacy table that is not in use is not loaded for that. Changes nothing.
 */
export async function readBaseChains(run: Run, family: IpFamily): Promise<readonly BaseChain[]> {
  const [nft, legacy, tables] = await Promise.all([
    readNftFlavour(run, family),
    readLegacy(run, family),
    readNft(run, family),
  ])
  return [...nft, ...legacy, ...tables]
}

async function readNftFlavour(run: Run, family: IpFamily): Promise<readonly BaseChain[]> {
  const program = family === 'IPv4' ? 'iptables-nft' : 'ip6tables-nft'
  const args = ['--wait', '5', '-t', 'filter', '-S']
  return readIptablesChains(await textOf(run, program, args), program)
}

async function readLegacy(run: Run, family: IpFamily): Promise<readonly BaseChain[]> {
  const names = await textOf(run, 'cat', [`/proc/net/${family === 'IPv4' ? 'ip' : 'ip6'}_tables_names`])
  if (!names.split('\n').includes('filter')) return []
  const program = family === 'IPv4' ? 'iptables-legacy' : 'ip6tables-legacy'
  return readIptablesChains(await textOf(run, program, ['--wait', '5', '-t', 'filter', '-S']), program)
}

async function readNft(run: Run, family: IpFamily): Promise<readonly BaseChain[]> {
  const own = family === 'IPv4' ? 'ip' : 'ip6'
  const listed = await Promise.all([own, 'inet'].map((each) => textOf(run, 'nft', ['list', 'chains', each])))
  const found = listed.flatMap(readNftBaseChains)
  return Promise.all(
    found.map(async (base) => readNftRules(base, await textOf(run, 'nft', ['list', 'table', base.family, base.table]))),
  )
}

function textOf(run: Run, program: string, args: readonly string[]): Promise<string> {
  return run(program, args, { timeoutMs }).then(
    ({ stdout }) => stdout,
    () => '',
  )
}
