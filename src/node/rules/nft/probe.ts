import { ExecError, type Finding, type Run, runProgram } from '../../../host/index.ts'
import { describeError } from '../../../model/errors.ts'
import type { IpFamily } from '../../../model/ip.ts'
import type { BaseChain } from '../../../netfilter/foreign-path.ts'
import { renderTable } from '../../../netfilter/nft/render-table.ts'
import { readBaseChains } from '../packet-path.ts'

const timeoutMs = 20_000
/** The oldest with which the tests passed (docs/decisions/002-nftables-state-in-maps.md). */
const knownToWork = 'nftables 1.0.6 on Linux 5.10'

/**
 * Loads the table of one family in a network namespace that is gone with the program that wrote it.
 *
 * @returns why it cannot be loaded; undefined where it can
 */
export async function findNftProblem(run: Run, family: IpFamily): Promise<string | undefined> {
  const { text } = renderTable({ family }, { drawUpTo: 4, timeouts: [60] })
  try {
    await run('unshare', ['--net', 'nft', '-f', '-'], { input: text, timeoutMs })
    return undefined
  } catch (thrown) {
    if (isProgramMissing(thrown)) return 'the program nft or unshare is missing'
    const said = thrown instanceof ExecError ? thrown.stderr.split('\n')[0] : undefined
    return `the table cannot be loaded by ${await describeVersions(run)}: ${said || describeError(thrown)}`
  }
}

/** A kernel without an expression of ours says "No such file or directory", too. */
function isProgramMissing(thrown: unknown): boolean {
  return (
    thrown instanceof ExecError && (thrown.code === 'not-found' || /^unshare: failed to execute/.test(thrown.stderr))
  )
}

/** The versions explain what an older program or kernel refuses: its message names a place in our rules alone. */
async function describeVersions(run: Run): Promise<string> {
  const ask = async (file: string, option: string, fallback: string) =>
    (await run(file, [option], { timeoutMs }).catch(() => undefined))?.stdout.trim() || fallback
  const [nft, release] = await Promise.all([ask('nft', '--version', 'nft'), ask('uname', '-r', 'of unknown release')])
  return `${nft} on Linux ${release}`
}

/**
 * Reports for `platnet check` whether this machine can run the proxy in the mode nftables, a fault only where that is asked for, and what other
 * programs refuse in that mode alone.
 */
export async function probeNftables(
  wish: 'iptables' | 'nftables' | 'auto',
  run: Run = runProgram,
): Promise<readonly Finding[]> {
  const problem = await findNftProblem(run, 'IPv4')
  if (problem !== undefined) {
    const what = `--proxy-mode nftables does not work here: ${problem}`
    const remedy = `apt-get install nftables util-linux, on a kernel with nf_tables and nft_numgen; ${knownToWork} and newer can`
    return [wish === 'nftables' ? { level: 'fail', what, remedy } : { level: 'ok', what }]
  }
  const families = wish === 'iptables' ? [] : (['IPv4', 'IPv6'] as const)
  const chains = (await Promise.all(families.map((family) => readBaseChains(run, family)))).flat()
  return [{ level: 'ok', what: 'the table of --proxy-mode nftables can be loaded' }, ...describeInput(chains)]
}

/** The mode iptables accepts these ports in that chain; each base chain of nftables decides by itself. */
function describeInput(chains: readonly BaseChain[]): readonly Finding[] {
  return chains
    .filter(({ hook, policy, where }) => hook === 'INPUT' && policy === 'drop' && where.startsWith('ip'))
    .map(({ where }) => ({
      level: 'warn',
      what: `${where}: the policy is DROP, and with --proxy-mode nftables no rule of ours accepts health check node ports there`,
      remedy: 'accept the range of node ports there (ufw allow 30000:32767/tcp), or use --proxy-mode iptables',
    }))
}
