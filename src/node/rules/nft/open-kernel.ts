import { ExecError, type NetfilterSocket, type NftSession, type Run } from '../../../host/index.ts'
import { stateSet, type TableName } from '../../../netfilter/nft/types.ts'
import { RulesError } from '../errors.ts'
import { hasTable, listElements, listTable, readStateComment } from '../nft-list.ts'
import { type NftKernel, targetOf } from './kernel.ts'

export interface NftKernelParts {
  readonly session: Pick<NftSession, 'run' | 'applyRuleset' | 'isOwn'>
  readonly run: Run
  /** Reads tables and makes small changes of elements; without it they are read by nft, and the elements of large sets are not read at all. */
  readonly socket: Pick<NetfilterSocket, 'ask' | 'list' | 'commit' | 'portId'> | undefined
  /** Makes large changes of elements while the other socket asks; without it nft makes them. */
  readonly bulkSocket: Pick<NetfilterSocket, 'commitApart' | 'portId'> | undefined
}

const timeoutMs = 60_000
/** How often a list is begun anew because tables changed while it was read. */
const maxAttempts = 10

/** Reads and writes the tables of this network namespace, and knows the commits that it made. */
export function nftKernel({ session, run, socket, bulkSocket }: NftKernelParts): NftKernel & Pick<NftSession, 'isOwn'> {
  const list = (...words: readonly string[]) => listByProgram(run, words)
  return {
    run: (commands) => session.run(commands),
    isOwn: (commit) =>
      session.isOwn(commit) ||
      (commit.portId !== undefined && (commit.portId === socket?.portId || commit.portId === bulkSocket?.portId)),
    commit: (messages) => socket?.commit(messages) === true,
    commitApart: async (messages) => (await bulkSocket?.commitApart(messages)) === true,
    applyRuleset: (text) => session.applyRuleset(text),
    hasTable: async (table) => {
      if (socket !== undefined) return hasTable(socket, table)
      return (await list('list', 'tables', targetOf(table).split(' ')[0] ?? '')).includes(`table ${targetOf(table)}\n`)
    },
    readStateComment: async (table) => {
      if (socket !== undefined) return readStateComment(socket, table)
      const listed = await list('list', 'set', ...targetOf(table).split(' '), stateSet).catch(() => '')
      return /comment "([^"]*)"/.exec(listed)?.[1]
    },
    listsElements: socket !== undefined,
    listElements: async (table, spec, take) =>
      socket === undefined ? 'failed' : listElements(socket, table, spec, take),
    listRules: (table) => (socket === undefined ? listByNft(table, list) : listBySocket(table, socket)),
  }
}

/** Other programs write to tables all the time. */
async function listBySocket(table: TableName, socket: Pick<NetfilterSocket, 'ask' | 'list'>): Promise<string> {
  for (let attempt = 1; attempt <= maxAttempts; attempt++) {
    const listed = await listTable(socket, table)
    if (listed !== undefined) return listed
  }
  throw new RulesError('save-failed', `reading the rules of table ${table.name} failed`)
}

/** The list of one table would read all elements first; that of all tables does not. */
async function listByNft(table: TableName, list: (...words: readonly string[]) => Promise<string>): Promise<string> {
  const target = targetOf(table)
  const listed = await list('-s', '-t', 'list', 'ruleset', target.split(' ')[0] ?? '')
  const start = listed.indexOf(`table ${target} {\n`)
  if (start === -1) throw new RulesError('save-failed', `there is no table ${target}`)
  return listed.slice(start, listed.indexOf('\n}\n', start))
}

async function listByProgram(run: Run, words: readonly string[]): Promise<string> {
  try {
    return (await run('nft', words, { timeoutMs })).stdout
  } catch (thrown) {
    if (!(thrown instanceof ExecError)) throw thrown
    throw new RulesError('save-failed', 'reading a table of nftables failed', { cause: thrown })
  }
}
