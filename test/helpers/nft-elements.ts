import { ExecError, type Run } from '../../src/host/index.ts'
import type { ListedElement } from '../../src/netfilter/nft/element-messages.ts'
import type { SetSpec, TableName } from '../../src/netfilter/nft/types.ts'

/** Lists elements as `listElements` does, by the program nft, which reaches the namespace of `run`. */
export async function listElementsByNft(
  run: Run,
  table: TableName,
  spec: SetSpec,
  take: (element: ListedElement) => void,
): Promise<'complete' | 'missing'> {
  const family = table.family === 'IPv4' ? 'ip' : 'ip6'
  const kind = spec.data.length > 0 || spec.name === 'draw' ? 'map' : 'set'
  try {
    const { stdout } = await run('nft', ['list', kind, family, table.name, spec.name], { timeoutMs: 20_000 })
    const listed = /elements = \{([^}]*)\}/.exec(stdout)?.[1]?.split(',') ?? []
    for (const element of listed) {
      const [key = '', data = ''] = element.trim().split(' : ')
      take({ set: spec.name, key, data })
    }
    return 'complete'
  } catch (thrown) {
    if (thrown instanceof ExecError && /No such file/.test(thrown.stderr)) return 'missing'
    throw thrown
  }
}
