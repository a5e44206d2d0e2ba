import type { NetlinkMessage } from '../../../netfilter/netlink.ts'
import type { ListedElement } from '../../../netfilter/nft/element-messages.ts'
import type { SetSpec, TableName } from '../../../netfilter/nft/types.ts'
import type { ElementListEnd } from '../nft-list.ts'

/** The kernel's tables of nftables as the writer of one family uses them. */
export interface NftKernel {
  /** Adds and deletes elements in one transaction. Throws NftError. */
  run(commands: string): Promise<void>
  /**
   * Carries out messages as one transaction, within the call. After false nothing of it stands, or it is not known whether all of it does:
   * then `run` tries it again and says what is wrong.
   */
  commit(messages: readonly NetlinkMessage[]): boolean
  /** Like `commit`, but the caller goes on while the kernel works. One at a time. */
  commitApart(messages: readonly NetlinkMessage[]): Promise<boolean>
  /** Runs any commands in one transaction, by a started program. Throws NftError. */
  applyRuleset(text: string): Promise<void>
  hasTable(table: TableName): Promise<boolean>
  /** Returns the comment of the state's element; undefined where there is none. */
  readStateComment(table: TableName): Promise<string | undefined>
  /** Whether elements can be listed. Where they cannot, every list of them fails, and drift of elements is not found. */
  readonly listsElements: boolean
  /** Hands over the elements of a set, in turns with other work. */
  listElements(table: TableName, spec: SetSpec, take: (element: ListedElement) => void): Promise<ElementListEnd>
  /** The table without the elements of named sets, as text: equal texts mean equal rules. Throws RulesError. */
  listRules(table: TableName): Promise<string>
}

/** The words of nft for a table: `ip platnet`. */
export function targetOf({ family, name }: TableName): string {
  return `${family === 'IPv4' ? 'ip' : 'ip6'} ${name}`
}
